"""`Rig`: build the network, run jobs on it, sample and capture its switch, and take all of it down.

::

    with Rig(spec) as rig:
        rig.start()
        rig.sample(30.0, Path("shared.csv.gz"))
        subprocess.run([*rig.exec_prefix("sw1"), "offbeat", "profile", "--iface", "p1", "--for", "15s"])
        truth = rig.stop()
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.rig.errors import RigError
from tests.rig.observers import CHECKOUT, capture_trunk, exec_prefix, sample_ports
from tests.rig.registry import build, is_orphan, remove, sweep
from tests.rig.requirements import missing_for_jobs, require
from tests.rig.training import N_RANKS, Rank
from tests.rig.truth import Truth, read_truth

if TYPE_CHECKING:
    from types import TracebackType

    from tests.rig.network import Network
    from tests.rig.spec import JobSpec, RigSpec

__all__ = ["Rig"]

_READY_TIMEOUT_S: Final = 60.0
_LEAD_NS: Final = 100_000_000
"""From the decision to start until the common start: the ranks look every 2 ms."""


class Rig:
    """A network with jobs, for the length of a ``with`` block.

    Parameters
    ----------
    spec : RigSpec
        The network and its jobs; `start` may run the jobs with other orders.

    Raises
    ------
    RigNotHere
        On entry, if this machine lacks something; the message names all of it.
    RigError
        If something goes wrong; with the failing process's own words.

    Notes
    -----
    Every process of the rig is killed by the kernel when the owner dies; its namespaces are removed when the block
    ends, or, after a crash, when the next rig starts or by ``python -m tests.rig down``.
    """

    def __init__(self, spec: RigSpec) -> None:
        self.spec = spec
        self._running: tuple[JobSpec, ...] = ()

    def __enter__(self) -> Rig:
        require(missing_for_jobs())
        sweep(is_orphan)
        names = tuple(job.name for job in self.spec.jobs)
        self._entry = build(names, self.spec.network, owner_pid=os.getpid())
        try:
            self._ranks = self._spawn_ranks()
        except BaseException:
            remove(self._entry)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._ranks.kill()
            self._ranks.communicate()
        finally:
            remove(self._entry)

    @property
    def network(self) -> Network:
        """The network that stands."""
        return self._entry.network

    @property
    def folder(self) -> Path:
        """Where ranks write their logs and truth; gone when the block ends."""
        return self._entry.folder

    def exec_prefix(self, node: str) -> list[str]:
        """Return what to put before a command so that it runs on a node."""
        return exec_prefix(self.network, node)

    def start(self, jobs: Sequence[JobSpec] | None = None) -> int:
        """Start jobs (default: those of the spec) in place of any that run, and return their common start in ns."""
        self._running = tuple(self.spec.jobs if jobs is None else jobs)
        for file in self.folder.iterdir():
            file.unlink()
        pids = self._order([rank for job in self._running for rank in self._ranks_of(job)])
        self._await_ready(pids)
        start_ns = time.time_ns() + _LEAD_NS
        partial = self.folder / "go.partial"
        partial.write_text(str(start_ns), encoding="ascii")
        partial.replace(self.folder / "go")
        return start_ns

    def stop(self) -> Truth:
        """Stop the jobs and return what they did."""
        self._order([])
        return read_truth(self.folder, [job.name for job in self._running])

    def sample(self, seconds: float, path: Path, *, interval_s: float = 0.001) -> tuple[int, int]:
        """Sample the byte counters of switch sw1's ports for a time; return the times of the first and last row."""
        return sample_ports(self.network, path, seconds=seconds, interval_s=interval_s)

    def capture(self, seconds: float, path: Path) -> tuple[int, int]:
        """Capture the headers of the trunk's packets for a time, into a pcap; return its start and end."""
        return capture_trunk(self.network, path, seconds=seconds)

    def _ranks_of(self, job: JobSpec) -> list[Rank]:
        master = self.network.address(job.name, rank=0)
        hosts = self.network.hosts(job.name)
        return [
            Rank(job=job, rank=i, namespace=self.network.namespace(hosts[i]), master=master, folder=self.folder)
            for i in range(N_RANKS)
        ]

    def _spawn_ranks(self) -> subprocess.Popen[str]:
        ranks = subprocess.Popen(
            [sys.executable, "-m", "tests.rig.ranks", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._answer_of(ranks)
        return ranks

    def _order(self, ranks: Sequence[Rank]) -> list[int]:
        assert self._ranks.stdin is not None
        try:
            self._ranks.stdin.write(json.dumps([rank.to_dict() for rank in ranks]) + "\n")
            self._ranks.stdin.flush()
        except BrokenPipeError as error:
            raise RigError("the process that runs the ranks has ended; its words are on stderr") from error
        return self._answer_of(self._ranks)

    def _answer_of(self, ranks: subprocess.Popen[str]) -> list[int]:
        assert ranks.stdout is not None
        line = ranks.stdout.readline()
        if not line:
            raise RigError(f"the process that runs the ranks ended with {ranks.wait()}; its words are on stderr")
        pids: list[int] = json.loads(line)
        return pids

    def _await_ready(self, pids: Sequence[int]) -> None:
        deadline_s = time.monotonic() + _READY_TIMEOUT_S
        while len(list(self.folder.glob("*.ready"))) < len(pids):
            late = time.monotonic() > deadline_s
            if late or any(_has_ended(pid) for pid in pids):
                words = "\n".join(log.read_text(errors="replace") for log in sorted(self.folder.glob("*.log")))
                raise RigError(
                    f"a rank {'is not ready after a minute' if late else 'ended before the start'}:\n{words}"
                )
            time.sleep(0.01)


def _has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
