"""`Shape`: the bursts of a typical iteration, each with its levels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.phases.phase import Phase

__all__ = ["Burst", "Shape", "shape_of"]

CLEAR_DOWN_SPREAD: Final = 0.2
CLEAR_UP_SPREAD: Final = 3.0
"""Where windows stray further than these fractions of a burst's height, single bursts are lost in noise."""
TOUCHING_FRAC: Final = 1e-6
"""Up phases less than this part of the first one's width apart touch, but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One Up stretch of an iteration: [start, end) in seconds after the iteration's start, which may be negative.

    ``rates_bps`` are its levels, in order, and ``cuts_frac`` where in the burst each but the first begins.
    """

    start_s: float
    end_s: float
    rates_bps: tuple[float, ...]
    cuts_frac: tuple[float, ...] = ()

    @property
    def width_s(self) -> float:
        """Seconds from start to end."""
        return self.end_s - self.start_s

    @property
    def rate_bps(self) -> float:
        """Mean rate."""
        bounds = itertools.pairwise((0.0, *self.cuts_frac, 1.0))
        return float(sum((high - low) * rate_bps for (low, high), rate_bps in zip(bounds, self.rates_bps, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The bursts of an iteration, at least one, the longest Down stretch last, and the rate while Down.

    ``up_spread_bps`` and ``down_spread_bps`` are by how much single windows stray from it, as standard deviations.
    ``asides_s`` are from when to when bursts last that are too small to be phases, in seconds after the iteration's
    start; whole iterations may be off.
    """

    bursts: tuple[Burst, ...]
    down_bps: float
    asides_s: tuple[tuple[float, float], ...] = ()
    up_spread_bps: float = 0.0
    down_spread_bps: float = 0.0

    @property
    def height_bps(self) -> float:
        """How far the lowest level of any burst stands above Down."""
        return min(rate for burst in self.bursts for rate in burst.rates_bps) - self.down_bps

    @property
    def is_clear(self) -> bool:
        """Whether single bursts can be told from noise, and keep together for all their texture."""
        mean_bps = min(burst.rate_bps for burst in self.bursts) - self.down_bps
        return (
            self.down_spread_bps <= CLEAR_DOWN_SPREAD * self.height_bps
            and self.up_spread_bps <= CLEAR_UP_SPREAD * mean_bps
        )


def shape_of(phases: Sequence[Phase]) -> Shape:
    """Return the bursts that phases are of, at least one Up phase: those that touch are levels of one burst."""
    ups = [phase for phase in phases if phase.kind == "up"]
    groups = [[ups[0]]]
    for up in ups[1:]:
        last = groups[-1][-1]
        if up.start_s - (last.start_s + last.width_s) <= TOUCHING_FRAC * last.width_s:
            groups[-1].append(up)
        else:
            groups.append([up])
    downs = [phase.rate_bps for phase in phases if phase.kind == "down"]
    bursts = []
    for group in groups:
        start_s, end_s = group[0].start_s, group[-1].start_s + group[-1].width_s
        bursts.append(
            Burst(
                start_s=start_s,
                end_s=end_s,
                rates_bps=tuple(up.rate_bps for up in group),
                cuts_frac=tuple((up.start_s - start_s) / (end_s - start_s) for up in group[1:]),
            )
        )
    return Shape(bursts=tuple(bursts), down_bps=min(downs, default=0.0))
