"""Compaction of a lake of many files; ``python -m tests.bench.merges`` takes hundreds of megabytes."""

from __future__ import annotations

from tests.bench.merges import TICKS_A_FILE, merges_table, run_merges
from tests.bench.writes import N_COUNTERS

MAX_GROWTH = 1.15
"""Of the peak when the lake is twice as large."""


def test_files_are_merged_whole_in_memory_that_does_not_grow() -> None:
    runs = list(run_merges((8, 16)))
    print(f"\n\noffbeat lake --compact\n\n{merges_table(runs)}")  # noqa: T201
    for run in runs:
        assert run.problems == ()
        assert len(run.after_bytes) == 1
        assert run.n_rows == len(run.before_bytes) * TICKS_A_FILE * N_COUNTERS
    assert runs[1].used.peak_bytes <= MAX_GROWTH * runs[0].used.peak_bytes
