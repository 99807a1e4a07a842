"""Two jobs on one counter: each one's own traffic, demand and phases."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler import RateSeries, TrafficProfile
from profiler.phases import extract_phases, up_mask
from profiler.phases.separation import Beat, separate
from profiler.synth import PERIODIC, Burst, Labelled, training_job
from tests.profiler.estimates import true_estimate

if TYPE_CHECKING:
    from profiler.period import PeriodEstimate

PERIODS_S = (1.0, 0.73)
RATES_BPS = (400e6, 250e6)
WIDTHS_FRAC = (0.35, 0.3)


def _pair(*, jitter_frac: float = 0.0) -> tuple[list[Labelled], RateSeries]:
    """Return two jobs, each alone, and the series of both on one counter."""
    rng = np.random.default_rng(1)
    jobs = [
        training_job(
            rng,
            period_s=period_s,
            bursts=[Burst(0.3, width_frac, rate_bps)],
            duration_s=80.0,
            dt_s=0.01,
            jitter_frac=jitter_frac,
        )
        for period_s, rate_bps, width_frac in zip(PERIODS_S, RATES_BPS, WIDTHS_FRAC, strict=True)
    ]
    both = RateSeries.from_deltas(jobs[0].series.edges_ns, sum(job.series.delta_bytes for job in jobs))
    return jobs, both


def _beats(jobs: list[Labelled]) -> list[Beat]:
    return [Beat(starts_s=job.up_s[:, 0], period_s=period_s) for job, period_s in zip(jobs, PERIODS_S, strict=True)]


def _fold(series: RateSeries, period_s: float, *, n_bins: int = 50) -> NDArray[np.float64]:
    middles_s = (0.5 * (series.edges_ns[1:] + series.edges_ns[:-1]) - series.edges_ns[0]) / 1e9
    place = (middles_s % period_s / period_s * n_bins).astype(np.int64)
    return np.bincount(place, weights=series.rate_bps) / np.bincount(place)


@pytest.mark.parametrize("jitter_frac", [0.0, 0.01])
def test_each_part_is_the_job_as_it_is_alone(jitter_frac: float) -> None:
    jobs, both = _pair(jitter_frac=jitter_frac)
    for part, job, rate_bps in zip(separate(both, _beats(jobs)), jobs, RATES_BPS, strict=True):
        assert np.abs(part.rate_bps - job.series.rate_bps).mean() < 0.03 * rate_bps
        assert part.mean_bps == pytest.approx(job.series.mean_bps, rel=0.05)


def test_each_fold_is_the_true_demand_within_a_few_per_cent() -> None:
    jobs, both = _pair()
    for part, job, period_s, rate_bps in zip(separate(both, _beats(jobs)), jobs, PERIODS_S, RATES_BPS, strict=True):
        assert np.abs(_fold(part, period_s) - _fold(job.series, period_s)).max() < 0.04 * rate_bps


def test_what_always_flows_is_left_to_the_first_job() -> None:
    jobs, both = _pair()
    background = RateSeries.from_deltas(both.edges_ns, both.delta_bytes + 100e6 * 0.01 / 8)
    first, second = separate(background, _beats(jobs))
    assert first.mean_bps == pytest.approx(jobs[0].series.mean_bps + 100e6, rel=0.03)
    assert second.mean_bps == pytest.approx(jobs[1].series.mean_bps, rel=0.05)


def test_one_job_alone_is_left_as_it_is() -> None:
    (job, _), _ = _pair()
    (part,) = separate(job.series, [Beat(starts_s=job.up_s[:, 0], period_s=1.0)])
    assert part.delta_bytes == pytest.approx(job.series.delta_bytes, rel=1e-12)


def test_each_job_has_a_profile_of_its_own_bursts() -> None:
    jobs, both = _pair(jitter_frac=0.01)
    estimates = [true_estimate(job, stray_frac=0.03) for job in jobs]
    found = extract_phases(both, _with_other(estimates))
    assert found.other_periods_s == (found.others[0].period_s,)
    for one, width_frac, rate_bps in zip((found, *found.others), WIDTHS_FRAC, RATES_BPS, strict=True):
        (up,) = (phase for phase in one.phases if phase.kind == "up")
        assert one.period_s is not None
        assert up.width_s == pytest.approx(width_frac * one.period_s, rel=0.05)
        assert up.rate_bps == pytest.approx(rate_bps, rel=0.05)


def _with_other(estimates: list[PeriodEstimate]) -> PeriodEstimate:
    return replace(estimates[0], others=(estimates[1],))


def test_the_profiles_of_all_jobs_survive_json() -> None:
    jobs, both = _pair()
    found = extract_phases(both, _with_other([true_estimate(job) for job in jobs]))
    again = TrafficProfile.from_dict(found.to_dict())
    assert again.to_dict() == found.to_dict()
    assert again.others[0].period_s == found.others[0].period_s


def test_generated_pairs_are_parted_within_5_per_cent() -> None:
    ratios, overlaps = [], []
    for seed in range(5):
        made = PERIODIC["two_jobs"](np.random.default_rng(seed))
        found = extract_phases(made.series, true_estimate(made, stray_frac=0.01))
        overlaps.append(_overlap(up_mask(made.series, found), made.up_mask()))
        for one, up_s in zip((found, *found.others), made.up_by_job_s, strict=True):
            true_s = (up_s[:, 1] - up_s[:, 0]).sum() / made.series.duration_s
            ratios.append(one.up_s / (one.period_s or 1.0) / true_s)
    assert np.mean(np.abs(np.array(ratios) - 1) < 0.05) >= 0.9
    assert np.mean(overlaps) > 0.93


@given(
    ratios=st.lists(st.floats(0.3, 3.0), min_size=1, max_size=3),
    nudges=st.lists(st.floats(-0.03, 0.03), min_size=1, max_size=3),
)
@example(ratios=[2.9375], nudges=[-0.0234375])
@settings(max_examples=25, deadline=None)
def test_no_two_jobs_of_a_profile_have_the_same_period(ratios: list[float], nudges: list[float]) -> None:
    jobs, both = _pair()
    first = true_estimate(jobs[0])
    others = tuple(
        replace(first, period_s=period_s, starts_s=np.arange(0.1, 79.0, period_s))
        for period_s in (ratio * (1 + nudge) for ratio in (1.0, *ratios) for nudge in (0.0, *nudges))
    )
    found = extract_phases(both, replace(first, others=others))
    periods_s = [found.period_s or 0.0, *found.other_periods_s]
    assert all(abs(a - b) > 0.019 * max(a, b) for a, b in itertools.combinations(periods_s, 2))


def test_an_other_of_the_first_jobs_period_leaves_it_all_its_traffic() -> None:
    (job, _), _ = _pair(jitter_frac=0.01)
    first = true_estimate(job)
    found = extract_phases(job.series, replace(first, others=(replace(first, period_s=1.007),)))
    assert found.to_dict() == extract_phases(job.series, first).to_dict()


def _overlap(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(found & truth) / np.count_nonzero(found | truth))
