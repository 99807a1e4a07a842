"""`causes_of`: how much excess each set of bursts brings that are on the link together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.explanation.occupancy import beside, together
from pipeline.compat.levels import Levels, independent_levels
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.explanation.bursts import Burst, Part
    from pipeline.compat.explanation.occupancy import Occupancy
    from pipeline.compat.levels import Excess

__all__ = ["Cause", "Scene", "causes_of"]

MAX_SETS: Final = 4096
"""Sets of bursts that are told apart; where there would be more, the steadiest jobs count as other traffic."""

LEAST_FRAC: Final = 1e-9
"""Of the capacity: an excess below this is rounding of rates."""

BITS_PER_BYTE: Final = 8

NO_BEAT_S: Final = 1.0
"""Traffic without a period is told of by the second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Jobs on a link, and how they stand to each other.

    Parameters
    ----------
    what
        How the jobs stand, in words.
    groups
        Jobs that keep their phases among each other; between groups any phase is as likely as any other.
    excess
        What a rate costs beside the traffic that has no period.
    score
        Of the scene.
    length_ns
        Of the window that counts; None for ever.
    """

    what: str
    groups: tuple[tuple[Part, ...], ...]
    excess: Excess
    score: float
    length_ns: int | None = None

    @property
    def beat_s(self) -> float:
        """Longest period of the jobs, by which they are told of."""
        periods_ns = [part.demand.period_ns for group in self.groups for part in group]
        return max(periods_ns) / NS_PER_S if periods_ns else NO_BEAT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Some bursts that are on the link together, with no others.

    ``over_s`` is for how long of a beat they are and the link does not take it all, ``excess_bytes`` what is over.
    """

    bursts: tuple[Burst, ...]
    over_s: float
    excess_bytes: float


def causes_of(scene: Scene) -> Mapping[tuple[tuple[str, int], ...], Cause]:
    """Return what each set of bursts brings, by (job, number) of the bursts; together the scene's mean excess."""
    seen, others = _seen([together(group, length_ns=scene.length_ns) for group in scene.groups])
    excess = replace(scene.excess, others=independent_levels([scene.excess.others, *others]))
    rate_bps = np.zeros(1) if seen is None else seen.rate_bps
    share = np.ones(1) if seen is None else seen.share
    beat_s = scene.beat_s
    excess_bps = excess(rate_bps)
    over_s = _chance_over(excess, rate_bps) * share * beat_s
    over_bytes = excess_bps * share * beat_s / BITS_PER_BYTE
    found: dict[tuple[tuple[str, int], ...], Cause] = {}
    for row in np.flatnonzero((excess_bps > LEAST_FRAC * excess.capacity_bps) & (share > 0)).tolist():
        bursts = _bursts(seen, row)
        key = tuple((burst.job, burst.number) for burst in bursts)
        found[key] = Cause(bursts=bursts, over_s=float(over_s[row]), excess_bytes=float(over_bytes[row]))
    return found


def _seen(groups: Sequence[Occupancy]) -> tuple[Occupancy | None, list[Levels]]:
    """Join groups while few enough sets come of it, those that vary most first; return the others as levels."""
    joined: Occupancy | None = None
    others = []
    for group in sorted(groups, key=lambda group: -group.variance):
        if joined is None:
            joined = group
        elif joined.share.size * group.share.size <= MAX_SETS:
            joined = beside(joined, group)
        else:
            others.append(_levels(group))
    return joined, others


def _levels(group: Occupancy) -> Levels:
    rate_bps, place = np.unique(group.rate_bps, return_inverse=True)
    weight = np.bincount(place, weights=group.share, minlength=rate_bps.size).astype(np.float64)
    return Levels(rate_bps=rate_bps, weight=weight)


def _chance_over(excess: Excess, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely the other traffic makes each rate exceed the capacity."""
    room_bps = excess.capacity_bps * (1 + LEAST_FRAC) - rate_bps
    fits = np.searchsorted(excess.others.rate_bps, room_bps, side="right")
    below = np.concatenate([[0.0], np.cumsum(excess.others.weight)])
    chance: NDArray[np.float64] = np.clip(1 - below[fits], 0.0, 1.0)
    return chance


def _bursts(seen: Occupancy | None, row: int) -> tuple[Burst, ...]:
    if seen is None:
        return ()
    numbers = seen.numbers[row].tolist()
    return tuple(
        sorted(part.bursts[number - 1] for part, number in zip(seen.parts, numbers, strict=True) if number > 0)
    )
