"""The profiles of 100,000 ports: how long, and in how much memory.

``OFFBEAT_BENCH_SERIES=100000 make bench`` measures them all; by default a few thousand are, and the rest extrapolated.
"""

from __future__ import annotations

import pytest

from tests.bench.batch import N_SAMPLES, N_WANTED, BatchRun, run_batch
from tests.bench.options import N_WORKERS, n_batch_series

MAX_S = 180.0
MAX_BYTES = 2 * 10**9


@pytest.fixture(scope="module")
def run() -> BatchRun:
    run = run_batch(n_series=n_batch_series(), n_workers=N_WORKERS)
    how = "measured" if run.n_series >= N_WANTED else f"extrapolated from {run.n_series}"
    print(  # noqa: T201
        f"\n\nbatch of series of {N_SAMPLES} samples, one in ten periodic, {N_WORKERS} processes\n\n"
        f"{run.n_series} series in {run.spent_s:.1f} s with the start of the processes, "
        f"{1e3 * run.spent_s / run.n_series:.2f} ms a series\n"
        f"{N_WANTED} series: {run.s_for_wanted:.0f} s ({how}); at most {MAX_S:.0f} s are wanted\n"
        f"peak memory of all processes {run.peak_bytes / 1e6:.0f} MB; at most {MAX_BYTES / 1e6:.0f} MB are wanted\n"
        f"{run.n_right} of {run.n_periodic} periods right; "
        f"{run.n_invented} of {run.n_series - run.n_periodic} others called periodic"
    )
    return run


def test_a_hundred_thousand_series_take_three_minutes_on_two_processes(run: BatchRun) -> None:
    assert run.s_for_wanted <= MAX_S


def test_memory_is_bounded(run: BatchRun) -> None:
    assert run.peak_bytes <= MAX_BYTES


def test_none_of_them_is_called_periodic_without_cause(run: BatchRun) -> None:
    assert run.n_invented == 0
