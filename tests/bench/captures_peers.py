"""What others take to go over the same capture, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["PEERS", "Cost", "Peer", "least", "run_peer"]

TSHARK_PACKETS: Final = 100_000
"""tshark takes minutes for millions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program.

    Parameters
    ----------
    command
        Its arguments; ``{}`` is the capture.
    does
        What it finds out, which is less than flows and bins.
    target_mpps
        What `TARGETS` says of it; None where it says nothing.
    most_packets
        How many packets it reads at most.
    """

    command: tuple[str, ...]
    does: str
    target_mpps: float | None = None
    most_packets: int | None = None

    @property
    def why_absent(self) -> str | None:
        """Why it cannot be run here; None if it can."""
        program = self.command[0]
        return None if shutil.which(program) else f"{program} is not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run took: seconds from start to end, processor seconds of the process, its largest resident memory.

    Of a peer the memory is not known: wait4(2) counts what its parent holds as well.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int | None = None


PEERS: Final = {
    "cat": Peer(command=("cat", "{}"), does="nothing: the limit", target_mpps=53.6),
    "tcpdump": Peer(command=("tcpdump", "-r", "{}", "-w", "/dev/null"), does="copies"),
    "capinfos": Peer(command=("capinfos", "-c", "-d", "-a", "-e", "{}"), does="totals", target_mpps=6.0),
    "tshark": Peer(
        command=(
            "tshark", "-r", "{}", "-c", str(TSHARK_PACKETS), "-T", "fields",
            "-e", "frame.time_epoch", "-e", "frame.len", "-e", "ip.src", "-e", "ip.dst", "-e", "udp.srcport",
            "-e", "infiniband.bth.destqp",
        ),
        does="fields of each packet",
        target_mpps=0.04,
        most_packets=TSHARK_PACKETS,
    ),
}  # fmt: skip


def least(costs: Iterable[Cost]) -> Cost:
    """Return the shortest times of several runs, and the most memory that one of them took."""
    runs = list(costs)
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    return Cost(
        wall_s=min(run.wall_s for run in runs),
        cpu_s=min(run.cpu_s for run in runs),
        peak_bytes=max(peaks, default=None),
    )


def run_peer(peer: Peer, path: Path) -> Cost:
    """Run a program over a capture; what it prints goes nowhere.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    command = [str(path) if part == "{}" else part for part in peer.command]
    start_s = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}")
    return Cost(wall_s=time.monotonic() - start_s, cpu_s=used.ru_utime + used.ru_stime)
