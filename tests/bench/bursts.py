"""Jobs of known bursts, from a generator that shares no code with `profiler.synth`, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.phases import TrafficProfile, profile
from profiler.signals import RateSeries

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Errors", "Job", "errors_of", "jobs"]

N_CYCLES: Final = 60
LEAST_WINDOWS: Final = 4
"""Bursts and pauses are as many windows wide at least; of narrower ones a counter does not tell the shape."""
T0_NS: Final = 1_700_000_000_000_000_000
NOISE_FRAC: Final = 0.2
"""Of the base; more would be cut at zero and add bytes that the truth has not."""
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """A job: bursts in rows of start and width (both s, after the iteration's start) and rate (bit/s).

    All the time ``base_bps`` come on top, and in each window noise of a standard deviation of ``noise_bps``.
    """

    seed: int
    period_s: float
    dt_s: float
    jitter_frac: float
    base_bps: float
    noise_bps: float
    bursts: NDArray[np.float64]
    starts_s: NDArray[np.float64]

    def series(self) -> RateSeries:
        """Return the bytes of each window: the integral of rates, exact but for noise and rounding to bytes."""
        rng = np.random.default_rng(self.seed)
        begins_s = (self.starts_s[:, None] + self.bursts[:, 0]).ravel()
        steps_s = np.concatenate((begins_s, begins_s + np.tile(self.bursts[:, 1], self.starts_s.size)))
        steps_bps = np.concatenate([sign * np.tile(self.bursts[:, 2], self.starts_s.size) for sign in (1, -1)])
        order = np.argsort(steps_s)
        rate_bps = np.cumsum(steps_bps[order])
        total_bits = np.concatenate(([0.0], np.cumsum(rate_bps[:-1] * np.diff(steps_s[order]))))
        edges_s = np.arange(0.0, N_CYCLES * self.period_s, self.dt_s)
        bits = np.diff(np.interp(edges_s, steps_s[order], total_bits) + self.base_bps * edges_s)
        bits += self.noise_bps * self.dt_s * rng.standard_normal(bits.size)
        return RateSeries.from_deltas(
            T0_NS + np.rint(edges_s * 1e9).astype(np.int64), np.rint(np.maximum(bits, 0.0) / 8)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How far a profile is from its job: absolute for the duty, relative for the rest."""

    period_frac: float
    duty_frac: float
    peak_frac: float
    bits_frac: float
    confidence: float
    in_order: bool
    """Whether each width lies between its quartiles."""
    n_extra: int
    """Further jobs that are found where there is one."""


def jobs(seed: int) -> Iterator[Job]:
    """Yield jobs without end: one to six bursts, 60 to 500 windows an iteration, jitter to 3 %, half with noise."""
    rng = np.random.default_rng(seed)
    while True:
        job = _job(int(rng.integers(1 << 30)))
        starts_s, widths_s = job.bursts[:, 0], job.bursts[:, 1]
        narrowest_s = min([*widths_s, *(starts_s[1:] - starts_s[:-1] - widths_s[:-1])])
        if narrowest_s >= LEAST_WINDOWS * job.dt_s:
            yield job


def errors_of(job: Job) -> Errors | None:
    """Return how far our profile of a job is from it; None if it has no period."""
    found = profile(job.series())
    if found.period_s is None or found.duty_frac is None or found.peak_bps is None or found.confidence is None:
        return None
    widths_s, rates_bps = job.bursts[:, 1], job.bursts[:, 2]
    bits = sum(phase.width_s * phase.rate_bps for phase in found.phases)
    period_s = float(np.median(np.diff(job.starts_s)))
    return Errors(
        period_frac=abs(found.period_s / period_s - 1),
        duty_frac=abs(found.duty_frac - float(widths_s.sum()) / job.period_s),
        peak_frac=abs(found.peak_bps / (job.base_bps + float(rates_bps.max())) - 1),
        bits_frac=abs(bits / (job.base_bps * job.period_s + float(widths_s @ rates_bps)) - 1),
        confidence=found.confidence,
        in_order=_in_order(found),
        n_extra=len(found.other_periods_s),
    )


def _job(seed: int) -> Job:
    rng = np.random.default_rng(seed)
    period_s = rng.uniform(0.2, 3.0)
    edges_s = np.sort(rng.uniform(0.0, 0.8 * period_s, 2 * int(rng.integers(1, 7))))
    jitter_frac = float(rng.choice([0.0, 0.01, 0.03]))
    lengths_s = period_s * (1 + jitter_frac * rng.standard_normal(N_CYCLES + 1))
    rates_bps = rng.choice([5e9, 10e9, 20e9], edges_s.size // 2)
    base_bps = float(rng.choice([0.0, 1e9]))
    return Job(
        seed=seed,
        period_s=period_s,
        dt_s=period_s / rng.choice([60, 120, 250, 500]) * rng.uniform(0.97, 1.03),
        jitter_frac=jitter_frac,
        base_bps=base_bps,
        noise_bps=NOISE_FRAC * base_bps,
        bursts=np.column_stack((edges_s[::2] - edges_s[0], np.diff(edges_s)[::2], rates_bps)),
        starts_s=0.37 * period_s + np.concatenate(([0.0], np.cumsum(lengths_s))),
    )


def _in_order(found: TrafficProfile) -> bool:
    return all(
        phase.width_low_s - ROUNDING <= phase.width_s <= phase.width_high_s + ROUNDING
        for phase in found.phases
        if phase.width_low_s is not None and phase.width_high_s is not None
    )
