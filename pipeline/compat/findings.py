"""`Findings`: what is computed about the jobs of a link before anything is advised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, overload

from pipeline.compat.cassini import cassini_score
from pipeline.compat.groups import groups_of
from pipeline.compat.horizon import best_shifts, independent_excess
from pipeline.compat.levels import Excess, independent_levels, levels_of
from pipeline.compat.observed import observed_shifts_ns
from pipeline.compat.paced import paced_shifts
from pipeline.compat.plateaus import ranges_of
from pipeline.compat.relations import beat_of
from pipeline.compat.robust import UnderJitter, under_jitter
from pipeline.compat.robust_classes import classes_under_jitter
from pipeline.compat.timeline import Circle, excess_at
from pipeline.simulation.job import jitter_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from pipeline.compat.groups import Group
    from pipeline.compat.horizon import BestShifts
    from pipeline.compat.members import Members
    from pipeline.compat.paced import PacedShifts
    from pipeline.compat.plateaus import ShiftRanges
    from pipeline.compat.relations import Beat
    from pipeline.compat.terms import Terms
    from pipeline.deadline import Deadline

__all__ = ["Findings", "find"]

SEARCH_FRAC: Final = 0.6
"""Of the time, for the best shifts; the slots, the good shifts and the effect of jitter need the rest."""

HELD_FRAC: Final = 0.8
"""Of the time, until the shifts of held jobs are to be found too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Mean excess of the periodic jobs of a link, in bit/s, under several rules; None where it cannot be said.

    ``ranges`` are the shifts of each job that serve as well as the best, ``now_ns`` the shifts observed. ``bursts_bps``
    is the excess at the best shifts if background of which only mean and peak are known came at its peak or not at all.
    """

    members: Members
    terms: Terms
    beats: tuple[Beat, ...]
    best: BestShifts
    ranges: tuple[ShiftRanges | None, ...]
    paced: PacedShifts
    random_bps: float
    now_ns: tuple[int, ...] | None
    now_bps: float | None
    robust: UnderJitter
    bursts_bps: float | None
    cassini: float | None

    @overload
    def score(self, excess_bps: float) -> float: ...
    @overload
    def score(self, excess_bps: None) -> None: ...
    def score(self, excess_bps: float | None) -> float | None:
        """Return the score of a mean excess."""
        return None if excess_bps is None else 1 - excess_bps / self.terms.capacity_bps


def find(members: Members, *, terms: Terms, rng: np.random.Generator, deadline: Deadline) -> Findings:
    """Compute everything about the jobs of a link, of which at least one must be periodic."""
    excess = Excess(capacity_bps=terms.capacity_bps, others=members.background)
    profiles, demands = list(members.profiles.values()), list(members.demands.values())
    beats = tuple(beat_of(profile, jitter_frac=jitter_of(profile)) for profile in profiles)
    best = best_shifts(
        demands,
        beats=beats,
        excess=excess,
        horizon_s=terms.horizon_s,
        rng=rng,
        deadline=_until(deadline, SEARCH_FRAC),
    )
    groups = groups_of(best, excess=excess)
    now_ns = _now_ns(best, beats=beats, anchors_ns=[profile.anchor_ns for profile in profiles])
    within_bps = terms.tolerance_frac * terms.capacity_bps
    held_until = _until(deadline, HELD_FRAC)
    return Findings(
        members=members,
        terms=terms,
        beats=beats,
        best=best,
        paced=paced_shifts(members.profiles, excess=excess, within_bps=within_bps, rng=rng, deadline=held_until),
        ranges=ranges_of(best.demands, groups, within_bps=within_bps, deadline=deadline),
        # Thinned distributions may put chance a hair below the best, which no shift can fall short of.
        random_bps=max(best.excess_bps, independent_excess(demands, excess=excess)),
        now_ns=now_ns,
        now_bps=None if now_ns is None or best.timeline is None else excess_at(best.timeline, now_ns),
        robust=_robust(best, groups, excess=excess, jitter_frac=terms.jitter_frac, deadline=deadline),
        bursts_bps=_bursts_bps(best, members, capacity_bps=terms.capacity_bps),
        cassini=None if deadline.is_over() else cassini_score(best.demands, excess=excess),
    )


def _until(deadline: Deadline, frac: float) -> Deadline:
    """Return an earlier deadline, after a fraction of the time; never if there is none."""
    if not deadline.is_finite:
        return deadline
    return replace(deadline, end_s=deadline.start_s + frac * (deadline.end_s - deadline.start_s))


def _now_ns(best: BestShifts, *, beats: Sequence[Beat], anchors_ns: Sequence[int | None]) -> tuple[int, ...] | None:
    """Return the shifts as observed, where all jobs keep a phase."""
    if best.timeline is None:
        return None
    now_ns = observed_shifts_ns(best.demands, beats=beats, anchors_ns=anchors_ns)
    return None if now_ns is None else tuple(now_ns)


def _robust(
    best: BestShifts, groups: Sequence[Group], *, excess: Excess, jitter_frac: float, deadline: Deadline
) -> UnderJitter:
    """Return the excess under jitter: where no jobs keep a phase, that of any shifts."""
    if not groups:
        return UnderJitter(expected_bps=best.excess_bps, worst_bps=best.excess_bps, is_worst_proved=True)
    if len(groups) == 1:
        (group,) = groups
        return under_jitter(group.timeline, group.shifts_ns, jitter_frac=jitter_frac, deadline=deadline)
    grouped = {i_job for group in groups for i_job in group.members}
    alone = [levels_of(demand) for i_job, demand in enumerate(best.demands) if i_job not in grouped]
    beside = replace(excess, others=independent_levels([excess.others, *alone]))
    return classes_under_jitter(groups, beside=beside, jitter_frac=jitter_frac, deadline=deadline)


def _bursts_bps(best: BestShifts, members: Members, *, capacity_bps: float) -> float | None:
    if members.bursts is None or not isinstance(best.timeline, Circle):
        return None
    bursty = replace(best.timeline, excess=Excess(capacity_bps=capacity_bps, others=members.bursts))
    return excess_at(bursty, best.shifts_ns)
