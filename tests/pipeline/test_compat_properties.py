"""What holds of every link, whatever its jobs: looked at on drawn ones, by a judge that shares nothing with ours.

Times are whole milliseconds and rates whole Mbit/s, as in the bench: some best shifts then lie on whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.compat import solve
from profiler.phases import TrafficProfile
from tests.bench.compatibility.cases import Case, Job
from tests.bench.compatibility.exact import NS_PER_MS, exact_score
from tests.bench.compatibility.ours import ours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat import Compatibility

CAPACITY_MBPS: Final = 10_000
ROUNDING: Final = 1e-11
SCORES: Final = (
    "score_now",
    "score_best",
    "score_random",
    "score_cassini",
    "score_paced",
    "score_robust",
    "score_worst",
    "gap",
)


@st.composite
def jobs(draw: st.DrawFn, *, period_ms: int) -> Job:
    """One to three Ups; at least one of them sends."""
    edges_ms = sorted(draw(st.lists(st.integers(0, period_ms - 1), min_size=2, max_size=6, unique=True)))
    rates = st.integers(0, CAPACITY_MBPS)
    rates_mbps = [draw(rates) for _ in edges_ms[1:]]
    return Job(period_ms=period_ms, edges_ms=tuple(edges_ms), rates_mbps=(draw(rates.filter(bool)), *rates_mbps))


EQUAL: Final = st.integers(20, 200).map(lambda period_ms: [period_ms] * 6)
HARMONIC: Final = st.tuples(st.integers(10, 40), st.lists(st.sampled_from((1, 2, 3, 4)), min_size=6, max_size=6)).map(
    lambda drawn: [drawn[0] * times for times in drawn[1]]
)
UNEQUAL: Final = st.lists(st.integers(60, 140), min_size=6, max_size=6, unique=True)
PERIODS: Final = {"equal": EQUAL, "harmonic": HARMONIC, "unequal": UNEQUAL}


@st.composite
def links(draw: st.DrawFn, *, periods: str, n_jobs: Sequence[int], horizon_ms: int | None = None) -> Case:
    """A link of some jobs, that are judged for ever or over a horizon."""
    periods_ms = draw(PERIODS[periods])[: draw(st.sampled_from(n_jobs))]
    drawn = tuple(draw(jobs(period_ms=period_ms)) for period_ms in periods_ms)
    return Case(family=periods, seed=0, jobs=drawn, horizon_ms=horizon_ms, capacity_mbps=CAPACITY_MBPS)


ANY_LINK: Final = st.one_of(*(links(periods=periods, n_jobs=(2, 3, 4)) for periods in PERIODS))


def profile_of(job: Job) -> TrafficProfile:
    widths_ms = np.diff(job.edges_ms, append=job.edges_ms[0] + job.period_ms).tolist()
    phases = [
        (edge_ms * 1e-3, width_ms * 1e-3, rate_mbps * 1e6)
        for edge_ms, width_ms, rate_mbps in zip(job.edges_ms, widths_ms, job.rates_mbps, strict=True)
    ]
    return TrafficProfile.from_phases(period_s=job.period_ms * 1e-3, phases=phases)


def answer_to(case: Case, *, factor: float = 1.0, budget_s: float | None = None) -> Compatibility:
    """Our answer, all rates and the capacity being multiplied by a factor."""
    profiles = {f"job{i}": scaled(profile_of(job), factor) for i, job in enumerate(case.jobs)}
    return solve(profiles, capacity_bps=case.capacity_mbps * 1e6 * factor, budget_s=budget_s)


def scaled(profile: TrafficProfile, factor: float) -> TrafficProfile:
    return replace(profile, phases=tuple(replace(phase, rate_bps=phase.rate_bps * factor) for phase in profile.phases))


def turned(job: Job, by_ms: int) -> Job:
    """The same job, its time zero being that much later."""
    edges_ms = np.array(job.edges_ms) - by_ms
    order = np.argsort(edges_ms % job.period_ms)
    return Job(
        period_ms=job.period_ms,
        edges_ms=tuple((edges_ms % job.period_ms)[order].tolist()),
        rates_mbps=tuple(np.array(job.rates_mbps)[order].tolist()),
    )


def split(job: Job, at_ms: int) -> Job:
    """The same job with one more edge, at which nothing changes."""
    if at_ms in job.edges_ms:
        return job
    rates_mbps = dict(zip(job.edges_ms, job.rates_mbps, strict=True)) | {at_ms: job.rate_at(at_ms)}
    return Job(
        period_ms=job.period_ms,
        edges_ms=tuple(sorted(rates_mbps)),
        rates_mbps=tuple(rates_mbps[edge_ms] for edge_ms in sorted(rates_mbps)),
    )


def said(answer: Compatibility) -> tuple[float, float, float]:
    """Best score, gap and chance, where there are."""
    assert answer.score_best is not None
    assert answer.gap is not None
    assert answer.score_random is not None
    return answer.score_best, answer.gap, answer.score_random


def scores(answer: Compatibility) -> Mapping[str, float | None]:
    return {name: getattr(answer, name) for name in SCORES}


def same_best(one: Compatibility, other: Compatibility) -> None:
    """Chance is the same, and so is the best as far as it is known."""
    (best, gap, chance), (other_best, other_gap, other_chance) = said(one), said(other)
    assert chance == pytest.approx(other_chance, abs=ROUNDING)
    assert best == pytest.approx(other_best, abs=max(gap, other_gap) + ROUNDING)


def descended(case: Case, rng: np.random.Generator) -> tuple[int, ...]:
    """Shifts in ms from which no move of one job to another whole ms gains: brute force, and hard to beat."""
    patterns = [np.array([job.rate_at(t) for t in range(job.period_ms)]) for job in case.jobs]
    t_ms = np.arange(case.span_ms)
    at = [pattern[(t_ms - np.arange(pattern.size)[:, None]) % pattern.size] for pattern in patterns]
    shifts_ms = [int(rng.integers(pattern.size)) for pattern in patterns]
    total: NDArray[np.int64] = np.sum([one[shift_ms] for one, shift_ms in zip(at, shifts_ms, strict=True)], axis=0)
    for i in np.tile(np.arange(len(at)), 3).tolist():
        others = total - at[i][shifts_ms[i]]
        shifts_ms[i] = int(np.maximum(0, others + at[i] - case.capacity_mbps).sum(axis=1).argmin())
        total = others + at[i][shifts_ms[i]]
    return tuple(shifts_ms)


def score_at(case: Case, shifts_ms: Sequence[int]) -> float:
    return float(exact_score(case, [shift_ms * NS_PER_MS for shift_ms in shifts_ms]))


@settings(max_examples=8)
@given(ANY_LINK, st.data())
def test_scores_do_not_know_the_order_of_jobs(case: Case, data: st.DataObject) -> None:
    order = data.draw(st.permutations(case.jobs))
    same_best(answer_to(case), answer_to(replace(case, jobs=tuple(order))))


@settings(max_examples=8)
@given(ANY_LINK, st.integers(1, 200))
def test_scores_do_not_know_when_the_clock_was_started(case: Case, by_ms: int) -> None:
    same_best(answer_to(case), answer_to(replace(case, jobs=tuple(turned(job, by_ms) for job in case.jobs))))


@settings(max_examples=8)
@given(ANY_LINK, st.sampled_from((1e-6, 1 / 3, 8.0, 1e3)))
def test_all_rates_and_the_capacity_times_the_same_leave_every_score_as_it_is(case: Case, factor: float) -> None:
    one, other = scores(answer_to(case)), scores(answer_to(case, factor=factor))
    assert one == pytest.approx(other, abs=1e-9)


@settings(max_examples=8)
@given(ANY_LINK, st.data())
def test_a_phase_split_in_two_leaves_every_score_as_it_is(case: Case, data: st.DataObject) -> None:
    halves = [split(job, data.draw(st.integers(0, job.period_ms - 1))) for job in case.jobs]
    assert scores(answer_to(case)) == pytest.approx(scores(answer_to(replace(case, jobs=tuple(halves)))), abs=1e-12)


@settings(max_examples=10)
@given(ANY_LINK)
def test_a_plan_is_never_worse_than_no_plan(case: Case) -> None:
    best, gap, chance = said(answer_to(case))
    assert best >= chance - ROUNDING
    unknown = gap if case.family == "unequal" else 0.0
    assert best >= score_at(case, [0] * len(case.jobs)) - unknown - ROUNDING


@pytest.mark.parametrize(("periods", "horizon_ms"), [("equal", None), ("harmonic", None), ("unequal", 1200)])
def test_no_shifts_reach_more_than_the_gap_allows(periods: str, horizon_ms: int | None) -> None:
    @settings(max_examples=25)
    @given(links(periods=periods, n_jobs=(2, 3, 4, 5, 6), horizon_ms=horizon_ms), st.integers(0, 2**32 - 1))
    def holds(case: Case, seed: int) -> None:
        rng = np.random.default_rng(seed)
        answer = ours(case)
        assert answer.gap is not None
        assert answer.gap >= 0
        assert answer.score == pytest.approx(float(exact_score(case, answer.shifts_ns)), abs=ROUNDING)
        for _ in range(4):
            assert score_at(case, descended(case, rng)) <= answer.score + answer.gap + ROUNDING

    holds()


@settings(max_examples=10)
@given(st.one_of(*(links(periods=periods, n_jobs=(3, 6)) for periods in PERIODS)), st.sampled_from((1e-9, 1e-3)))
def test_an_answer_in_no_time_still_says_how_much_better_others_may_be(case: Case, budget_s: float) -> None:
    best, gap, chance = said(answer_to(case, budget_s=budget_s))
    full = ours(case)
    assert full.gap is not None
    assert gap >= 0
    assert best >= chance - ROUNDING
    assert full.score <= best + gap + ROUNDING
    assert best <= full.score + full.gap + ROUNDING
