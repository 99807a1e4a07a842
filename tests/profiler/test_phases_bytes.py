"""Phases must add up: traffic of a generator of the tests' own, its duty, peak, bytes and quartiles from arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import Phase, RateSeries, TrafficProfile
from profiler.period import PeriodEstimate
from profiler.phases import extract_phases
from profiler.phases.cautions import bounded_confidence, cautions

RATES_BPS = (5e9, 10e9, 20e9)
N_CYCLES = 60
LEAST_WINDOWS = 4.0
N_JOBS = 150


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Made:
    """A job by hand: bursts of (start, width, rate), its starts, and the bytes of every window by exact integrals."""

    period_s: float
    bursts: tuple[tuple[float, float, float], ...]
    starts_s: NDArray[np.float64]
    series: RateSeries

    @property
    def duty_frac(self) -> float:
        return sum(width_s for _, width_s, _ in self.bursts) / self.period_s

    @property
    def peak_bps(self) -> float:
        return max(rate_bps for _, _, rate_bps in self.bursts)

    @property
    def bits(self) -> float:
        return sum(width_s * rate_bps for _, width_s, rate_bps in self.bursts)

    @property
    def estimate(self) -> PeriodEstimate:
        return PeriodEstimate(
            status="periodic",
            reason="made",
            period_s=self.period_s,
            starts_s=self.starts_s,
            at_onsets=True,
            method="made",
        )


def _made(
    rng: np.random.Generator,
    bursts: list[tuple[float, float, float]],
    *,
    period_s: float,
    dt_s: float,
    jitter_frac: float = 0.0,
) -> _Made:
    lengths_s = period_s * (1 + jitter_frac * rng.standard_normal(N_CYCLES))
    starts_s = 0.37 * period_s + np.concatenate(([0.0], np.cumsum(lengths_s)[:-1]))
    edges_s = np.arange(int((starts_s[-1] + period_s) / dt_s) + 1) * dt_s
    turns_s = np.array([[begins_s, begins_s + width_s] for begins_s, width_s, _ in bursts]).ravel()
    steps_bits = np.tile([bit for _, width_s, rate_bps in bursts for bit in (0.0, width_s * rate_bps)], N_CYCLES)
    bits = np.interp(edges_s, (starts_s[:, None] + turns_s).ravel(), np.cumsum(steps_bits))
    edges_ns = 1_700_000_000_000_000_000 + np.rint(edges_s * 1e9).astype(np.int64)
    series = RateSeries.from_deltas(edges_ns, np.rint(np.diff(bits) / 8))
    return _Made(period_s=period_s, bursts=tuple(bursts), starts_s=starts_s, series=series)


def _drawn(rng: np.random.Generator) -> _Made | None:
    """Return a job of up to six bursts, or None if they are too close to be told apart."""
    period_s = rng.uniform(0.2, 3.0)
    dt_s = period_s / rng.choice([60, 120, 250, 500]) * rng.uniform(0.97, 1.03)
    bounds_s = np.sort(rng.uniform(0.0, 0.8, 2 * int(rng.integers(1, 7)))) * period_s
    if (np.diff(bounds_s) < LEAST_WINDOWS * dt_s).any():
        return None
    begins_s, widths_s = bounds_s[::2] - bounds_s[0], bounds_s[1::2] - bounds_s[::2]
    bursts = list(zip(begins_s, widths_s, rng.choice(RATES_BPS, widths_s.size), strict=True))
    jitter_frac = float(rng.choice([0.0, 0.01, 0.03]))
    return _made(rng, bursts, period_s=period_s, dt_s=dt_s, jitter_frac=jitter_frac)


def _ups(found: TrafficProfile) -> list[Phase]:
    return [phase for phase in found.phases if phase.kind == "up"]


def _adds_up(found: TrafficProfile, made: _Made) -> bool:
    assert found.period_s is not None
    assert found.duty_frac is not None
    assert found.peak_bps is not None
    assert sum(phase.width_s for phase in found.phases) == pytest.approx(found.period_s, rel=1e-9)
    for up in _ups(found):
        assert up.width_low_s is not None
        assert up.width_high_s is not None
        assert up.width_low_s <= up.width_s <= up.width_high_s <= found.period_s
    bits = sum(phase.width_s * phase.rate_bps for phase in found.phases)
    return (
        abs(found.duty_frac - made.duty_frac) <= 0.05
        and abs(found.peak_bps / made.peak_bps - 1) <= 0.1
        and abs(bits / made.bits - 1) <= 0.05
    )


def test_duty_peak_and_bytes_of_drawn_jobs_are_those_they_were_made_with() -> None:
    rng = np.random.default_rng(2024)
    jobs = [made for made in (_drawn(rng) for _ in range(4 * N_JOBS)) if made is not None][:N_JOBS]
    wrong = [made.bursts for made in jobs if not _adds_up(extract_phases(made.series, made.estimate), made)]
    assert len(jobs) == N_JOBS
    assert not wrong


@pytest.mark.parametrize(
    ("period_s", "dt_s", "bursts"),
    [
        pytest.param(2.7, 2.7 / 489, [(0.0, 0.592, 10e9), (0.689, 0.01, 20e9)], id="a short fast one after a pause"),
        pytest.param(
            1.7, 1.7 / 252, [(0.0, 0.263, 10e9), *((0.331 + 0.067 * i, 0.02, 5e9) for i in range(3))], id="three small"
        ),
        pytest.param(
            1.0, 0.005, [(0.0, 0.3, 20e9), *((0.35 + 0.05 * i, 0.02, 9e9) for i in range(10))], id="ten small"
        ),
    ],
)
@pytest.mark.parametrize("jitter_frac", [0.0, 0.01])
def test_small_bursts_do_not_swallow_the_pause_before_them(
    period_s: float, dt_s: float, bursts: list[tuple[float, float, float]], jitter_frac: float
) -> None:
    """Bursts are given as parts of the period."""
    in_seconds = [(begins * period_s, width * period_s, rate_bps) for begins, width, rate_bps in bursts]
    made = _made(np.random.default_rng(7), in_seconds, period_s=period_s, dt_s=dt_s, jitter_frac=jitter_frac)
    found = extract_phases(made.series, made.estimate)
    assert len(_ups(found)) == len(bursts)
    assert found.duty_frac == pytest.approx(made.duty_frac, abs=0.01)
    assert found.peak_bps == pytest.approx(made.peak_bps, rel=0.02)
    assert _adds_up(found, made)


def test_a_burst_too_small_for_a_phase_still_bounds_the_one_before_it() -> None:
    rng = np.random.default_rng(1)
    made = _made(rng, [(0.0, 0.6, 10e9), (0.62, 0.005, 10e9)], period_s=1.0, dt_s=0.0011, jitter_frac=0.01)
    (up,) = _ups(extract_phases(made.series, made.estimate))
    assert up.width_s == pytest.approx(0.6, abs=0.003)


@pytest.mark.parametrize(("told_frac", "confidence"), [(0.6, 0.5), (1.4, 0.5), (0.9, 0.9)])
def test_phases_that_are_not_what_iterations_move_are_said_to_be_so(told_frac: float, confidence: float) -> None:
    made = _made(np.random.default_rng(3), [(0.0, 0.1, 10e9)], period_s=1.0, dt_s=0.005)
    estimate = replace(made.estimate, confidence=0.9)
    said = cautions(made.series, estimate, duty_frac=0.1, narrowest_s=0.1, told_frac=told_frac)
    assert bounded_confidence(estimate, duty_frac=0.1, told_frac=told_frac) == confidence
    assert [text.startswith(f"phases move {100 * told_frac:.0f} % of") for text in said] == [True] * (confidence < 0.9)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_iterations_that_were_followed_together_are_aligned_by_what_they_have_in_common(seed: int) -> None:
    bursts = [(0.0, 0.07, 10e9), (0.11, 0.12, 20e9), (0.5, 0.03, 10e9)]
    made = _made(np.random.default_rng(seed), bursts, period_s=1.0, dt_s=0.005, jitter_frac=0.04)
    every_tenth = np.arange(0, N_CYCLES, 10)
    starts_s = np.interp(np.arange(every_tenth[-1] + 1), every_tenth, made.starts_s[every_tenth])
    assert np.abs(starts_s - made.starts_s[: starts_s.size]).max() > 0.1
    found = extract_phases(made.series, replace(made.estimate, starts_s=starts_s))
    assert len(_ups(found)) == len(bursts)
    assert _adds_up(found, made)
