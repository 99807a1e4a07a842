"""The ``offbeat`` command with small buffers and quick seals, so that a short run meets every step of a long one.

For each line on stdin, a JSON list of arguments, a process is forked that runs the command; imports, which take most of
a short run, are over by then. On stdout stand its pid and, once it has ended, its status as of waitpid(2).
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Final

from pipeline.cli.main import main
from profiler.record import recorder
from profiler.store import buffer

__all__ = ["BUFFER_ROWS", "SEAL_EVERY_S", "run_forked"]

BUFFER_ROWS: Final = 2_000
"""A file of a long recording holds 983,040 rows."""
SEAL_EVERY_S: Final = 0.02
"""A long recording seals each 5 s."""
IMPORTS: Final = ("pandas", "pipeline.cli.ingest_table", "profiler.importers", "profiler.record", "profiler.store")
"""What commands import when they run."""


def run_forked(arguments: list[str]) -> None:
    """Run a command in a process of its own, and say its pid and its end."""
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        os._exit(main(arguments))
    sys.stdout.write(f"{pid}\n")
    sys.stdout.flush()
    sys.stdout.write(f"{os.waitpid(pid, 0)[1]}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for name in IMPORTS:
        import_module(name)
    vars(buffer)["BUFFER_ROWS"] = BUFFER_ROWS
    vars(recorder)["SEAL_EVERY_S"] = SEAL_EVERY_S
    for line in sys.stdin:
        run_forked(json.loads(line))
