"""`Findings`: what is computed about the jobs of a link before anything is advised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from pipeline.compat.cassini import cassini_score
from pipeline.compat.horizon import best_shifts, independent_excess
from pipeline.compat.levels import Excess, Levels
from pipeline.compat.observed import observed_shifts_ns
from pipeline.compat.paced import paced_shifts
from pipeline.compat.pacing import jitter_of
from pipeline.compat.relations import beat_of
from pipeline.compat.robust import robust_excess
from pipeline.compat.timeline import excess_at

if TYPE_CHECKING:
    import numpy as np

    from pipeline.compat.horizon import BestShifts
    from pipeline.compat.members import Members
    from pipeline.compat.paced import PacedShifts

__all__ = ["Findings", "find"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Mean excess of the periodic jobs of a link, in bit/s, under several rules; None where it cannot be said."""

    members: Members
    capacity_bps: float
    horizon_s: float | None
    best: BestShifts
    paced: PacedShifts
    random_bps: float
    now_bps: float | None
    robust_bps: float | None
    cassini: float | None

    @overload
    def score(self, excess_bps: float) -> float: ...
    @overload
    def score(self, excess_bps: None) -> None: ...
    def score(self, excess_bps: float | None) -> float | None:
        """Return the score of a mean excess."""
        return None if excess_bps is None else 1 - excess_bps / self.capacity_bps


def find(members: Members, *, capacity_bps: float, horizon_s: float | None, rng: np.random.Generator) -> Findings:
    """Compute everything about the jobs of a link, of which at least one must be periodic."""
    excess = Excess(capacity_bps=capacity_bps, others=Levels.certain(members.background_bps))
    profiles, demands = list(members.profiles.values()), list(members.demands.values())
    beats = [beat_of(profile, jitter_frac=jitter_of(profile)) for profile in profiles]
    best = best_shifts(demands, beats=beats, excess=excess, horizon_s=horizon_s, rng=rng)
    now_bps = robust_bps = None
    if best.timeline is not None:
        now_ns = observed_shifts_ns(best.demands, beats=beats, anchors_ns=[p.anchor_ns for p in profiles])
        now_bps = None if now_ns is None else excess_at(best.timeline, now_ns)
        robust_bps = robust_excess(best.timeline, best.shifts_ns)
    return Findings(
        members=members,
        capacity_bps=capacity_bps,
        horizon_s=horizon_s,
        best=best,
        paced=paced_shifts(members.profiles, excess=excess, rng=rng),
        # Thinned distributions may put chance a hair below the best, which no shift can fall short of.
        random_bps=max(best.excess_bps, independent_excess(demands, excess=excess)),
        now_bps=now_bps,
        robust_bps=robust_bps,
        cassini=cassini_score(best.demands, excess=excess),
    )
