"""Seeded links to solve: families of jobs with drawn duties, rates, phases and periods.

Times are whole milliseconds and rates whole Mbit/s, so that every method can state a case exactly: some optimum then
lies on whole milliseconds (DESIGN section 5), and CP-SAT on that clock leaves nothing out. Each job alone fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CAPACITY_MBPS", "FAMILIES", "Case", "Family", "Job", "draw_case"]

CAPACITY_MBPS: Final = 10_000
LOAD: Final = (0.7, 1.1)
"""Mean demand of all jobs over the capacity: from room to spare to too much."""
DUTY: Final = (0.08, 0.75)
SEVERAL_UPS_FRAC: Final = (0.5, 1.0)
"""Highest rate of a job of several Ups over the capacity; each Up has half of it or more."""
DOWN_FRAC: Final = 0.15
"""Between the Ups of a job of six phases up to this fraction of the capacity is sent."""
MULTIPLES: Final = (1, 2, 3, 4)
HORIZON_MS: Final = 300_000

Periods = Callable[[np.random.Generator, int], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A periodic demand: from each edge to the next, the last one cyclic, it sends at the rate given there."""

    period_ms: int
    edges_ms: tuple[int, ...]
    rates_mbps: tuple[int, ...]

    def rate_at(self, t_ms: int) -> int:
        """Return the rate in the millisecond that begins at a time, in Mbit/s."""
        into_ms = t_ms % self.period_ms
        n_passed = sum(edge_ms <= into_ms for edge_ms in self.edges_ms)
        return self.rates_mbps[n_passed - 1]

    @property
    def mean_mbps(self) -> float:
        """Mean rate over a period."""
        widths = np.diff(self.edges_ms, append=self.edges_ms[0] + self.period_ms)
        return float(widths @ np.array(self.rates_mbps)) / self.period_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Jobs of one link, judged over a horizon, or for ever if there is none."""

    family: str
    seed: int
    jobs: tuple[Job, ...]
    horizon_ms: int | None = None
    capacity_mbps: int = CAPACITY_MBPS

    @property
    def common_ms(self) -> int:
        """Least common multiple of the periods."""
        return math.lcm(*(job.period_ms for job in self.jobs))

    @property
    def span_ms(self) -> int:
        """The time over which the jobs are judged."""
        return self.common_ms if self.horizon_ms is None else self.horizon_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How the cases of a row of the table are drawn, and what TARGETS wants of them.

    ``max_ms`` is the most CPU time a case may take, ``is_proved`` whether every optimum is to be proved.
    """

    n_jobs: int
    periods: Periods
    n_ups: int = 1
    share_rate: bool = False
    rate_frac: tuple[float, float] = (0.3, 1.0)
    horizon_ms: int | None = None
    max_ms: float = 200.0
    is_proved: bool = False


def equal_periods(rng: np.random.Generator, n_jobs: int) -> list[int]:
    """Return one period for all, in ms."""
    return [int(rng.integers(100, 300))] * n_jobs


def harmonic_periods(rng: np.random.Generator, n_jobs: int) -> list[int]:
    """Return small multiples of one time, not all the same."""
    unit_ms = int(rng.integers(60, 120))
    while len(set(multiples := rng.choice(MULTIPLES, n_jobs).tolist())) == 1:
        pass
    return [unit_ms * multiple for multiple in multiples]


def strange_periods(rng: np.random.Generator, n_jobs: int) -> list[int]:
    """Return periods each of its own."""
    periods: list[int] = rng.choice(np.arange(150, 350), n_jobs, replace=False).tolist()
    return periods


def partly_equal_periods(rng: np.random.Generator, n_jobs: int) -> list[int]:
    """Return one period for all jobs but the last."""
    common_ms, other_ms = strange_periods(rng, 2)
    return [*[common_ms] * (n_jobs - 1), other_ms]


FAMILIES: Final[dict[str, Family]] = {
    "2 jobs, 2 phases, equal T": Family(n_jobs=2, periods=equal_periods, is_proved=True),
    "2 jobs, 2 phases, harmonic T": Family(n_jobs=2, periods=harmonic_periods, is_proved=True),
    "3 jobs, 6 phases, equal T": Family(
        n_jobs=3, periods=equal_periods, n_ups=3, rate_frac=SEVERAL_UPS_FRAC, is_proved=True
    ),
    "3 jobs, 6 phases, harmonic T": Family(
        n_jobs=3, periods=harmonic_periods, n_ups=3, rate_frac=SEVERAL_UPS_FRAC, is_proved=True
    ),
    "4 jobs, 6 phases, equal T": Family(
        n_jobs=4, periods=equal_periods, n_ups=3, rate_frac=SEVERAL_UPS_FRAC, is_proved=True
    ),
    **{
        f"{n_jobs} jobs, on/off, equal T": Family(n_jobs=n_jobs, periods=equal_periods, is_proved=True)
        for n_jobs in (3, 4, 5, 6)
    },
    "6 jobs, on/off, one rate": Family(n_jobs=6, periods=equal_periods, share_rate=True, is_proved=True),
    "16 jobs, on/off, equal T": Family(n_jobs=16, periods=equal_periods, rate_frac=(0.1, 0.5), max_ms=100.0),
    "16 jobs, on/off, one rate": Family(
        n_jobs=16, periods=equal_periods, rate_frac=(0.1, 0.5), share_rate=True, max_ms=100.0
    ),
    "3 jobs, two of equal T, for ever": Family(n_jobs=3, periods=partly_equal_periods, max_ms=1.0),
    "3 jobs, unequal T, for ever": Family(n_jobs=3, periods=strange_periods, max_ms=1.0),
    "3 jobs, unequal T, 300 s": Family(n_jobs=3, periods=strange_periods, horizon_ms=HORIZON_MS),
}


def draw_case(name: str, seed: int) -> Case:
    """Draw the case of a family that a seed stands for."""
    family = FAMILIES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    rates = rng.uniform(*family.rate_frac, size=family.n_jobs)
    if family.share_rate:
        rates[:] = rates[0]
    shares = rng.dirichlet(np.full(family.n_jobs, 4.0)) * rng.uniform(*LOAD)
    duties = np.clip(shares / rates, *DUTY)
    jobs = [
        _draw_job(rng, period_ms=period_ms, n_ups=family.n_ups, duty=duty, rate_frac=rate)
        for period_ms, duty, rate in zip(family.periods(rng, family.n_jobs), duties, rates, strict=True)
    ]
    return Case(family=name, seed=seed, jobs=tuple(jobs), horizon_ms=family.horizon_ms)


def _draw_job(rng: np.random.Generator, *, period_ms: int, n_ups: int, duty: float, rate_frac: float) -> Job:
    """Draw where a job's Ups lie and what it sends in each: one Up at the rate given, several at rates up to it."""
    up_ms = min(period_ms - n_ups, max(n_ups, round(duty * period_ms)))
    widths = np.ravel(np.column_stack([_split(rng, up_ms, n_ups), _split(rng, period_ms - up_ms, n_ups)]))
    edges = (np.cumsum(widths) + rng.integers(period_ms)) % period_ms
    rates = np.zeros(2 * n_ups)
    # The rate at an edge is that of the phase which begins there: edge i ends phase i.
    rates[1::2] = rate_frac if n_ups == 1 else rng.uniform(rate_frac / 2, rate_frac, n_ups)
    if n_ups > 1:
        rates[::2] = rng.uniform(0, DOWN_FRAC, n_ups)
    order = np.argsort(edges)
    return Job(
        period_ms=period_ms,
        edges_ms=tuple(edges[order].tolist()),
        rates_mbps=tuple(np.rint(rates[order] * CAPACITY_MBPS).astype(int).tolist()),
    )


def _split(rng: np.random.Generator, total_ms: int, n_parts: int) -> NDArray[np.int64]:
    """Cut a time into parts of at least 1 ms."""
    cuts = np.sort(rng.choice(np.arange(1, total_ms), n_parts - 1, replace=False))
    return np.diff(cuts, prepend=0, append=total_ms)
