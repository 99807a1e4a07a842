"""Slow, obvious twins of the fast methods: one nanosecond, one state, one lag or one small step at a time.

Jobs are given as plain integers, a period and the rate in each of its nanoseconds, and answers are exact fractions;
what a series shows is summed value by value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

__all__ = [
    "CombRule",
    "TickedJob",
    "best_excess",
    "comb_evidence",
    "correlation",
    "demand_misfit",
    "expected_excess",
    "independent_excess",
    "masked_autocorrelation",
    "match_counts",
    "mean_excess",
    "on_off_optimum",
    "repetition_contrast",
    "shared_rates",
    "shortest_period",
    "stepped_ends",
    "sum_of_squares",
    "tracked_cycles",
    "widened_autocorrelation",
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


def masked_autocorrelation(x: Sequence[float], weight: Sequence[int], n_lags: int) -> list[float]:
    """Mean product of the known values each lag apart, over that at lag 0; 0 where no two are known."""
    n = len(x)
    means = []
    for lag in range(n_lags):
        pairs = [(x[i] * x[i + lag]) for i in range(n - lag) if weight[i] and weight[i + lag]]
        means.append(math.fsum(pairs) / max(1, len(pairs)))
    return [mean / means[0] for mean in means]


def widened_autocorrelation(r: Sequence[float], width: int) -> list[float]:
    """Autocorrelation of means over ``width`` bins from that of single bins, as far as all its lags are known.

    Two such means, k apart, have ``width**2`` pairs of bins, ``width * k + b - a`` apart.
    """
    n_lags = (len(r) - width) // width + 1
    wide = [
        math.fsum(r[abs(width * k + b - a)] for a in range(width) for b in range(width)) / width**2
        for k in range(n_lags)
    ]
    return [value / wide[0] for value in wide]


def repetition_contrast(r: Sequence[float], lag: float, *, n_multiples: int, slack_frac: float) -> float:
    """Mean rise of an autocorrelation at the first multiples of a lag over the means half-way between."""

    def near(at: float) -> list[float]:
        reach = max(1.0, slack_frac * at)
        return [r[k] for k in range(len(r)) if at - reach <= k <= at + reach]

    def mean(at: float) -> float:
        return math.fsum(near(at)) / len(near(at))

    rises = [
        max(near(m * lag)) - (mean((m - 0.5) * lag) + mean((m + 0.5) * lag)) / 2 for m in range(1, n_multiples + 1)
    ]
    return math.fsum(rises) / n_multiples


@dataclass(frozen=True)
class CombRule:
    """What a harmonic may gain: capped, minus a price, within a window that grows over the first few harmonics.

    Windows are in cycles over the whole series; ``price`` and ``cap`` in nats.
    """

    cap: float
    price: float
    reach: float
    widening: float
    most_widened: int
    most_harmonics: int
    without_strongest: float


def comb_evidence(
    log_ratio: Sequence[float], freq: float, *, n_fft: int, n_bins: int, strongest: int, rule: CombRule
) -> float:
    """Evidence of a comb below half the sampling rate: the best sum over its first so many harmonics."""
    best = total = 0.0
    has_strongest = False
    h = 1
    while h <= rule.most_harmonics and h * freq <= 0.5:
        reach = (rule.reach + rule.widening * min(h, rule.most_widened)) / n_bins
        window = [k for k in range(1, len(log_ratio)) if h * freq - reach <= k / n_fft <= h * freq + reach]
        top = max(window, key=lambda k: log_ratio[k])
        gain = min(log_ratio[top], rule.cap) - rule.price
        if gain > 0:
            # Windows that cover most of the spectrum catch a line by chance.
            gain *= max(0.0, 1 - 2 * reach / freq)
        total += gain
        has_strongest = has_strongest or abs(top - strongest) <= 1
        if gain > 0:
            best = max(best, total if has_strongest else rule.without_strongest * total)
        h += 1
    return best


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of two equally long sequences, 0 where one does not vary."""
    n = len(one)
    a, b = math.fsum(one) / n, math.fsum(other) / n
    product = math.fsum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    power = math.fsum((x - a) ** 2 for x in one) * math.fsum((y - b) ** 2 for y in other)
    return product / math.sqrt(power) if power > 0 else 0.0


def tracked_cycles(
    x: Sequence[float], step: int, *, reach: int, n_rounds: int, n_seed: int, good_frac: float
) -> tuple[list[int], list[float]]:
    """Starts of a series' cycles of about ``step`` bins, and how well each matches the mean of the good ones."""
    n_cycles = len(x) // step
    seeds = [_mean_of(x, [i * step + j * step for j in range(n_seed)], step) for i in range(n_cycles - n_seed + 1)]
    template = max(seeds, key=sum_of_squares)
    starts: list[int] = []
    fit: list[float] = []
    for _ in range(n_rounds):
        match = [correlation(x[i : i + step], template) for i in range(len(x) - step + 1)]
        starts = _walked(match, step=step, reach=reach)
        fit = [match[start] for start in starts]
        enough = good_frac * sorted(fit)[3 * len(fit) // 4]
        template = _mean_of(x, [start for start in starts if match[start] >= enough], step)
    return starts, fit


def sum_of_squares(values: Sequence[float]) -> float:
    """Sum of squares about the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _mean_of(x: Sequence[float], starts: Sequence[int], step: int) -> list[float]:
    return [math.fsum(x[start + k] for start in starts) / len(starts) for k in range(step)]


def _walked(match: Sequence[float], *, step: int, reach: int) -> list[int]:
    """The best match, and from there to both ends the best one about a step further."""
    best = max(range(len(match)), key=lambda i: match[i])
    before, after = [], []
    here = best
    while here - step >= 0:
        here = max(range(max(0, here - step - reach), here - step + reach + 1), key=lambda i: match[i])
        before.append(here)
    here = best
    while here + step < len(match):
        here = max(range(here + step - reach, min(len(match), here + step + reach + 1)), key=lambda i: match[i])
        after.append(here)
    return [*reversed(before), best, *after]


def demand_misfit(means: Sequence[float], *, window: float, n_demands: int, n_sweeps: int) -> float:
    """Part of a fold's variance that no demand without negative rates explains, seen through windows of some cycles.

    The demand has equal steps. Least squares by coordinate descent: each step in turn takes its best value.
    """
    n = len(means)
    design = [
        [_overlap((i + 0.5) / n, window, k / n_demands, 1 / n_demands) / window for k in range(n_demands)]
        for i in range(n)
    ]
    squares = [math.fsum(design[i][k] ** 2 for i in range(n)) for k in range(n_demands)]
    demand = [0.0] * n_demands
    left = list(means)
    for _ in range(n_sweeps):
        for k in range(n_demands):
            wanted = demand[k] + math.fsum(design[i][k] * left[i] for i in range(n)) / squares[k]
            change = max(0.0, wanted) - demand[k]
            demand[k] += change
            for i in range(n):
                left[i] -= design[i][k] * change
    return math.fsum(value**2 for value in left) / sum_of_squares(means)


def _overlap(start: float, length: float, step_start: float, step_length: float) -> float:
    """How much of [start, start + length) lies in any turn's copy of a step."""
    first, last = math.floor(start) - 1, math.ceil(start + length) + 1
    return math.fsum(
        max(0.0, min(start + length, turn + step_start + step_length) - max(start, turn + step_start))
        for turn in range(first, last)
    )
