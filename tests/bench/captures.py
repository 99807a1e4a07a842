"""Packet captures: how many packets a second of processor time, in how much memory, and are they all there.

Run alone with ``python -m tests.bench.captures [--packets 16000000] [--folder /tmp]``; it takes some ten minutes and
three gigabytes there. Every figure but the kernel's is of a whole process from its start to its end, the least of
three runs, and stands beside what TARGETS asks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.captures_check import differences
from tests.bench.captures_files import CaptureFormat, write_capture
from tests.bench.captures_kernel import kernel_cost
from tests.bench.captures_peers import PEERS, Cost, least, run_peer
from tests.bench.captures_traffic import Traffic, Truth
from tests.bench.memory import run_offbeat
from tests.bench.tables import cell, layout

__all__ = [
    "CASES",
    "SMALL_CASES",
    "CaptureRun",
    "Case",
    "captures_table",
    "run_case",
    "run_kernel",
    "run_peers",
    "run_small_cases",
]

MIB: Final = 1 << 20
N_SMALL: Final = 1000
N_RUNS: Final = 3
CACHES: Final = ("OFFBEAT_CACHE_DIR", "NUMBA_CACHE_DIR")
"""Folders of compiled code; in an empty one all is compiled anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A capture to ingest.

    Parameters
    ----------
    suffix
        Ending of its name, by which it is packed.
    share
        Of the packets asked for; compressed ones need not be as long.
    n_runs
        How often it is read; the quickest run counts, since others use the same processors.
    min_mpps, max_mib, max_wall_s
        Targets; None where there is none.
    """

    format: CaptureFormat = "pcap"
    suffix: str = ".pcap"
    n_flows: int = 128
    share: float = 1.0
    n_runs: int = N_RUNS
    min_mpps: float | None = None
    max_mib: float | None = None
    max_wall_s: float | None = None

    def verdict(self, cost: Cost, *, mpps: float) -> str:
        """Return the targets, and whether they are met."""
        peak_mib = (cost.peak_bytes or 0) / MIB
        said = []
        if self.min_mpps is not None:
            said.append(f">= {self.min_mpps:g} Mpps: {_met(mpps >= self.min_mpps)}")
        if self.max_mib is not None:
            said.append(f"<= {self.max_mib:g} MiB: {_met(peak_mib <= self.max_mib)}")
        if self.max_wall_s is not None:
            said.append(f"<= {self.max_wall_s:g} s: {_met(cost.wall_s <= self.max_wall_s)}")
        return "; ".join(said)


CASES: Final = {
    "pcap": Case(min_mpps=8, max_mib=300),
    "pcap of nanoseconds": Case(format="pcap-ns", share=0.25),
    "pcapng": Case(format="pcapng", suffix=".pcapng", share=0.25),
    "80,000 flows": Case(n_flows=80_000, min_mpps=1.5, max_mib=300),
    "gzip": Case(suffix=".gz", share=0.25, max_mib=300),
    "zstd": Case(suffix=".zst", share=0.25, max_mib=300),
}
SMALL_CASES: Final = {"first run, small file": Case(n_runs=1), "warm run, small file": Case(max_wall_s=1.5)}
"""In this order: the first one compiles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRun:
    """What one program made of one capture.

    Parameters
    ----------
    said
        Its targets, and whether they are met; or what a peer does.
    wrong
        What differs from what was generated; None where nobody looked.
    """

    name: str
    n_packets: int
    cost: Cost
    said: str
    wrong: tuple[str, ...] | None = None

    @property
    def mpps(self) -> float:
        """Million packets a second of processor time."""
        return self.n_packets / self.cost.cpu_s / 1e6


def run_case(name: str, *, n_packets: int, folder: Path) -> CaptureRun:
    """Generate a capture, ingest it, and hold what is in the lake against what was generated."""
    case = CASES[name]
    traffic = Traffic(n_packets=max(1, round(case.share * n_packets)), n_flows=case.n_flows)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / f"capture{case.suffix}"
        truth = write_capture(traffic, path, format=case.format)
        return _ingested(name, path, case=case, traffic=traffic, truth=truth)


def run_small_cases(*, folder: Path) -> Iterator[CaptureRun]:
    """Yield the first run on a machine, which compiles, and the second, of a small capture."""
    traffic = Traffic(n_packets=N_SMALL)
    with tempfile.TemporaryDirectory(dir=folder) as made, _caches_in(Path(made) / "cache"):
        path = Path(made) / "small.pcap"
        truth = write_capture(traffic, path)
        for name, case in SMALL_CASES.items():
            yield _ingested(name, path, case=case, traffic=traffic, truth=truth)


def run_kernel(path: Path, *, n_packets: int) -> CaptureRun:
    """Return what the kernel alone takes for a capture in memory."""
    case = Case(min_mpps=20)
    cost = least(kernel_cost(path, n_packets=n_packets) for _ in range(case.n_runs))
    said = case.verdict(cost, mpps=n_packets / cost.cpu_s / 1e6)
    return CaptureRun(name="the kernel alone", n_packets=n_packets, cost=cost, said=said)


def run_peers(path: Path, *, n_packets: int) -> Iterator[CaptureRun | str]:
    """Yield what each peer takes for a capture, or why it was not run."""
    for name, peer in PEERS.items():
        if peer.why_absent:
            yield f"{name}: {peer.why_absent}"
            continue
        cost = least(run_peer(peer, path) for _ in range(N_RUNS))
        n_read = min(n_packets, peer.most_packets or n_packets)
        target = f"; {peer.target_mpps} Mpps in TARGETS" if peer.target_mpps else ""
        yield CaptureRun(name=name, n_packets=n_read, cost=cost, said=f"{peer.does}{target}")


def captures_table(runs: Iterable[CaptureRun]) -> str:
    """Return one row a run, and below what is wrong."""
    found = list(runs)
    rows = [["what", "packets", "wall s", "CPU s", "Mpps of CPU", "peak MiB", "exact", "target"]]
    rows += [
        [
            run.name,
            str(run.n_packets),
            cell(run.cost.wall_s, ".2f"),
            cell(run.cost.cpu_s, ".2f"),
            cell(run.mpps, ".3g"),
            cell(run.cost.peak_bytes and run.cost.peak_bytes / MIB, ".0f"),
            "-" if run.wrong is None else "no" if run.wrong else "yes",
            run.said,
        ]
        for run in found
    ]
    wrong = [f"{run.name}: {line}" for run in found for line in run.wrong or ()]
    return "\n".join([layout(rows, to_left=("target",)), *wrong])


def _ingested(name: str, path: Path, *, case: Case, traffic: Traffic, truth: Truth) -> CaptureRun:
    costs, wrong = [], []
    for _ in range(case.n_runs):
        with tempfile.TemporaryDirectory(dir=path.parent) as made:
            lake, answer = Path(made) / "lake", Path(made) / "answer"
            used = run_offbeat(["ingest", str(path), "--lake", str(lake), "--json"], answer=answer)
            (report,) = json.loads(answer.read_bytes())["inputs"]
            wrong += differences(lake, report, traffic=traffic, truth=truth)
        costs.append(Cost(wall_s=used.wall_s, cpu_s=used.cpu_s, peak_bytes=used.peak_bytes))
    cost = least(costs)
    said = case.verdict(cost, mpps=traffic.n_packets / cost.cpu_s / 1e6)
    return CaptureRun(name=name, n_packets=traffic.n_packets, cost=cost, said=said, wrong=tuple(wrong))


def _met(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


@contextmanager
def _caches_in(folder: Path) -> Iterator[None]:
    """Let programs that are started meanwhile keep compiled code in a folder of their own."""
    before = {name: os.environ.get(name) for name in CACHES}
    os.environ.update(dict.fromkeys(CACHES, str(folder)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run_all(*, n_packets: int, folder: Path, names: list[str]) -> Iterator[CaptureRun]:
    yield from run_small_cases(folder=folder)
    for name in names:
        yield run_case(name, n_packets=n_packets, folder=folder)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "capture.pcap"
        write_capture(Traffic(n_packets=n_packets), path)
        yield run_kernel(path, n_packets=n_packets)
        for run in run_peers(path, n_packets=n_packets):
            if isinstance(run, str):
                sys.stdout.write(f"{run}\n")
            else:
                yield run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=16_000_000, help="of the largest capture")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="where captures are, for a while"
    )
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"which of {', '.join(CASES)}")
    asked = parser.parse_args()
    runs = _run_all(n_packets=asked.packets, folder=asked.folder, names=asked.cases)
    sys.stdout.write(f"{captures_table(runs)}\n")
