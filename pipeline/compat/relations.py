"""Relations between periods: which jobs keep their relative phase, and for how long.

Jobs with periods T1, T2 keep a relative phase if ``nu = p/T1 - q/T2`` vanishes for small whole p, q. Measured periods
have standard errors, and nu one of its own, so a relation is never certain: it is *held* over H only if ``(|nu| + 2
u_nu) H <= a``, a being the half-width, in cycles, of the shifts that serve as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from profiler.phases import TrafficProfile

__all__ = ["MAX_ORDER", "Beat", "Relation", "TiedJobs", "beat_of", "on_own_clock", "relation_between", "tie_periods"]

MAX_ORDER: Final = 6
"""Of two measured periods, at most this many of the longer are looked for in a whole number of the shorter."""

CLOCK_UNIT: Final = 60
"""Measured reference periods are multiples of this many ns: their halves to sixths are whole ns too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A job's period with its standard error (0: exact) and the jitter of an iteration, all in seconds."""

    period_s: float
    error_s: float
    jitter_s: float

    @property
    def is_exact(self) -> bool:
        """Whether the period is given, not measured."""
        return self.error_s == 0

    @property
    def diffusion_s(self) -> float:
        """Variance that the job's phase gains by jitter, in s² a second."""
        return self.jitter_s**2 / self.period_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """``p`` iterations of one job against ``q`` of another: drift and its standard error, in cycles a second."""

    p: int
    q: int
    nu_hz: float
    error_hz: float

    @property
    def fastest_hz(self) -> float:
        """Drift that is not exceeded with two standard errors of certainty."""
        return abs(self.nu_hz) + 2 * self.error_hz

    @property
    def is_plausible(self) -> bool:
        """Whether the periods may, within their errors, be exactly related."""
        return abs(self.nu_hz) <= 2 * self.error_hz


@dataclass(frozen=True, slots=True, kw_only=True)
class TiedJobs:
    """Demands on common clocks: jobs of one pool have exact or tied periods, jobs of different pools share no phase."""

    demands: tuple[Demand, ...]
    pools: tuple[tuple[int, ...], ...]


def beat_of(profile: TrafficProfile, *, jitter_frac: float) -> Beat:
    """Return the beat of a periodic profile."""
    period_s = profile.period_s or math.nan
    return Beat(period_s=period_s, error_s=profile.period_error_s or 0.0, jitter_s=jitter_frac * period_s)


def relation_between(a: Beat, b: Beat) -> Relation:
    """Return the relation of small whole numbers that lies nearest to the ratio of two periods."""
    if a.period_s < b.period_s:
        mirrored = relation_between(b, a)
        return Relation(p=mirrored.q, q=mirrored.p, nu_hz=-mirrored.nu_hz, error_hz=mirrored.error_hz)
    ratio = Fraction(a.period_s / b.period_s).limit_denominator(MAX_ORDER)
    p, q = ratio.numerator, ratio.denominator
    error_hz = math.hypot(p * a.error_s / a.period_s**2, q * b.error_s / b.period_s**2)
    return Relation(p=p, q=q, nu_hz=p / a.period_s - q / b.period_s, error_hz=error_hz)


def tie_periods(demands: Sequence[Demand], beats: Sequence[Beat]) -> TiedJobs:
    """Put measured periods that agree within their errors on a common clock, and leave exact ones as they are.

    Each measured job joins the first pool whose best-known job it is plausibly related to; its time axis is then
    scaled, by no more than the errors, to the related period. A measured job related to none is alone: whatever its
    integer nanoseconds have in common with others is chance.
    """
    order = sorted(range(len(beats)), key=lambda i: (beats[i].error_s / beats[i].period_s, i))
    tied = list(demands)
    exact = [i for i in order if beats[i].is_exact]
    pools: list[list[int]] = [exact] if exact else []
    for i in order[len(exact) :]:
        for pool in pools:
            period_ns = _tied_period(tied[pool[0]].period_ns, relation_between(beats[pool[0]], beats[i]))
            if period_ns is not None:
                tied[i] = demands[i].scaled(period_ns)
                pool.append(i)
                break
        else:
            pools.append([i])
            tied[i] = on_own_clock(demands[i])
    return TiedJobs(demands=tuple(tied), pools=tuple(tuple(sorted(pool)) for pool in pools))


def on_own_clock(demand: Demand) -> Demand:
    """Return the demand of a measured job as others are tied to it."""
    return demand.scaled(max(1, round(demand.period_ns / CLOCK_UNIT)) * CLOCK_UNIT)


def _tied_period(reference_ns: int, relation: Relation) -> int | None:
    """Return the period that is related exactly to a reference, or None if there is none in whole nanoseconds."""
    if not relation.is_plausible or reference_ns * relation.q % relation.p:
        return None
    return reference_ns * relation.q // relation.p
