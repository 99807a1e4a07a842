"""Memory while large dumps are read; ``python -m tests.bench.memory`` does it for gigabytes."""

from __future__ import annotations

import pytest

from tests.bench.dumps import DUMPS
from tests.bench.memory import IngestRun, memory_table, run_ingests

N_MB = 64
MAX_GROWTH = 1.15
"""Of the peak when the dump is twice as large."""


@pytest.fixture(scope="module")
def runs() -> list[IngestRun]:
    runs = list(run_ingests(dict.fromkeys(DUMPS, N_MB)))
    print(f"\n\noffbeat ingest\n\n{memory_table(runs)}")  # noqa: T201
    return runs


def test_every_reading_of_a_table_is_in_the_lake(runs: list[IngestRun]) -> None:
    for run in runs:
        assert run.n_samples >= run.n_expected
        if run.name != "profiler trace":
            assert run.n_samples == run.n_expected


@pytest.mark.parametrize("name", DUMPS)
def test_memory_is_flat_at_twice_the_size(runs: list[IngestRun], name: str) -> None:
    _, once, twice = (run for run in runs if run.name == name)
    assert twice.peak_bytes <= MAX_GROWTH * once.peak_bytes
