"""`Plan`: how fast a drawn job beats, how finely it is read, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

__all__ = [
    "HIGHEST_RATE_BPS",
    "LARGEST_N_SAMPLES",
    "LONGEST_PERIOD_S",
    "LOWEST_RATE_BPS",
    "MOST_CYCLES",
    "SHORTEST_PERIOD_S",
    "Plan",
    "draw_rate_bps",
    "log_uniform",
]

LARGEST_N_SAMPLES: Final = 10_000
SHORTEST_PERIOD_S: Final = 0.02
LONGEST_PERIOD_S: Final = 125.0
LOWEST_RATE_BPS: Final = 1e8
HIGHEST_RATE_BPS: Final = 4e11
FEWEST_CYCLES: Final = 12.0
MOST_CYCLES: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Nominal period, sampling interval and length of a recording, all in seconds."""

    period_s: float
    dt_s: float
    duration_s: float

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        period_s: tuple[float, float] = (SHORTEST_PERIOD_S, LONGEST_PERIOD_S),
        samples_per_period: tuple[float, float] = (20.0, 200.0),
        n_cycles: tuple[float, float] = (FEWEST_CYCLES, MOST_CYCLES),
        n_samples: tuple[int, int] = (0, LARGEST_N_SAMPLES),
    ) -> Self:
        """Draw each figure log-uniformly from its range; the number of samples bounds that of cycles."""
        period = log_uniform(rng, period_s)
        samples = log_uniform(rng, samples_per_period)
        fewest = max(n_cycles[0], n_samples[0] / samples)
        cycles = log_uniform(rng, (fewest, max(fewest, min(n_cycles[1], n_samples[1] / samples))))
        # A whole number of samples, so that no recording exceeds the limit by rounding.
        n_drawn = min(n_samples[1], round(cycles * samples))
        return cls(period_s=period, dt_s=period / samples, duration_s=n_drawn * period / samples)


def log_uniform(rng: np.random.Generator, bounds: tuple[float, float]) -> float:
    """Draw a number whose logarithm is uniform between those of the bounds, the lower one first."""
    return float(np.exp(rng.uniform(*np.log(bounds))))


def draw_rate_bps(rng: np.random.Generator) -> float:
    """Draw the rate of a burst, from a shared 100 Mbit/s port to a 400 Gbit/s one."""
    return log_uniform(rng, (LOWEST_RATE_BPS, HIGHEST_RATE_BPS))
