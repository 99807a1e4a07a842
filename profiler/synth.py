"""Seeded, labelled traffic: generators that return a series together with its truth.

Every generator takes a `numpy.random.Generator`, so that equal seeds give equal traffic, and returns `Labelled`. The
series is made as a real one is: bursts in continuous time are integrated to cumulative bytes, which are then read at
the sampling interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.signals import RateSeries
from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = [
    "NON_PERIODIC",
    "Burst",
    "Labelled",
    "autoregressive",
    "constant",
    "poisson_transfers",
    "ramp",
    "serving",
    "telegraph",
    "training_job",
    "with_noise",
]

T0_NS: Final = 1_800_000_000 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Burst:
    """One Up phase of an iteration, as fractions of its nominal period, and its rate in bit/s."""

    start_frac: float
    width_frac: float
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """A series and its truth.

    ``period_s`` is the median length of the iterations that were recorded whole, None where there is no period.
    ``up_s`` holds [start, end) of every burst in seconds after the first edge, shape (n_bursts, 2).
    """

    series: RateSeries
    period_s: float | None
    up_s: NDArray[np.float64]


def training_job(
    rng: np.random.Generator,
    *,
    period_s: float,
    bursts: Sequence[Burst] = (Burst(0.3, 0.45, 400e6),),
    duration_s: float,
    dt_s: float,
    jitter_frac: float = 0.0,
) -> Labelled:
    """Make the traffic of a training job.

    Parameters
    ----------
    rng
        Source of randomness.
    period_s
        Nominal iteration period in seconds.
    bursts
        Up phases of an iteration, in order.
    duration_s, dt_s
        Length of the recording and the sampling interval, in seconds.
    jitter_frac
        Standard deviation of an iteration's length over ``period_s``; it stretches the time before the first burst,
        and accumulates, as a compute phase's jitter does.

    Raises
    ------
    UsageError
        If a time is not positive.

    Examples
    --------
    >>> job = training_job(np.random.default_rng(1), period_s=0.25, duration_s=10.0, dt_s=0.001)
    >>> job.series.n_samples, job.period_s
    (10000, 0.25)
    """
    if not (period_s > 0 and duration_s > 0 and dt_s > 0):
        raise UsageError("training_job: period_s, duration_s and dt_s must be positive")
    n_cycles = int(np.ceil(duration_s / period_s * 1.5)) + 4
    lengths_s = period_s * (1 + jitter_frac * np.clip(rng.standard_normal(n_cycles), -2.5, 2.5))
    starts_s = np.concatenate(([0.0], np.cumsum(lengths_s)))[:-1] - rng.uniform(0, period_s)
    extra_s = lengths_s - period_s
    up_s = np.concatenate(
        [
            np.stack(
                [
                    starts_s + extra_s + burst.start_frac * period_s,
                    starts_s + extra_s + (burst.start_frac + burst.width_frac) * period_s,
                ],
                axis=1,
            )
            for burst in bursts
        ]
    )
    rates_bps = np.repeat([burst.rate_bps for burst in bursts], n_cycles)
    inside = (up_s[:, 1] > 0) & (up_s[:, 0] < duration_s)
    series = _read(up_s[inside], rates_bps[inside], duration_s=duration_s, dt_s=dt_s)
    recorded = lengths_s[(starts_s >= 0) & (starts_s + lengths_s <= duration_s)]
    median_s = float(np.median(recorded if recorded.size else lengths_s))
    return Labelled(series=series, period_s=median_s, up_s=np.clip(up_s[inside], 0.0, duration_s))


def with_noise(rng: np.random.Generator, labelled: Labelled, *, noise_bps: float) -> Labelled:
    """Add white noise of this standard deviation to each sample's rate; what would be negative is cut off."""
    series = labelled.series
    scale_bytes = noise_bps * np.diff(series.edges_ns) / NS_PER_S / BITS_PER_BYTE
    noisy = series.delta_bytes + scale_bytes * rng.standard_normal(series.n_samples)
    return replace(labelled, series=RateSeries.from_deltas(series.edges_ns, np.maximum(noisy, 0.0)))


def poisson_transfers(rng: np.random.Generator, *, duration_s: float, dt_s: float, mean_gap_s: float = 0.5) -> Labelled:
    """Make transfers that begin at random: a Poisson process with exponential lengths."""
    n_transfers = max(1, rng.poisson(duration_s / mean_gap_s))
    starts_s = np.sort(rng.uniform(0, duration_s, n_transfers))
    up_s = np.stack([starts_s, starts_s + rng.exponential(0.4 * mean_gap_s, n_transfers)], axis=1)
    series = _read(up_s, np.full(n_transfers, 400e6), duration_s=duration_s, dt_s=dt_s)
    return Labelled(series=series, period_s=None, up_s=up_s)


def serving(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> Labelled:
    """Make the traffic of an inference server: many small answers, with a load that wanders."""
    n_samples = round(duration_s / dt_s)
    load = np.exp(0.6 * _ar1(rng, n_samples, phi=0.995))
    return _from_rates(rng.poisson(20 * load) * 5e6, dt_s=dt_s)


def telegraph(rng: np.random.Generator, *, duration_s: float, dt_s: float, mean_hold_s: float = 0.2) -> Labelled:
    """Make a random telegraph signal: on and off for exponential times."""
    n_holds = max(4, int(4 * duration_s / mean_hold_s))
    edges_s = np.cumsum(rng.exponential(mean_hold_s, n_holds))
    up_s = edges_s[: n_holds // 2 * 2].reshape(-1, 2)
    up_s = up_s[up_s[:, 0] < duration_s]
    series = _read(up_s, np.full(len(up_s), 400e6), duration_s=duration_s, dt_s=dt_s)
    return Labelled(series=series, period_s=None, up_s=up_s)


def autoregressive(rng: np.random.Generator, *, duration_s: float, dt_s: float, phi: float = 0.97) -> Labelled:
    """Make red noise: a first-order autoregression about a mean."""
    n_samples = round(duration_s / dt_s)
    return _from_rates(np.clip(400e6 * (1 + 0.4 * _ar1(rng, n_samples, phi=phi)), 0, None), dt_s=dt_s)


def ramp(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> Labelled:
    """Make a load that only grows, with noise."""
    n_samples = round(duration_s / dt_s)
    return _from_rates(np.linspace(50e6, 900e6, n_samples) * rng.uniform(0.9, 1.1, n_samples), dt_s=dt_s)


def constant(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> Labelled:
    """Make a steady stream with noise of 5 %."""
    n_samples = round(duration_s / dt_s)
    return _from_rates(rng.normal(400e6, 20e6, n_samples), dt_s=dt_s)


NON_PERIODIC: Final[dict[str, Callable[..., Labelled]]] = {
    "autoregressive": autoregressive,
    "constant": constant,
    "poisson_transfers": poisson_transfers,
    "ramp": ramp,
    "serving": serving,
    "telegraph": telegraph,
}
"""Generators of traffic that has no period; each takes ``rng``, ``duration_s`` and ``dt_s``."""


def _read(
    up_s: NDArray[np.float64],
    rates_bps: NDArray[np.float64],
    *,
    duration_s: float,
    dt_s: float,
) -> RateSeries:
    """Integrate bursts to cumulative bytes and read them every ``dt_s``."""
    grid_s = np.arange(round(duration_s / dt_s) + 1) * dt_s
    total_bits = np.zeros(grid_s.size)
    for order, sign in ((0, 1.0), (1, -1.0)):
        edges_s = np.sort(up_s[:, order])
        slopes = np.cumsum(sign * rates_bps[np.argsort(up_s[:, order], kind="stable")])
        knots_s = np.concatenate(([min(0.0, edges_s[0])], edges_s, [max(duration_s, edges_s[-1]) + dt_s]))
        bits = np.concatenate(([0.0, 0.0], np.cumsum(slopes * np.diff(knots_s[1:]))))
        total_bits += np.interp(grid_s, knots_s, bits)
    return _series(np.maximum(np.diff(total_bits) / BITS_PER_BYTE, 0.0), dt_s=dt_s)


def _from_rates(rates_bps: NDArray[np.floating], *, dt_s: float) -> Labelled:
    series = _series(np.maximum(rates_bps, 0.0) * dt_s / BITS_PER_BYTE, dt_s=dt_s)
    return Labelled(series=series, period_s=None, up_s=np.zeros((0, 2)))


def _series(delta_bytes: NDArray[np.float64], *, dt_s: float) -> RateSeries:
    edges_ns = T0_NS + np.round(np.arange(delta_bytes.size + 1) * dt_s * NS_PER_S).astype(np.int64)
    return RateSeries.from_deltas(edges_ns, delta_bytes)


def _ar1(rng: np.random.Generator, n_samples: int, *, phi: float) -> NDArray[np.float64]:
    """Return a stationary first-order autoregression of unit variance, shape (n_samples,)."""
    from scipy.signal import lfilter

    steps = rng.standard_normal(n_samples) * np.sqrt(1 - phi**2)
    steps[0] = rng.standard_normal()
    values: NDArray[np.float64] = lfilter([1.0], [1.0, -phi], steps)
    return values
