"""Scores of all pairs of many jobs against trying every shift, and against the solver on each pair."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.compat.classes import place_classes
from pipeline.compat.demand import Demand, demand_of
from pipeline.compat.horizon import independent_excess
from pipeline.compat.kernel import shift_curve
from pipeline.compat.levels import Excess
from pipeline.compat.pairs import score_pairs
from pipeline.compat.relations import beat_of, tie_periods
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, demand_from, measured, ticked_jobs, vgg
from tests.reference import TickedJob, best_excess, mean_excess
from tests.reference import independent_excess as excess_of_all_phases

EXACT = 1e-12
JOBS = st.lists(ticked_jobs(periods=st.integers(1, 12)), min_size=2, max_size=4)


@settings(max_examples=60, deadline=None)
@given(JOBS, st.integers(1, 20))
def test_every_pair_scores_as_its_best_shift_of_all(jobs: list[TickedJob], capacity: int) -> None:
    scores = score_pairs({f"job{i}": demand_from(job) for i, job in enumerate(jobs)}, capacity_bps=float(capacity))
    pairs = list(combinations(range(len(jobs)), 2))
    assert list(zip(scores.first.tolist(), scores.second.tolist(), strict=True)) == pairs
    for (i, j), best, chance, shift_s in zip(
        pairs, scores.score_best, scores.score_random, scores.shift_s, strict=True
    ):
        pair = [jobs[i], jobs[j]]
        assert best == pytest.approx(1 - float(best_excess(pair, capacity)) / capacity, abs=EXACT)
        assert chance == pytest.approx(1 - float(excess_of_all_phases(pair, capacity)) / capacity, abs=EXACT)
        reached = float(mean_excess(pair, [0, round(shift_s * 1e9)], capacity))
        assert 1 - reached / capacity == pytest.approx(best, abs=EXACT)


def drawn(rng: np.random.Generator, *, period_ns: int, n_edges: int) -> Demand:
    edges_ns = np.sort(rng.choice(period_ns, n_edges, replace=False)).astype(np.int64)
    return Demand(period_ns=period_ns, edges_ns=edges_ns, rate_bps=rng.uniform(0, 1e10, n_edges))


@pytest.mark.parametrize(
    "periods_ns", [(255_000_000,), (120_000_000, 60_000_000, 90_000_000), (255_130_007, 190_200_011)]
)
def test_pairs_on_a_real_clock_are_those_of_the_two_job_kernel(periods_ns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    demands = {
        f"job{i:02}": drawn(rng, period_ns=periods_ns[i % len(periods_ns)], n_edges=int(rng.integers(1, 9)))
        for i in range(24)
    }
    scores = score_pairs(demands, capacity_bps=1e10)
    for a, b in combinations(demands, 2):
        curve = shift_curve(demands[a], demands[b], excess=Excess.over(1e10))
        told = scores.between(a, b)
        assert told.score_best == pytest.approx(1 - curve.minimum_bps / 1e10, abs=EXACT)
        assert told.score_random == pytest.approx(1 - curve.mean_bps / 1e10, abs=EXACT)
        assert told.shift_s == curve.best_shift_ns() / 1e9


def test_measured_periods_are_tied_as_the_solver_ties_those_of_two() -> None:
    rng = np.random.default_rng(7)
    bases_s = (0.255, 0.17, 0.51, 0.34, 0.0850003, 0.4133)
    profiles = {}
    for i in range(20):
        period_s = bases_s[i % len(bases_s)] * (1 + 2e-4 * rng.standard_normal())
        phases = [(period_s * k / 2, period_s * rng.uniform(0.1, 0.3), 390e6) for k in range(1 + i % 2)]
        profile = TrafficProfile.from_phases(period_s=period_s, phases=phases)
        profiles[f"job{i:02}"] = measured(profile, error_s=rng.uniform(0, 3e-4)) if i % 5 else profile
    scores = pipeline.score_pairs(profiles, capacity_bps=CAPACITY_BPS)
    n_tied = 0
    for a, b in combinations(profiles, 2):
        pair = [profiles[a], profiles[b]]
        beats = [beat_of(profile, jitter_frac=0.0) for profile in pair]
        tied = tie_periods([demand_of(profile) for profile in pair], beats)
        excess = Excess.over(CAPACITY_BPS)
        found = place_classes(tied.demands, pools=tied.pools, excess=excess, rng=np.random.default_rng(0))
        told = scores.between(a, b)
        assert told.score_best == pytest.approx(1 - found.placement.excess_bps / CAPACITY_BPS, abs=EXACT)
        chance = independent_excess(tied.demands, excess=excess)
        assert told.score_random == pytest.approx(1 - chance / CAPACITY_BPS, abs=EXACT)
        if len(found.classes) == 1:
            n_tied += 1
            assert told.shift_s == pytest.approx(found.placement.shifts_ns[1] / 1e9, abs=EXACT)
        else:
            assert told.shift_s == 0
    assert 40 < n_tied < 150


def test_shift_of_the_middle_is_told_in_either_order() -> None:
    scores = score_pairs({"A": vgg(), "B": vgg(up_s=0.1)}, capacity_bps=CAPACITY_BPS)
    # B fits from where A ends at 114 ms to where it must end itself, 100 ms before 255 ms.
    assert scores.between("A", "B").shift_s == pytest.approx(0.1345)
    assert scores.between("B", "A").shift_s == pytest.approx(-0.1345)


def test_job_without_a_period_counts_at_its_mean_rate_and_shifts_nobody() -> None:
    serving = replace(vgg(), status="aperiodic", period_s=None, phases=(), mean_bps=40e6)
    scores = score_pairs({"A": vgg(), "serving": serving}, capacity_bps=CAPACITY_BPS)
    told = scores.between("A", "serving")
    assert told.score_best == told.score_random == pytest.approx(1 - 0.1 * 114 / 255)
    assert told.shift_s == 0


def test_periods_a_million_apart_are_exact() -> None:
    jobs = {"fast": vgg(period_s=1e-4, up_s=5e-5), "slow": vgg(period_s=100.0, up_s=40.0)}
    told = score_pairs(jobs, capacity_bps=CAPACITY_BPS).between("fast", "slow")
    assert told.score_best == pytest.approx(1 - 0.5 * 0.4, abs=EXACT)


def test_fewer_than_two_jobs_have_no_pairs() -> None:
    assert len(score_pairs({}, capacity_bps=1.0)) == 0
    assert score_pairs({"A": vgg()}, capacity_bps=1.0).to_rows() == []


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(UsageError, match="capacity_bps 0"):
        score_pairs({"A": vgg()}, capacity_bps=0)
    with pytest.raises(UsageError, match=r"job slow: period 2e\+06 s: must be at most 1e6 s"):
        score_pairs({"slow": vgg(period_s=2e6)}, capacity_bps=1.0)
    scores = score_pairs({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS)
    with pytest.raises(UsageError, match="no job 'C'; the jobs are A, B"):
        scores.between("A", "C")
    with pytest.raises(UsageError, match="'A' twice"):
        scores.between("A", "A")


def test_scores_come_as_rows_tables_documents_and_a_heat_map() -> None:
    scores = score_pairs({"A": vgg(), "B": vgg(), "C": vgg(rate_bps=100e6)}, capacity_bps=CAPACITY_BPS)
    rows = scores.to_rows()
    assert [(row["job"], row["other"]) for row in rows] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert rows[0]["score_best"] == 1
    assert scores.to_arrow().num_rows == len(scores.to_pandas()) == 3
    document = json.loads(json.dumps(scores.to_dict()))
    assert (document["kind"], document["jobs"], document["second"]) == ("pairs", ["A", "B", "C"], [1, 2, 2])
    assert len(scores.plot().data.values) == 3
    assert repr(scores) == "PairScores(3 jobs, 3 pairs)"
    assert scores._repr_html_().count("<tr>") >= 3
    with pytest.raises(ValueError, match="read-only"):
        scores.score_best[0] = 0
