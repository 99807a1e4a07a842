"""Which windows of a series are Up, against the truth of every family of traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import RateSeries, TrafficProfile
from profiler.period import PeriodEstimate
from profiler.phases import extract_phases, up_mask
from profiler.synth import PERIODIC, Burst, Labelled, training_job, with_noise
from tests.profiler.estimates import true_estimate

N_TRACES = 3
STRAY_FRAC = 0.005
HARD = {"coarse": 0.8, "nested": 0.65, "noise_floor": 0.75, "refreshed": 0.1, "two_jobs": 0.8}
"""Families of which single traces may fall short, and how far: windows longer than gaps or bursts, or noise."""


def _overlap(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    return float(np.count_nonzero(found & truth) / np.count_nonzero(found | truth))


def _traces(family: str) -> list[Labelled]:
    return [PERIODIC[family](np.random.default_rng([i, len(family)])) for i in range(N_TRACES)]


def test_up_masks_of_all_families_overlap_with_the_truth() -> None:
    overlaps = {
        family: [
            _overlap(
                up_mask(made.series, extract_phases(made.series, true_estimate(made, stray_frac=STRAY_FRAC))),
                made.up_mask(),
            )
            for made in _traces(family)
        ]
        for family in PERIODIC
    }
    assert np.mean([np.mean(of_family) for of_family in overlaps.values()]) >= 0.93
    short = {family: of_family for family, of_family in overlaps.items() if min(of_family) < HARD.get(family, 0.9)}
    assert not short


@pytest.mark.parametrize(("n_bursts", "samples_per_period"), [(1, 4.7), (1, 23.1), (1, 150.0), (3, 23.1), (3, 150.0)])
def test_phases_repeated_from_the_anchor_are_the_mask_of_a_job_without_jitter(
    n_bursts: int, samples_per_period: float
) -> None:
    bursts = [Burst(0.1 + 0.3 * i, 0.4 / n_bursts, 1e9) for i in range(n_bursts)]
    job = training_job(
        np.random.default_rng(4),
        period_s=1.0,
        bursts=bursts,
        duration_s=2000 / samples_per_period,
        dt_s=1 / samples_per_period,
    )
    found = extract_phases(job.series, true_estimate(job))
    assert _overlap(_repeated(job.series, found), job.up_mask()) >= 0.93
    assert _overlap(up_mask(job.series, found), job.up_mask()) >= 0.95


def _repeated(series: RateSeries, profile: TrafficProfile) -> NDArray[np.bool_]:
    """Return which windows have their middle in a phase of the profile, repeated from its anchor on and back."""
    assert profile.anchor_ns is not None
    assert profile.period_s is not None
    middles_s = (0.5 * (series.edges_ns[1:] + series.edges_ns[:-1]) - profile.anchor_ns) / 1e9
    place_s = middles_s % profile.period_s
    ups = [phase for phase in profile.phases if phase.kind == "up"]
    return np.asarray(np.any([(place_s >= up.start_s) & (place_s < up.start_s + up.width_s) for up in ups], axis=0))


def test_a_checkpoint_is_not_up() -> None:
    job = training_job(np.random.default_rng(5), period_s=0.5, duration_s=30.0, dt_s=0.005, jitter_frac=0.005)
    deltas = job.series.delta_bytes.copy()
    after = int(job.up_s[20, 1] / 0.005) + 1
    deltas[after : after + 30] += 4e8 * 0.005 / 8
    series = RateSeries.from_deltas(job.series.edges_ns, deltas)
    mask = up_mask(series, extract_phases(series, true_estimate(job)))
    assert not mask[after + 2 : after + 28].any()
    assert _overlap(mask, job.up_mask()) > 0.98


@pytest.mark.parametrize(("noise_frac", "least"), [(0.5, 0.97), (1.0, 0.95), (2.0, 0.9)])
def test_bursts_lost_in_noise_are_placed_where_all_iterations_have_them(noise_frac: float, least: float) -> None:
    rng = np.random.default_rng(9)
    job = training_job(rng, period_s=1.0, bursts=[Burst(0.3, 0.3, 1e9)], duration_s=150.0, dt_s=0.02)
    noisy = with_noise(rng, job, noise_bps=noise_frac * 1e9)
    found = extract_phases(noisy.series, true_estimate(job, stray_frac=0.02))
    assert _overlap(up_mask(noisy.series, found), job.up_mask()) > least
    (up,) = (phase for phase in found.phases if phase.kind == "up")
    assert up.width_s == pytest.approx(0.3, rel=0.1)


@pytest.mark.parametrize("seed", range(6))
def test_fine_bursts_of_few_iterations_are_found_wherever_jitter_puts_them(seed: int) -> None:
    fine = [Burst(0.3 + 0.06 * i, 0.04, 1e9) for i in range(9)]
    job = training_job(
        np.random.default_rng(seed), period_s=1.0, bursts=fine, duration_s=14.0, dt_s=1 / 283, jitter_frac=0.02
    )
    assert _overlap(up_mask(job.series, extract_phases(job.series, true_estimate(job))), job.up_mask()) > 0.96


def test_a_profile_masks_another_stretch_of_its_counter() -> None:
    job = training_job(np.random.default_rng(6), period_s=0.5, duration_s=60.0, dt_s=0.005, jitter_frac=0.03)
    half = job.series.n_samples // 2
    early, late = job.series.between(0, half), job.series.between(half, job.series.n_samples)
    estimate = true_estimate(job)
    found = extract_phases(early, replace(estimate, starts_s=estimate.starts_s[estimate.starts_s < early.duration_s]))
    assert _overlap(up_mask(late, found), job.up_mask()[half:]) > 0.97


def test_an_iteration_without_its_burst_is_down() -> None:
    job = training_job(np.random.default_rng(7), period_s=0.5, duration_s=30.0, dt_s=0.005)
    deltas = job.series.delta_bytes.copy()
    begins, ends = (int(edge_s / 0.005) for edge_s in job.up_s[30])
    deltas[begins : ends + 1] = 0.0
    series = RateSeries.from_deltas(job.series.edges_ns, deltas)
    mask = up_mask(series, extract_phases(series, true_estimate(job)))
    assert not mask[begins : ends + 1].any()


def test_nothing_is_up_without_a_period_and_all_is_without_a_down_phase() -> None:
    rng = np.random.default_rng(8)
    series = RateSeries.from_deltas(np.arange(2001) * 10_000_000, rng.normal(1e6, 2e5, 2000).clip(0))
    made = PeriodEstimate(
        status="periodic", reason="made", period_s=1.0, starts_s=np.arange(20, dtype=np.float64), method="made"
    )
    assert up_mask(series, extract_phases(series, made)).all()
    silent = PeriodEstimate(status="aperiodic", reason="nothing repeats", starts_s=np.zeros(0))
    assert not up_mask(series, extract_phases(series, silent)).any()
    assert up_mask(series.between(0, 0), extract_phases(series, made)).shape == (0,)
