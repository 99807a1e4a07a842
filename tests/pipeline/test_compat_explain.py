"""`explain`: which bursts overlap, counted tick by tick, and summed up to the scores."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline
from pipeline.compat import Compatibility, explain, solve
from pipeline.compat.demand import demand_of
from pipeline.compat.explanation.bursts import Part, part_of
from pipeline.compat.explanation.causes import causes_of
from pipeline.compat.explanation.occupancy import Occupancy, together
from profiler.errors import UsageError
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, measured, profile_from, ticked_jobs, vgg

if TYPE_CHECKING:
    from pipeline.compat.explanation import Explanation, Side
    from tests.reference import TickedJob

SEEN_NS = 1_800_000_000_000_000_000
PERIODS = st.sampled_from([4, 6, 9, 12])


def part(profile: TrafficProfile, *, name: str = "A", shift_ns: int = 0) -> Part:
    return part_of(profile, demand_of(profile), job=name, shift_ns=shift_ns)


def shares(found: Occupancy) -> dict[tuple[int, ...], float]:
    rows = zip(map(tuple, found.numbers.tolist()), found.share.tolist(), strict=True)
    return {numbers: share for numbers, share in rows if share > 1e-12}


def counted(parts: list[Part], *, length_ns: int) -> dict[tuple[int, ...], float]:
    """Which bursts are on at each tick of a millisecond, one after the other."""
    ticks = Counter(
        tuple(
            int(p.number[np.flatnonzero(p.demand.edges_ns <= (t - p.shift_ns) % p.demand.period_ns)[-1]])
            if (p.demand.edges_ns <= (t - p.shift_ns) % p.demand.period_ns).any()
            else int(p.number[-1])
            for p in parts
        )
        for t in range(0, length_ns, 1_000_000)
    )
    return {numbers: n * 1_000_000 / length_ns for numbers, n in ticks.items()}


def score_of(side: Side, *, capacity_bps: float) -> float:
    return 1 - side.excess_bytes * 8 / side.beat_s / capacity_bps


def sums(told: Explanation) -> tuple[float, float]:
    rows = told.to_rows()
    return sum(row["before_bytes"] for row in rows), sum(row["after_bytes"] for row in rows)


# What is told


def test_two_bursts_overlap_by_chance_and_not_at_their_shifts() -> None:
    told = explain({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS)
    (overlap,) = told.overlaps
    assert overlap.label == "A up 1 + B up 1"
    assert overlap.before_s == pytest.approx(0.114**2 / 0.255)
    assert overlap.before_bytes == pytest.approx(0.114**2 / 0.255 * 400e6 / 8)
    assert (overlap.after_s, overlap.after_bytes) == (0, 0)
    assert (told.before.what, told.after.what) == ("by chance", "at the best shifts")
    assert told.before.score == pytest.approx(1 - (0.114 / 0.255) ** 2)


def test_each_phase_is_told_apart_with_its_time_and_rate() -> None:
    # B sends 30 ms at half the rate in A's burst at every shift: A's 114 and B's 144 ms leave no room for the rest.
    two = TrafficProfile.from_phases(period_s=0.255, phases=[(0.02, 0.114, 400e6), (0.17, 0.03, 200e6)])
    told = explain({"A": vgg(), "B": two}, capacity_bps=CAPACITY_BPS)
    left = {overlap.label: overlap.after_bytes for overlap in told.overlaps}
    assert left == pytest.approx({"A up 1 + B up 1": 0, "A up 1 + B up 2": 0.03 * 200e6 / 8})
    burst = told.overlaps[1].bursts[1]
    assert (burst.number, burst.start_s, burst.rate_bps) == (2, 0.17, 200e6)
    assert burst.width_s == pytest.approx(0.03)


def test_before_is_what_clocks_tell_where_they_do() -> None:
    jobs = {
        "A": measured(vgg(), error_s=1e-6, jitter_frac=0.001, anchor_ns=SEEN_NS),
        "B": measured(vgg(), error_s=1e-6, jitter_frac=0.001, anchor_ns=SEEN_NS + 64_000_000),
    }
    told = explain(jobs, capacity_bps=CAPACITY_BPS)
    assert told.before.what == "as observed"
    assert told.overlaps[0].before_s == pytest.approx(0.050, rel=1e-3)


def test_paced_jobs_are_explained_as_they_are_held() -> None:
    job = measured(vgg(), error_s=2e-4, jitter_frac=0.04)
    answer = solve({"A": job, "B": job}, capacity_bps=CAPACITY_BPS)
    told = answer.explain()
    assert answer.verdict == "paced"
    assert told.after.what == "held to slots"
    assert told.after.score == answer.score_paced
    assert told.after.beat_s == answer.shifts[0].pace_period_s


def test_other_traffic_has_its_part_in_every_overlap_and_one_alone() -> None:
    store = TrafficProfile(
        status="aperiodic", mean_bps=250e6, peak_bps=500e6, levels_bps=(0.0, 500e6), fold_bps=np.zeros(0)
    )
    told = explain({"A": vgg(), "store": store}, capacity_bps=CAPACITY_BPS)
    over_s = {overlap.label: overlap.before_s for overlap in told.overlaps}
    over_bytes = {overlap.label: overlap.before_bytes for overlap in told.overlaps}
    assert told.has_background
    assert over_s == pytest.approx({"A up 1": 0.057, "other traffic": 0.0705})
    assert over_bytes == pytest.approx({"A up 1": 0.057 * 500e6 / 8, "other traffic": 0.0705 * 100e6 / 8})


def test_traffic_without_any_period_is_told_of_by_the_second() -> None:
    store = TrafficProfile(status="constant", mean_bps=500e6, peak_bps=500e6, fold_bps=np.zeros(0))
    told = explain({"store": store}, capacity_bps=CAPACITY_BPS)
    assert told.before.beat_s == 1
    assert told.overlaps[0].before_bytes == pytest.approx(100e6 / 8)


def test_jobs_that_fit_have_nothing_to_explain() -> None:
    told = explain({"A": vgg(rate_bps=1e8), "B": vgg(rate_bps=1e8)}, capacity_bps=CAPACITY_BPS)
    assert told.overlaps == ()
    assert told.before.excess_bytes == 0
    assert told.to_rows() == []


def test_answer_made_by_hand_cannot_be_explained() -> None:
    answer = Compatibility(
        capacity_bps=1e9, verdict="futile", jobs=("A",), shifts=(), score_best=None, score_random=None
    )
    with pytest.raises(UsageError, match="made without the jobs' profiles"):
        answer.explain()


def test_explanation_of_the_package_is_a_document_with_rows_and_a_chart() -> None:
    told = pipeline.explain({"A": vgg(), "B": vgg()}, capacity_bps=CAPACITY_BPS, link="trunk")
    document = told.to_dict()
    assert (document["kind"], document["version"], document["link"]) == ("explanation", 1, "trunk")
    assert [burst["job"] for burst in document["overlaps"][0]["bursts"]] == ["A", "B"]
    assert told.to_pandas()["overlap"].tolist() == ["A up 1 + B up 1"]
    assert told.plot().to_dict()["title"] == "trunk: bytes over capacity an iteration"


# Counted tick by tick, and summed


@settings(max_examples=60)
@given(st.tuples(*[ticked_jobs(periods=PERIODS)] * 2), st.integers(0, 11))
def test_time_of_two_jobs_is_what_ticks_count(jobs: tuple[TickedJob, TickedJob], shift: int) -> None:
    profiles = [profile_from(job) for job in jobs if any(job.rates)]
    parts = [part(profile, shift_ns=i * shift * 1_000_000) for i, profile in enumerate(profiles)]
    if len(parts) == 2:
        length_ns = math.lcm(*(p.demand.period_ns for p in parts))
        assert shares(together(parts, length_ns=None)) == pytest.approx(counted(parts, length_ns=length_ns))


@settings(max_examples=30)
@given(st.tuples(*[ticked_jobs(periods=PERIODS)] * 3), st.integers(0, 11), st.sampled_from([None, 7, 25, 100]))
def test_time_of_three_jobs_is_what_ticks_count(jobs: tuple[TickedJob, ...], shift: int, window: int | None) -> None:
    profiles = [profile_from(job) for job in jobs if any(job.rates)]
    parts = [part(profile, shift_ns=i * shift * 1_000_000) for i, profile in enumerate(profiles)]
    if len(parts) == 3:
        length_ns = math.lcm(*(p.demand.period_ns for p in parts)) if window is None else window * 1_000_000
        found = together(parts, length_ns=None if window is None else length_ns)
        assert shares(found) == pytest.approx(counted(parts, length_ns=length_ns))


@settings(max_examples=25)
@given(st.lists(ticked_jobs(periods=PERIODS), min_size=1, max_size=3), st.integers(1, 20))
def test_overlaps_add_up_to_the_scores(jobs: list[TickedJob], capacity: int) -> None:
    profiles = {f"job {i}": profile_from(job) for i, job in enumerate(jobs) if any(job.rates)}
    if not profiles:
        return
    answer = solve(profiles, capacity_bps=capacity)
    told = answer.explain()
    assert score_of(told.before, capacity_bps=capacity) == pytest.approx(answer.score_random, abs=1e-9)
    advised = answer.score_paced if answer.verdict == "paced" else answer.score_best
    assert score_of(told.after, capacity_bps=capacity) == pytest.approx(advised, abs=1e-9)
    assert sums(told) == pytest.approx((told.before.excess_bytes, told.after.excess_bytes))


def test_overlaps_over_a_horizon_add_up_to_its_score() -> None:
    jobs = {"A": vgg(period_s=0.25513), "B": vgg(period_s=0.2614), "C": vgg(period_s=0.1902, up_s=0.03)}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS, horizon_s=10.0)
    told = answer.explain()
    assert score_of(told.after, capacity_bps=CAPACITY_BPS) == pytest.approx(answer.score_best, abs=1e-9)
    assert score_of(told.before, capacity_bps=CAPACITY_BPS) == pytest.approx(answer.score_random, abs=1e-9)


def test_horizon_of_many_circles_and_a_rest_is_told_by_both() -> None:
    jobs = {"A": vgg(period_s=0.3), "B": vgg(period_s=0.2, up_s=0.1)}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS, horizon_s=1e5 + 0.25)
    told = answer.explain()
    assert score_of(told.after, capacity_bps=CAPACITY_BPS) == pytest.approx(answer.score_best, abs=1e-12)


def test_overlap_of_strangers_is_the_product_of_their_shares() -> None:
    # Their common circle has 10^9 iterations: it cannot be laid out, and need not be.
    first, second = vgg(period_s=0.255130007), vgg(period_s=0.261400011)
    found = shares(together([part(first), part(second, name="B")], length_ns=None))
    on = [0.114 / 0.255130007, 0.114 / 0.261400011]
    for bits in product((0, 1), repeat=2):
        expected = math.prod(p if bit else 1 - p for p, bit in zip(on, bits, strict=True))
        assert found[bits] == pytest.approx(expected, rel=1e-7)


def test_hundreds_of_jobs_are_told_of_by_those_that_vary_most_and_nothing_is_lost() -> None:
    jobs = {f"job {i:03}": vgg(rate_bps=8e6 + i * 1e4, up_s=0.1) for i in range(100)}
    answer = solve(jobs, capacity_bps=CAPACITY_BPS, budget_s=1.0)
    scenes = answer.scenes
    assert scenes is not None
    assert len(causes_of(scenes.before)) <= 4096
    told = answer.explain()
    assert len(told.overlaps) == 20
    assert told.rest is not None
    assert sums(told) == pytest.approx((told.before.excess_bytes, told.after.excess_bytes))
    assert score_of(told.before, capacity_bps=CAPACITY_BPS) == pytest.approx(answer.score_random, abs=1e-4)
    assert score_of(told.after, capacity_bps=CAPACITY_BPS) == pytest.approx(answer.score_best, abs=1e-9)
