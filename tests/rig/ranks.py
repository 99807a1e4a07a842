"""The process that runs all ranks: it loads torch once, then forks a process a rank, each into its host's namespace.

``python -m tests.rig.ranks PARENT_PID`` reads orders from stdin, one line each: a JSON list of ranks to run in place of
those that run now (an empty list only stops them), and answers each with a line of the new process ids. It ends, and
its ranks with it, when stdin closes or its parent dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from tests.rig.kernel import die_with_parent, enter_namespace, run_first
from tests.rig.training import Rank, train

__all__ = ["main"]


def main(parent_pid: int) -> None:
    """Follow the orders on stdin."""
    die_with_parent(parent_pid)
    run_first()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch.distributed  # noqa: F401 - before the forks, so that ranks start at once

    _answer([])
    pids: list[int] = []
    for line in sys.stdin:
        _kill(pids)
        pids = [_fork(Rank.from_dict(values)) for values in json.loads(line)]
        _answer(pids)
    _kill(pids)


def _answer(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _fork(rank: Rank) -> int:
    parent_pid = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    die_with_parent(parent_pid)
    log = os.open(rank.folder / f"{rank.job.name}-{rank.rank}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    enter_namespace(rank.namespace)
    train(rank)
    os._exit(0)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
