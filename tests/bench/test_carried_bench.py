"""Jobs named on uplinks: nothing false, and nearly all from 2 % of the variance on."""

from __future__ import annotations

import pytest

from tests.bench.carried import NOISES, named_table, score_named

N_UPLINKS = 3
FIRST_SEED = 9000


@pytest.mark.parametrize("noise", NOISES)
def test_jobs_are_named_where_they_are_and_nowhere_else(noise: str) -> None:
    scores = {
        (noise, frac): score_named(noise, variance_frac=frac, n_uplinks=N_UPLINKS, first_seed=FIRST_SEED)
        for frac in (0.0, 0.04)
    }
    print(f"\n\n{named_table(scores)}")  # noqa: T201
    assert [one.n_false for one in scores.values()] == [0, 0]
    assert scores[noise, 0.0].n_carried == 0
    assert scores[noise, 0.04].n_named >= scores[noise, 0.04].n_carried - 1
