"""Shapes of an iteration: where its bursts lie and how large they are.

Each shape leaves the beginning of the iteration Down, so that jitter and drift of the compute phase have room.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.synth.bursts import Burst

__all__ = ["WIDTH_FRAC", "accumulation_bursts", "gpt_bursts", "nested_bursts", "one_burst", "two_level_bursts"]

WIDTH_FRAC: Final = (0.12, 0.6)
"""Shortest and longest burst over the period."""
ROOM_FRAC: Final = 0.27
"""Down time before the first burst: 2.5 standard deviations of the widest jitter, 10 %, and a little."""
PART_ROOM_FRAC: Final = 0.33
"""Down time before each of several bursts, over their spacing: enough for 2 % of jitter with six bursts."""
NEARLY_EVEN: Final = 0.03
UNEVEN: Final = 0.3
"""By how much of their spacing bursts may come later than evenly."""


def one_burst(rng: np.random.Generator, *, rate_bps: float, width_frac: tuple[float, float]) -> list[Burst]:
    """Draw one burst an iteration."""
    width = rng.uniform(*width_frac)
    return [Burst(rng.uniform(ROOM_FRAC, max(ROOM_FRAC, 0.98 - width)), width, rate_bps)]


def gpt_bursts(rng: np.random.Generator, *, rate_bps: float) -> list[Burst]:
    """Draw 2 to 6 bursts, spaced nearly evenly or not, each of another width and rate.

    Pipeline- and tensor-parallel training sends activations and gradients at several points of an iteration. No two
    bursts are equal, so that the iteration has no shorter period.
    """
    n_bursts = int(rng.integers(2, 7))
    moved = rng.choice([NEARLY_EVEN, UNEVEN]) * rng.random(n_bursts)
    starts = (np.arange(n_bursts) + PART_ROOM_FRAC + moved) / n_bursts
    widths = rng.uniform(0.12, 0.35, n_bursts) / n_bursts
    rates = rate_bps * rng.permutation(np.linspace(1.0, rng.uniform(0.25, 0.6), n_bursts))
    return [Burst(float(s), float(w), float(r)) for s, w, r in zip(starts, widths, rates, strict=True)]


def nested_bursts(rng: np.random.Generator, *, rate_bps: float) -> list[Burst]:
    """Draw a burst that is itself made of 5 to 12 equal bursts: its strongest line is that of the fine ones."""
    n_bursts = int(rng.integers(5, 13))
    spacing = rng.uniform(0.4, 0.65) / n_bursts
    width = spacing * rng.uniform(0.3, 0.7)
    return [Burst(ROOM_FRAC + spacing * i, width, rate_bps) for i in range(n_bursts)]


def two_level_bursts(rng: np.random.Generator, *, rate_bps: float) -> list[Burst]:
    """Draw a burst that goes on at another rate, a fifth to two thirds of the first or the reverse."""
    first, second = rng.uniform(0.12, 0.35, 2)
    rates = rng.permutation([rate_bps, rate_bps * rng.uniform(0.2, 0.65)])
    return [Burst(ROOM_FRAC, first, float(rates[0])), Burst(ROOM_FRAC + first, second, float(rates[1]))]


def accumulation_bursts(rng: np.random.Generator, *, rate_bps: float) -> list[Burst]:
    """Draw gradient accumulation: k - 1 small bursts that end a micro-batch each, and a large one for the k-th."""
    n_parts = int(rng.integers(3, 7))
    small, large = rng.uniform(0.15, 0.3) / n_parts, rng.uniform(0.6, 0.95) / n_parts
    small_bps = rate_bps * rng.uniform(0.4, 1.0)
    ends = np.arange(1, n_parts) / n_parts
    return [*(Burst(float(end) - small, small, small_bps) for end in ends), Burst(1 - large, large, rate_bps)]
