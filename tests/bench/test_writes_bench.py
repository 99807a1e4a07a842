"""What a lake writes a second of counters read each millisecond, and how many bytes a reading takes."""

from __future__ import annotations

import pytest

from tests.bench.writes import KINDS, WAYS, WriteRun, run_writes, writes_table

N_TICKS = 200_000
MIN_ROWS_PER_S = 8e6
"""Of CPU time: cores may be shared."""
MAX_ROW_BYTES = 6.0
LAKE = next(iter(WAYS))


@pytest.fixture(scope="module")
def runs() -> list[WriteRun]:
    runs = list(run_writes(n_ticks=N_TICKS))
    print(f"\n\nlake writes, 16 counters a millisecond\n\n{writes_table(runs)}")  # noqa: T201
    return runs


def test_each_kind_is_written_each_way_whole(runs: list[WriteRun]) -> None:
    assert [(run.kind, run.how) for run in runs] == [(kind, how) for kind in KINDS for how in WAYS]
    assert {run.n_rows for run in runs} == {16 * N_TICKS}


def test_eight_million_readings_of_bursty_counters_take_a_second_of_cpu(runs: list[WriteRun]) -> None:
    (run,) = (run for run in runs if (run.kind, run.how) == ("bursty", LAKE))
    assert run.n_rows / run.cpu_s >= MIN_ROWS_PER_S


@pytest.mark.parametrize("kind", ["idle", "bursty"])
def test_a_reading_takes_at_most_six_bytes(runs: list[WriteRun], kind: str) -> None:
    (run,) = (run for run in runs if (run.kind, run.how) == (kind, LAKE))
    assert run.n_bytes / run.n_rows <= MAX_ROW_BYTES
