"""Many series as a fabric's ports give them, one in ten periodic, and what profiling them all takes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.batch import profile_many
from profiler.synth import IDLE, NON_PERIODIC, Burst, training_job
from tests.bench.scoring import RIGHT_FRAC

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["N_SAMPLES", "N_WANTED", "BatchRun", "draw_series", "run_batch"]

N_SAMPLES: Final = 4096
N_WANTED: Final = 100_000
ONE_IN: Final = 10
N_DISTINCT: Final = 500
"""Series are drawn beforehand and given again and again: drawing is not what is measured."""
PERIOD_SAMPLES: Final = (40.0, 400.0)
RATE_BPS: Final = 10e9
SEED: Final = 9100
DT_S: Final = 0.001
LOOK_EVERY_S: Final = 0.2
KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """What a batch took, all processes together, and what came of it; memory without what processes share."""

    n_series: int
    n_periodic: int
    n_right: int
    n_invented: int
    spent_s: float
    peak_bytes: int

    @property
    def s_for_wanted(self) -> float:
        """Seconds that `N_WANTED` series would take, at the same pace."""
        return self.spent_s * N_WANTED / self.n_series


def draw_series(rng: np.random.Generator, *, n_series: int = N_DISTINCT) -> list[tuple[RateSeries, float | None]]:
    """Draw series of `N_SAMPLES` windows and their periods: every tenth a job, the others of each family in turn."""
    others = itertools.cycle([*NON_PERIODIC.values(), *IDLE.values()])
    return [
        _draw_job(rng) if i % ONE_IN == 0 else (next(others)(rng, duration_s=N_SAMPLES * DT_S, dt_s=DT_S).series, None)
        for i in range(n_series)
    ]


def run_batch(*, n_series: int, n_workers: int) -> BatchRun:
    """Profile series on processes, and watch the memory of them all."""
    drawn = draw_series(np.random.default_rng(SEED))
    truths = [drawn[i % N_DISTINCT][1] for i in range(n_series)]
    with _MemoryWatch() as memory:
        start_s = time.monotonic()
        found_s = [
            profile.period_s
            for profile in profile_many((drawn[i % N_DISTINCT][0] for i in range(n_series)), n_workers=n_workers)
        ]
        spent_s = time.monotonic() - start_s
    pairs = list(zip(found_s, truths, strict=True))
    return BatchRun(
        n_series=n_series,
        n_periodic=sum(truth_s is not None for truth_s in truths),
        n_right=sum(bool(found and true and abs(found / true - 1) < RIGHT_FRAC) for found, true in pairs),
        n_invented=sum(found is not None and true is None for found, true in pairs),
        spent_s=spent_s,
        peak_bytes=memory.peak_bytes,
    )


def _draw_job(rng: np.random.Generator) -> tuple[RateSeries, float | None]:
    n_bursts = int(rng.integers(1, 4))
    bursts = [Burst(0.1 + 0.8 * i / n_bursts, rng.uniform(0.2, 0.6) / n_bursts, RATE_BPS) for i in range(n_bursts)]
    job = training_job(
        rng,
        period_s=DT_S * float(np.exp(rng.uniform(*np.log(PERIOD_SAMPLES)))),
        bursts=[replace(burst, rate_bps=rng.uniform(0.5, 1.0) * RATE_BPS) for burst in bursts],
        duration_s=N_SAMPLES * DT_S,
        dt_s=DT_S,
        jitter_frac=rng.uniform(0.0, 0.05),
    )
    return job.series, job.period_s


class _MemoryWatch:
    """The most memory that this process and its descendants held at a time, shared pages counted once [1]_.

    References
    ----------
    .. [1] https://www.kernel.org/doc/html/latest/filesystems/proc.html, smaps_rollup, Pss.
    """

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(LOOK_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, sum(_held_bytes(process) for process in _family_of_this()))


def _family_of_this() -> Iterator[Path]:
    """Yield the folders in /proc of this process and all that it started."""
    waiting = [Path("/proc/self").resolve()]
    while waiting:
        process = waiting.pop()
        yield process
        for children in process.glob("task/*/children"):
            try:
                waiting += [Path("/proc") / child for child in children.read_text(encoding="ascii").split()]
            except OSError:
                continue


def _held_bytes(process: Path) -> int:
    """Return the proportional set size of a process, 0 once it has ended."""
    try:
        lines = (process / "smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * KIB for line in lines if line.startswith("Pss:"))
