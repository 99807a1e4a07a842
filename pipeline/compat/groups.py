"""`groups_of`: jobs that keep a phase relative to each other, each group on the timeline that judges its shifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.classes import seen_by
from pipeline.compat.standing import curves_at
from pipeline.compat.timeline import Circle

if TYPE_CHECKING:
    from pipeline.compat.horizon import BestShifts
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.levels import Excess
    from pipeline.compat.timeline import Timeline

__all__ = ["Group", "groups_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some jobs, by index, at their shifts; ``excess`` is that of the timeline and counts all other traffic."""

    members: tuple[int, ...]
    timeline: Timeline
    excess: Excess
    shifts_ns: tuple[int, ...]

    def curves(self) -> Iterator[ShiftCurve]:
        """Yield the mean excess against the shift of each member, the others standing still."""
        return curves_at(self.timeline, self.shifts_ns)


def groups_of(best: BestShifts, *, excess: Excess) -> tuple[Group, ...]:
    """Return the groups of several jobs."""
    if best.timeline is not None:
        everyone = range(len(best.demands))
        return (Group(members=tuple(everyone), timeline=best.timeline, excess=excess, shifts_ns=best.shifts_ns),)
    return tuple(
        _class(best, i_class, excess=excess) for i_class, members in enumerate(best.classes) if len(members) > 1
    )


def _class(best: BestShifts, i_class: int, *, excess: Excess) -> Group:
    members = best.classes[i_class]
    seen = seen_by(i_class, best.classes, demands=best.demands, shifts=best.shifts_ns, excess=excess)
    return Group(
        members=members,
        timeline=Circle(demands=[best.demands[i] for i in members], excess=seen),
        excess=seen,
        shifts_ns=tuple(best.shifts_ns[i] for i in members),
    )
