"""Families of traces, until `profiler.synth` has them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from profiler.signals import RateSeries
from profiler.synth import NON_PERIODIC as GENERATORS
from profiler.synth import Burst, Labelled, training_job, with_noise

__all__ = ["ALIASED", "NON_PERIODIC", "PERIODIC"]

Family = Callable[[np.random.Generator], Labelled]
RATE_BPS: Final = 400e6


def _job(
    rng: np.random.Generator,
    bursts: list[Burst],
    *,
    samples: tuple[float, float] = (30, 200),
    cycles: tuple[float, float] = (20, 50),
    jitter: float = 0.01,
) -> Labelled:
    period_s = float(np.exp(rng.uniform(np.log(0.02), np.log(125))))
    dt_s = period_s / rng.uniform(*samples)
    duration_s = min(period_s * rng.uniform(*cycles), 1e4 * dt_s)
    return training_job(rng, period_s=period_s, bursts=bursts, jitter_frac=jitter, duration_s=duration_s, dt_s=dt_s)


def square(rng: np.random.Generator) -> Labelled:
    return _job(rng, [Burst(0.2, rng.uniform(0.3, 0.6), RATE_BPS)], jitter=0.002)


def single(rng: np.random.Generator) -> Labelled:
    return _job(rng, [Burst(0.3, rng.uniform(0.1, 0.5), RATE_BPS)])


def gpt(rng: np.random.Generator) -> Labelled:
    n = int(rng.integers(3, 6))
    starts = np.linspace(0.05, 0.85, n)
    return _job(rng, [Burst(float(s), rng.uniform(0.04, 0.1), RATE_BPS * rng.uniform(0.4, 1)) for s in starts])


def nested(rng: np.random.Generator) -> Labelled:
    n = int(rng.integers(6, 12))
    return _job(rng, [Burst(0.1 + 0.05 * i, 0.025, RATE_BPS) for i in range(n)])


def accumulation(rng: np.random.Generator) -> Labelled:
    n = int(rng.integers(3, 6))
    return _job(rng, [Burst(0.05 + 0.9 * i / n, 0.06, RATE_BPS * (1 if i == n - 1 else 0.25)) for i in range(n)])


def jitter(rng: np.random.Generator) -> Labelled:
    return _job(rng, [Burst(0.3, rng.uniform(0.2, 0.5), RATE_BPS)], jitter=rng.uniform(0.05, 0.1))


def noisy(rng: np.random.Generator) -> Labelled:
    made = single(rng)
    return with_noise(rng, made, noise_bps=RATE_BPS * rng.uniform(0.5, 1.5))


def few(rng: np.random.Generator) -> Labelled:
    return _job(rng, [Burst(0.3, rng.uniform(0.2, 0.5), RATE_BPS)], cycles=(4.5, 8))


def coarse(rng: np.random.Generator) -> Labelled:
    return _job(rng, [Burst(0.3, rng.uniform(0.2, 0.5), RATE_BPS)], samples=(3, 5), cycles=(100, 400))


def two_jobs(rng: np.random.Generator) -> Labelled:
    first = single(rng)
    n, dt_s = first.series.n_samples, first.series.dt_s
    period_s = (first.period_s or 0.0) * rng.uniform(0.45, 0.9)
    second = training_job(rng, period_s=period_s, bursts=[Burst(0.3, 0.3, RATE_BPS)], duration_s=n * dt_s, dt_s=dt_s)
    series = RateSeries.from_deltas(first.series.edges_ns, first.series.delta_bytes + second.series.delta_bytes[:n])
    return replace(first, series=series, up_s=np.concatenate([first.up_s, second.up_s]))


def _plain(name: str) -> Family:
    return lambda rng: GENERATORS[name](rng, duration_s=6.0, dt_s=0.001)


PERIODIC: Final[dict[str, Family]] = {
    f.__name__: f for f in (square, single, gpt, nested, accumulation, jitter, noisy, few, coarse, two_jobs)
}
NON_PERIODIC: Final[dict[str, Family]] = {name: _plain(name) for name in GENERATORS}
ALIASED: Final[dict[str, Family]] = {
    "aliased": lambda rng: _job(rng, [Burst(0.3, 0.3, RATE_BPS)], samples=(1.2, 1.8), cycles=(200, 400))
}
