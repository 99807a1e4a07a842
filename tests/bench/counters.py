"""What it costs to read 16 counters each millisecond into a lake, beside what the kernel's reads cost by themselves.

Run alone with ``python -m tests.bench.counters``. The counters are the kernel's own, of this machine's interfaces, each
through a file of its own. CPU time is that of the whole process, its sealing thread and the kernel's share with it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from profiler.collectors import find_sources
from profiler.record import Timing, record
from profiler.schema import Flag
from profiler.store import Lake
from profiler.units import NS_PER_S
from tests.bench.tables import layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.record import RecordSummary, Sampler

__all__ = ["CounterCost", "Ticks", "cost_table", "measure", "missed_by_time"]

N_INTERFACES: Final = 4
FILES: Final = ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets")
INTERVAL_S: Final = 0.001
NETWORK: Final = Path("/sys/class/net")
N_ROUNDS: Final = 5
"""Medians of so many rounds: other processes use the same caches."""
BARE_S: Final = 1.0
RECORD_S: Final = 10.0
TEXT_BYTES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Ticks of a recording, as it tells of them and as the stored times do.

    Parameters
    ----------
    n_read
        Ticks read.
    n_missed_told, n_missed_seen
        Ticks missed, as the recorder counts and as the times of the reads tell.
    n_gaps
        Reads before which ticks were missed, as the times tell.
    n_not_flagged, n_flagged_in_vain
        Such reads without a flag, and other reads with one.
    """

    n_read: int
    n_missed_told: int
    n_missed_seen: int
    n_gaps: int
    n_not_flagged: int
    n_flagged_in_vain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterCost:
    """CPU time a tick, in us: medians over the rounds.

    Parameters
    ----------
    loop_us, paced_us, wake_us
        Of bare reads in a loop, of bare reads each tick, of waking up each tick for nothing.
    record_us
        Of a recording, in all.
    least_us
        Least over the rounds of what a recording takes beyond bare reads in a loop: other processes use the caches too.
    """

    n_counters: int
    interval_s: float
    loop_us: float
    paced_us: float
    wake_us: float
    record_us: float
    least_us: float
    ticks: Ticks

    def core_frac(self, cost_us: float) -> float:
        """Return a cost a tick as a share of a core."""
        return cost_us * 1e-6 / self.interval_s


def measure(*, seconds: float, n_rounds: int = N_ROUNDS, bare_s: float = BARE_S) -> CounterCost:
    """Record 16 counters for a time, with bare reads of the same files before each round.

    Parameters
    ----------
    seconds
        Length of the recording of each round.
    n_rounds
        Rounds; each cost is the median over them.
    bare_s
        How long the same files are read without a recorder, each round.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = _make_tree(Path(folder) / "sys")
        files = sorted(root.rglob("statistics/*"))
        costs_us: list[tuple[float, ...]] = []
        ticks: list[Ticks] = []
        for i_round in range(n_rounds):
            lake = Lake.open(Path(folder) / f"lake{i_round}", create=True)
            bare_us = _bare(files, seconds=bare_s)
            record_us, told = _recorded(lake, root, seconds=seconds)
            costs_us.append((*bare_us, record_us))
            ticks.append(told)
        loop_us, paced_us, wake_us, record_us = np.median(costs_us, axis=0).tolist()
    return CounterCost(
        n_counters=len(files),
        interval_s=INTERVAL_S,
        loop_us=loop_us,
        paced_us=paced_us,
        wake_us=wake_us,
        record_us=record_us,
        least_us=min(round_us[-1] - round_us[0] for round_us in costs_us),
        ticks=_total(ticks),
    )


def cost_table(cost: CounterCost) -> str:
    """Return the costs a tick and as shares of a core."""
    rows = [["CPU time", "us a tick", "of a core"]]
    for name, cost_us in (
        (f"{cost.n_counters} bare reads in a loop: the kernel's own", cost.loop_us),
        ("waking up each tick, nothing read", cost.wake_us),
        ("waking up each tick, bare reads", cost.paced_us),
        ("offbeat record, in all", cost.record_us),
        ("offbeat record, beyond bare reads in a loop", cost.record_us - cost.loop_us),
        ("the same, least of the rounds", cost.least_us),
        ("offbeat record, beyond waking up and bare reads", cost.record_us - cost.paced_us),
    ):
        rows.append([name, f"{cost_us:.1f}", f"{cost.core_frac(cost_us):.2%}"])
    ticks = cost.ticks
    told = [
        f"{ticks.n_read} ticks read; missed: {ticks.n_missed_told} told, {ticks.n_missed_seen} by the stored times",
        f"{ticks.n_gaps} gaps, {ticks.n_not_flagged} without a flag; {ticks.n_flagged_in_vain} flags without a gap",
    ]
    return "\n".join([layout(rows), *told])


def missed_by_time(begun_ns: NDArray[np.int64], *, start_ns: int, interval_ns: int) -> NDArray[np.int64]:
    """Return how many ticks were missed before each read, told by the times at which reads began alone.

    Parameters
    ----------
    begun_ns
        Times, shape (n_reads,).
    start_ns
        When the first tick was due, on the same clock.
    interval_ns
        Time from tick to tick; a tick is kept if its reads begin before the next is due.
    """
    missed: NDArray[np.int64] = np.diff((begun_ns - start_ns) // interval_ns, prepend=-1) - 1
    return missed


def _bare(files: Sequence[Path], *, seconds: float) -> tuple[float, float, float]:
    """Return the CPU time of a tick of bare reads in a loop, each tick, and of waking up alone, in us."""
    handles = [os.open(file, os.O_RDONLY) for file in files]

    def read() -> None:
        for handle in handles:
            os.pread(handle, TEXT_BYTES, 0)

    try:
        n_ticks = round(seconds / INTERVAL_S)
        start_s = time.process_time()
        for _ in range(n_ticks):
            read()
        loop_us = (time.process_time() - start_s) / n_ticks * 1e6
        return loop_us, _paced_us(read, n_ticks=n_ticks), _paced_us(lambda: None, n_ticks=n_ticks)
    finally:
        for handle in handles:
            os.close(handle)


def _paced_us(act: Callable[[], None], *, n_ticks: int) -> float:
    start_cpu_s, start_s = time.process_time(), time.monotonic()
    for i_tick in range(n_ticks):
        left_s = start_s + i_tick * INTERVAL_S - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)
        act()
    return (time.process_time() - start_cpu_s) / n_ticks * 1e6


def _recorded(lake: Lake, root: Path, *, seconds: float) -> tuple[float, Ticks]:
    """Record, and return the CPU time of a tick, in us, from the first handing over of samples to the end."""
    begun: list[tuple[float, int, int]] = []

    def show(sampler: Sampler) -> None:
        if not begun:
            start_ns = sampler.started_ns - sampler.anchor_monotonic_ns + sampler.anchor_wall_ns
            begun.append((time.process_time(), sampler.n_ticks, start_ns))

    timing = Timing(interval_s=INTERVAL_S, duration_s=seconds)
    summary = record(lake, find_sources(root), host="bench", timing=timing, stop=lambda: False, show=show)
    begun_s, n_before, start_ns = begun[0]
    cost_us = (time.process_time() - begun_s) / (summary.n_ticks - n_before) * 1e6
    return cost_us, _ticks(lake, summary, start_ns=start_ns)


def _ticks(lake: Lake, summary: RecordSummary, *, start_ns: int) -> Ticks:
    """Return what the first counter of a recording tells of its ticks, which all of them share."""
    rows = pd.concat([pq.read_table(path, partitioning=None).to_pandas() for path in lake.files("samples")])
    first = rows[rows.series_id == rows.series_id[rows.t_ns.to_numpy().argmin() :].iloc[0]].sort_values("t_ns")
    begun_ns = (first.t_ns - first.window_ns).to_numpy()
    seen = missed_by_time(begun_ns, start_ns=start_ns, interval_ns=round(INTERVAL_S * NS_PER_S))
    is_flagged = (first["flags"].to_numpy() & np.uint16(Flag.MISSED)) != 0
    return Ticks(
        n_read=len(first),
        n_missed_told=summary.n_missed,
        n_missed_seen=int(seen.sum()),
        n_gaps=int((seen > 0).sum()),
        n_not_flagged=int(((seen > 0) & ~is_flagged).sum()),
        n_flagged_in_vain=int(((seen == 0) & is_flagged).sum()),
    )


def _total(ticks: Iterable[Ticks]) -> Ticks:
    counts = np.sum([astuple(one) for one in ticks], axis=0).tolist()
    return Ticks(**dict(zip((field.name for field in fields(Ticks)), counts, strict=True)))


def _make_tree(root: Path) -> Path:
    """Make interfaces whose counters are those of this machine's, which lend theirs in turn; return the root."""
    real = sorted(folder for folder in NETWORK.iterdir() if (folder / "statistics").is_dir())
    for i_interface in range(N_INTERFACES):
        statistics = root / "class" / "net" / f"bench{i_interface}" / "statistics"
        statistics.mkdir(parents=True)
        for name in FILES:
            (statistics / name).symlink_to(real[i_interface % len(real)] / "statistics" / name)
    return root


if __name__ == "__main__":
    sys.stdout.write(cost_table(measure(seconds=float(sys.argv[1]) if len(sys.argv) > 1 else RECORD_S)) + "\n")
