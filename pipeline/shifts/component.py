"""`plan_components`: shifts for jobs that are bound to each other, rehearsed on all their links at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from pipeline.affinity import affinity_of
from pipeline.shifts.layout import lay_out
from pipeline.shifts.rehearsal import MAX_STRETCH_FRAC, rehearse
from pipeline.shifts.standing import is_interleaved

if TYPE_CHECKING:
    from pipeline.affinity import Component, SolvedLink
    from pipeline.compat.result import JobShift
    from pipeline.deadline import Deadline
    from pipeline.shifts.layout import Layout
    from pipeline.shifts.options import PlanOptions
    from pipeline.shifts.rehearsal import Rehearsal
    from pipeline.simulation import JobRun

__all__ = ["ComponentPlan", "plan_components"]

MAX_NAMED: Final = 4
"""A warning names so many jobs or links."""

LOOP_GAP: Final = 0.01
"""A loop whose links lie less than this below their best, all together, is no trouble."""

MAX_TRIES: Final = 8
"""So often links are left out of a plan that makes jobs slower; then all of them are."""

ROUNDING: Final = 1e-9
"""A plan that scores lower than no plan by less is as good."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComponentPlan:
    """Shifts of the jobs of a component.

    Parameters
    ----------
    layouts
        One for each part into which it falls without the links that are left out.
    left_out
        Links whose jobs are better off without shifts on their account.
    warnings
        What a user should know.
    unmanaged, planned
        Each job's simulated iterations, empty where nothing was rehearsed.
    """

    layouts: tuple[Layout, ...]
    left_out: tuple[SolvedLink, ...] = ()
    warnings: tuple[str, ...] = ()
    unmanaged: Mapping[str, JobRun] = field(default_factory=dict)
    planned: Mapping[str, JobRun] = field(default_factory=dict)

    @property
    def shifts(self) -> dict[str, JobShift]:
        """The shift of each job that some link binds."""
        return {job: shift for layout in self.layouts for job, shift in layout.shifts.items()}


def plan_components(
    components: Sequence[Component], *, options: PlanOptions, deadline: Deadline
) -> list[ComponentPlan]:
    """Return plans that hold all links, or else those that remain when no job is slower and no score lower for it."""
    layouts = lay_out(components, options=options, deadline=deadline)
    return [_sound(_rehearsed(layout, options=options, deadline=deadline), options=options) for layout in layouts]


def _rehearsed(layout: Layout, *, options: PlanOptions, deadline: Deadline) -> ComponentPlan:
    """Return the plan that is left when it makes no job slower than unmanaged.

    While it makes a job slower, on whichever link, the links that bind the worst-off job are left out.
    """
    component = layout.component
    plan = ComponentPlan(layouts=(layout,))
    paced = [link for link in component.links if link.compatibility.verdict == "paced"]
    if not paced or all(is_interleaved(link) for link in paced):
        return plan
    rehearsal = rehearse(component, seed=options.seed)
    kept = list(component.links)
    for n_try in range(MAX_TRIES + 1):
        plan, losers = _followed(plan, rehearsal)
        if not losers:
            break
        dropped = paced if n_try == MAX_TRIES else _worst(paced, losers)
        paced = [link for link in paced if link not in dropped]
        kept = [link for link in kept if link not in dropped]
        parts = lay_out(list(affinity_of(kept).components()), options=options, deadline=deadline)
        plan = ComponentPlan(layouts=tuple(parts))
    left_out = tuple(link for link in component.links if link not in kept)
    return replace(plan, left_out=left_out, warnings=(_slower_warning(left_out),) if left_out else ())


def _followed(plan: ComponentPlan, rehearsal: Rehearsal | None) -> tuple[ComponentPlan, list[str]]:
    """Return the plan with what was simulated of it, and the jobs that it makes slower, the worst first.

    Where nothing can be simulated these are the jobs that it stretches far.
    """
    shifts = plan.shifts
    if not any(shift.pace_period_s for shift in shifts.values()):
        return plan, []
    if rehearsal is None:
        stretches = {job: shift.stretch_frac or 0.0 for job, shift in shifts.items()}
        far = [job for job, stretch_frac in stretches.items() if stretch_frac > MAX_STRETCH_FRAC]
        return plan, sorted(far, key=lambda job: (-stretches[job], job))
    runs = rehearsal.follow(shifts)
    return replace(plan, unmanaged=rehearsal.unmanaged, planned=runs), rehearsal.losers(shifts, runs)


def _worst(paced: Sequence[SolvedLink], losers: Sequence[str]) -> list[SolvedLink]:
    """Return the links of the worst-off job that is bound at all; all, if a loser is bound by none."""
    for job in losers:
        binding = [link for link in paced if job in link.compatibility.shifts_s]
        if binding:
            return binding
    return list(paced)


def _sound(plan: ComponentPlan, *, options: PlanOptions) -> ComponentPlan:
    """Return the plan without what scores lower than jobs left alone, and with what it should warn of."""
    sound = tuple(layout for layout in plan.layouts if not _is_below_chance(layout, options))
    unsound = [layout.component for layout in plan.layouts if layout not in sound]
    warnings = [_chance_warning(component) for component in unsound]
    warnings += [_loop_warning(layout) for layout in sound if _has_gap(layout)]
    left_out = (*plan.left_out, *chain.from_iterable(component.links for component in unsound))
    return replace(plan, layouts=sound, left_out=left_out, warnings=(*warnings, *plan.warnings))


def _is_below_chance(layout: Layout, options: PlanOptions) -> bool:
    if len(options.pinned.keys() & layout.component.jobs) > 1:
        return False  # Jobs pinned against each other do not meet by chance.
    random = layout.tally.random_score(options.objective)
    return random is not None and layout.tally.score(options.objective) < random - ROUNDING


def _has_gap(layout: Layout) -> bool:
    return not layout.component.is_tree and layout.tally.lost.sum() > LOOP_GAP


def _slower_warning(links: Sequence[SolvedLink]) -> str:
    names = list(dict.fromkeys(link.link for link in links))
    return (
        f"jobs are not paced on account of {_named(names)}: slots in common with all that they meet would make some "
        "job slower than it is unmanaged"
    )


def _chance_warning(component: Component) -> str:
    return (
        f"jobs {_named(component.jobs)} get no shifts: none were found with which their links, together, score higher "
        "than by chance"
    )


def _loop_warning(layout: Layout) -> str:
    return (
        f"jobs {_named(layout.component.jobs)} meet on links in a loop: no shifts were found that suit every link, and "
        f"the links together score at most {layout.tally.lost.sum():.3g} below their own best"
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
