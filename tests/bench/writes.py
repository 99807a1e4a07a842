"""Lake writes of counters read each millisecond, hashing and syncing included, beside bare Parquet writes of the same.

Run alone with ``python -m tests.bench.writes [--ticks 500000]``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.schema import arrow_schema
from profiler.store import Lake, Recording, Series, recording_id
from profiler.units import NS_PER_S
from tests.bench.tables import layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Ticks", "WriteRun", "draw_ticks", "run_writes", "writes_table"]

N_COUNTERS: Final = 16
TICK_NS: Final = 1_000_000
T0_NS: Final = 1_700_000_000 * NS_PER_S
LATE_NS: Final = 69_000.0
"""Median lateness of a wake-up, as TARGETS has it."""
LATE_SPREAD: Final = 0.5
READ_NS: Final = 1_300.0
"""Median time to read one counter, as TARGETS has it."""
READ_SPREAD: Final = 0.25
LINE_BYTES: Final = 6_250_000
"""What 50 Gbit/s carry in a tick."""
PACKET_BYTES: Final = 4_096 + 62
PERIOD_TICKS: Final = 255
UP_TICKS: Final = 114
SEED: Final = 5
REPEATS: Final = 3
KINDS: Final = ("idle", "bursty", "noisy")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ticks:
    """Readings of `N_COUNTERS` counters; arrays of shape (n_counters, n_ticks)."""

    t_ns: NDArray[np.int64]
    window_ns: NDArray[np.int32]
    value: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRun:
    """What one way of writing took: the least of `REPEATS` tries of wall and of CPU time."""

    kind: str
    how: str
    n_rows: int
    n_bytes: int
    wall_s: float
    cpu_s: float


def draw_ticks(kind: str, *, n_ticks: int, rng: np.random.Generator) -> Ticks:
    """Draw readings: ``idle`` counters that stand still, ``bursty`` ones of training jobs, or ``noisy`` ones.

    Bursts are whole packets, at near the line's rate during Up and a packet now and then else; each counter has its
    own phase. Noisy counters grow by any number of bytes up to the line's rate, which no encoding can make small.
    """
    shape = (N_COUNTERS, n_ticks)
    late_ns = LATE_NS * rng.lognormal(0.0, LATE_SPREAD, n_ticks)
    window_ns = (READ_NS * rng.lognormal(0.0, READ_SPREAD, shape)).astype(np.int32)
    starts_ns = T0_NS + np.arange(n_ticks, dtype=np.int64) * TICK_NS + late_ns.astype(np.int64)
    if kind == "noisy":
        steps = rng.integers(0, LINE_BYTES, shape)
    elif kind == "bursty":
        place = (np.arange(n_ticks) + rng.integers(0, PERIOD_TICKS, (N_COUNTERS, 1))) % PERIOD_TICKS
        up = rng.uniform(0.9, 1.0, shape) * (LINE_BYTES / PACKET_BYTES)
        steps = np.where(place < UP_TICKS, up, rng.random(shape) < 0.1).astype(np.int64) * PACKET_BYTES
    else:
        steps = np.zeros(shape, np.int64)
    return Ticks(
        t_ns=starts_ns + np.cumsum(window_ns, axis=0), window_ns=window_ns, value=10**12 + np.cumsum(steps, axis=1)
    )


def run_writes(*, n_ticks: int, repeats: int = REPEATS) -> Iterator[WriteRun]:
    """Yield what each way takes for each kind of counters; the ways take turns, so that all meet the same machine."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        _into_lake(draw_ticks("idle", n_ticks=100, rng=np.random.default_rng(0)), Path(folder) / "warm", n_at_once=100)
        for kind in KINDS:
            ticks = draw_ticks(kind, n_ticks=n_ticks, rng=np.random.default_rng(SEED))
            tries = [
                (how, _timed(write, ticks, Path(folder) / f"{kind}-{i_try}-{i}"))
                for i_try in range(repeats)
                for i, (how, write) in enumerate(WAYS.items())
            ]
            for how in WAYS:
                own = [found for name, found in tries if name == how]
                yield WriteRun(
                    kind=kind,
                    how=how,
                    n_rows=ticks.value.size,
                    n_bytes=own[0][2],
                    wall_s=min(wall_s for wall_s, _, _ in own),
                    cpu_s=min(cpu_s for _, cpu_s, _ in own),
                )


def writes_table(runs: Iterable[WriteRun]) -> str:
    """Return one row a kind and way."""
    rows = [["counters", "written by", "Mrow", "Mrow/s of wall", "Mrow/s of CPU", "B/row"]]
    rows += [
        [
            run.kind,
            run.how,
            f"{run.n_rows / 1e6:.1f}",
            f"{run.n_rows / run.wall_s / 1e6:.1f}",
            f"{run.n_rows / run.cpu_s / 1e6:.1f}",
            f"{run.n_bytes / run.n_rows:.2f}",
        ]
        for run in runs
    ]
    return layout(rows, to_left=("written by",))


def _timed(write: Callable[[Ticks, Path], int], ticks: Ticks, path: Path) -> tuple[float, float, int]:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    n_bytes = write(ticks, path)
    return time.perf_counter() - wall_s, time.process_time() - cpu_s, n_bytes


def _into_lake(ticks: Ticks, path: Path, *, n_at_once: int) -> int:
    """Write as a recorder does: some ticks of each counter in turn, and all of it safe on disk at the end."""
    lake = Lake.open(path, create=True)
    key = recording_id(path.name, parser="bench", parser_version=1)
    with lake.writer(Recording(recording_id=key, source=path.name, format="bench")) as writer:
        ids = [
            writer.add_series(Series(host="h1", device=f"mlx5_{i}", direction="transmit", layer="rdma_vport"))
            for i in range(N_COUNTERS)
        ]
        for start in range(0, ticks.value.shape[1], n_at_once):
            part = slice(start, start + n_at_once)
            for i, series_id in enumerate(ids):
                writer.write_samples(
                    series_id, ticks.t_ns[i, part], ticks.value[i, part], window_ns=ticks.window_ns[i, part]
                )
    return sum(file.stat().st_size for file in lake.files("samples"))


def _into_parquet(ticks: Ticks, path: Path, *, compression: str) -> int:
    """Write the rows, sorted as they are, with pyarrow's own settings; no manifest, hash, check or sort."""
    n_ticks = ticks.value.shape[1]
    columns = [
        np.repeat(np.arange(N_COUNTERS, dtype=np.uint64), n_ticks),
        ticks.t_ns.ravel(),
        ticks.window_ns.ravel(),
        ticks.value.ravel(),
        np.zeros(ticks.value.size, np.uint16),
        np.zeros(ticks.value.size, np.int32),
    ]
    pq.write_table(pa.table(columns, schema=arrow_schema("samples")), path, compression=compression)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path.stat().st_size


WAYS: Final[dict[str, Callable[[Ticks, Path], int]]] = {
    "the lake, 10 s of a counter at a time": lambda ticks, path: _into_lake(ticks, path, n_at_once=10_000),
    "the lake, 1/4 s at a time, as record does": lambda ticks, path: _into_lake(ticks, path, n_at_once=250),
    "pyarrow as it comes (snappy)": lambda ticks, path: _into_parquet(ticks, path, compression="snappy"),
    "pyarrow with zstd": lambda ticks, path: _into_parquet(ticks, path, compression="zstd"),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=500_000, help="milliseconds recorded of each of 16 counters")
    sys.stdout.write(f"{writes_table(run_writes(n_ticks=parser.parse_args().ticks))}\n")
