"""Jobs found by their beat: nothing false in any family, and thousands of ports in minutes."""

from __future__ import annotations

import pytest

from tests.bench.discovery import FAMILIES, Score, score_family, scores_table
from tests.bench.large_fleet import large_table, run_large

N_FLEETS = 2
MIN_PRECISION = 0.99
MIN_STRONG_RECALL = 0.9
N_JOBS = 10
"""Of 16 series each; ``python -m tests.bench.large_fleet`` takes three hundred."""


@pytest.fixture(scope="module")
def scores() -> dict[str, Score]:
    found = {family: score_family(family, n_fleets=N_FLEETS, first_seed=1000) for family in FAMILIES}
    print(f"\n\n{scores_table(found)}")  # noqa: T201
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_ports_put_together_belong_together(scores: dict[str, Score], family: str) -> None:
    one = scores[family]
    assert one.right_pairs >= MIN_PRECISION * one.found_pairs
    assert one.right_strong_pairs >= MIN_STRONG_RECALL * one.strong_pairs
    assert one.right_shares >= MIN_PRECISION * one.found_shares


@pytest.mark.parametrize("family", ["none", "alike"])
def test_fleets_without_jobs_have_none(scores: dict[str, Score], family: str) -> None:
    assert scores[family].found_jobs == 0


def test_a_large_fleet_is_found_whole() -> None:
    run = run_large(N_JOBS, duration_s=1800)
    print(f"\n\n{large_table([run])}")  # noqa: T201
    assert run.n_series == 16 * N_JOBS
    assert run.n_whole >= N_JOBS - 1
