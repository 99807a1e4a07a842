"""Slow, obvious twins of the fast methods: one nanosecond, one state or one small step at a time, in exact fractions.

Jobs are given as plain integers: a period and the rate in each of its nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

__all__ = [
    "TickedJob",
    "best_excess",
    "expected_excess",
    "independent_excess",
    "match_counts",
    "mean_excess",
    "on_off_optimum",
    "shared_rates",
    "shortest_period",
    "stepped_ends",
    "window_excess",
]


@dataclass(frozen=True)
class TickedJob:
    """A job whose rate is given for each nanosecond of its period."""

    rates: tuple[int, ...]

    @property
    def period(self) -> int:
        return len(self.rates)

    def at(self, t: int) -> int:
        return self.rates[t % self.period]


def mean_excess(jobs: Sequence[TickedJob], shifts: Sequence[int], capacity: Fraction | int) -> Fraction:
    """Mean of demand over capacity, over the least common period."""
    return window_excess(jobs, shifts, capacity, length=math.lcm(*(job.period for job in jobs)))


def window_excess(
    jobs: Sequence[TickedJob], shifts: Sequence[int], capacity: Fraction | int, *, length: int
) -> Fraction:
    """Mean of demand over capacity in [0, length)."""
    over = (
        max(Fraction(0), sum(job.at(t - shift) for job, shift in zip(jobs, shifts, strict=True)) - Fraction(capacity))
        for t in range(length)
    )
    return sum(over, Fraction(0)) / length


def best_excess(jobs: Sequence[TickedJob], capacity: Fraction | int) -> Fraction:
    """Least mean excess over all whole shifts; integer edges have an integer optimum."""
    others = product(*(range(job.period) for job in jobs[1:]))
    return min(mean_excess(jobs, (0, *shifts), capacity) for shifts in others)


def independent_excess(jobs: Sequence[TickedJob], capacity: Fraction | int) -> Fraction:
    """Mean excess over every combination of the jobs' phases."""
    return expected_excess([job.rates for job in jobs], lambda rate: max(Fraction(0), rate - Fraction(capacity)))


def expected_excess(rates: Sequence[Sequence[int]], cost: Callable[[int], Fraction]) -> Fraction:
    """Mean cost over every combination of one rate a job."""
    combinations = list(product(*rates))
    return sum((cost(sum(combination)) for combination in combinations), Fraction(0)) / len(combinations)


def on_off_optimum(duties: Sequence[Fraction], rate: Fraction, capacity: Fraction) -> Fraction:
    """Least mean excess of on/off jobs of equal rate (DESIGN section 5); reached by laying them end to end."""

    def excess(n_on: int) -> Fraction:
        return max(Fraction(0), n_on * rate - capacity)

    rho = sum(duties, Fraction(0))
    k = math.floor(rho)
    return excess(k) + (rho - k) * (excess(k + 1) - excess(k))


def shared_rates(wanted: Sequence[float], weights: Sequence[float], capacity: float) -> list[float]:
    """Weighted max-min shares of one link: the water level is found by bisection."""
    if sum(wanted) <= capacity:
        return list(wanted)
    low, high = 0.0, max(wanted) / min(weights)
    for _ in range(60):
        level = (low + high) / 2
        poured = sum(min(want, level * weight) for want, weight in zip(wanted, weights, strict=True))
        low, high = (level, high) if poured < capacity else (low, level)
    return [min(want, low * weight) for want, weight in zip(wanted, weights, strict=True)]


def stepped_ends(
    jobs: Sequence[tuple[float, float, float, float]], capacity: float, *, step: float, n_iterations: int
) -> list[list[float]]:
    """End of each iteration of jobs ``(start, down, volume, rate)`` that share one link, stepped through time."""
    computing = [start for start, _, _, _ in jobs]
    left = [0.0] * len(jobs)
    ends: list[list[float]] = [[] for _ in jobs]
    t = 0.0
    while min(map(len, ends)) < n_iterations:
        for i, (_, _, volume, _) in enumerate(jobs):
            if left[i] <= 0 and t >= computing[i]:
                left[i] = volume
        wanted = [job[3] if left[i] > 0 else 0.0 for i, job in enumerate(jobs)]
        rates = shared_rates(wanted, [1.0] * len(jobs), capacity)
        t += step
        for i, (_, down, _, _) in enumerate(jobs):
            if left[i] > 0:
                left[i] -= rates[i] * step
                if left[i] <= 0:
                    ends[i].append(t)
                    computing[i] = t + down
    return ends


def match_counts(symbols: Sequence[int]) -> list[int]:
    """For every lag the symbols that are the same that much later, looked at one by one."""
    n = len(symbols)
    return [sum(symbols[i] == symbols[i + lag] for i in range(n - lag)) for lag in range(n)]


def shortest_period(symbols: Sequence[int]) -> int:
    """The least lag at which a whole sequence is the same as itself."""
    n = len(symbols)
    return next(p for p in range(1, n + 1) if all(symbols[i] == symbols[i + p] for i in range(n - p)))
