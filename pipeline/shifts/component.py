"""`plan_components`: shifts for jobs that are bound to each other, rehearsed on all their links at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pipeline.affinity import affinity_of
from pipeline.compat.loss import MAX_LOSS_FRAC, MAX_STRETCH_FRAC
from pipeline.shifts.layout import lay_out
from pipeline.shifts.omission import named, omit
from pipeline.shifts.rehearsal import rehearse
from pipeline.shifts.standing import is_interleaved
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.affinity import Component, SolvedLink
    from pipeline.compat.result import JobShift
    from pipeline.deadline import Deadline
    from pipeline.shifts.layout import Layout
    from pipeline.shifts.omission import Omission
    from pipeline.shifts.options import PlanOptions
    from pipeline.shifts.rehearsal import Rehearsal
    from pipeline.simulation import JobRun

__all__ = ["ComponentPlan", "plan_components"]

LOOP_GAP: Final = 0.01
"""A loop whose links lie less than this below their best, all together, is no trouble."""

MAX_TRIES: Final = 8
"""So often links are left out of a plan that makes jobs slower; then all of them are."""

MAX_FREE_LOSS_FRAC: Final = 0.05
"""Where nobody is held and jobs gain on average, one may lose up to this: to spare it would cost the others more."""

NO_GAIN: Final = "no shifts were found that score higher than chance"
"""Of links that are left out for their score."""

ROUNDING: Final = 1e-9
"""A plan that scores lower than no plan by less is as good; an excess that is less is none."""


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
    left_out: tuple[Omission, ...] = ()
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
    """Return the plan that is left when it makes no job slower than unmanaged, or few by little and others faster.

    While it makes a job slower, on whichever link, the links that bind the worst-off job are left out.
    """
    component = layout.component
    plan = ComponentPlan(layouts=(layout,))
    if _is_certain(layout):
        return plan
    rehearsal = rehearse(component, seed=options.seed, pinned_s={} if _is_paced(component) else options.pinned)
    kept = list(component.links)
    left_out: list[Omission] = []
    for n_try in range(MAX_TRIES + 1):
        plan, losers = _followed(plan, rehearsal)
        if not losers or _is_worth_it(plan):
            break
        loser, dropped = _worst(kept, losers)
        dropped = kept if n_try == MAX_TRIES else dropped
        left_out += omit(dropped, found=losers[loser], component=component, pinned=options.pinned)
        kept = [link for link in kept if link not in dropped]
        parts = lay_out(list(affinity_of(kept).components()), options=options, deadline=deadline)
        plan, losers = ComponentPlan(layouts=tuple(parts)), {}
    warnings = (*_slower_warnings(left_out), *_loser_warnings(losers, plan))
    return replace(plan, left_out=tuple(left_out), warnings=warnings)


def _is_certain(layout: Layout) -> bool:
    """Return whether jobs already run as the plan says, or it keeps all bursts apart and holds nobody."""
    return all(
        is_interleaved(link) or (link.compatibility.verdict != "paced" and excess <= ROUNDING)
        for link, excess in zip(layout.component.links, layout.tally.excess, strict=True)
    )


def _is_paced(component: Component) -> bool:
    """Return whether jobs lose their phases unless they are held, wherever they are pinned."""
    return any(link.compatibility.verdict == "paced" for link in component.links)


def _followed(plan: ComponentPlan, rehearsal: Rehearsal | None) -> tuple[ComponentPlan, dict[str, str]]:
    """Return the plan with what was simulated of it, and what it does to jobs that it makes slower, the worst first.

    Where nothing can be simulated these are the jobs that it stretches far.
    """
    shifts = plan.shifts
    if not shifts:
        return plan, {}
    if rehearsal is None:
        stretches = {job: shift.stretch_frac or 0.0 for job, shift in shifts.items()}
        far = [job for job, stretch_frac in stretches.items() if stretch_frac > MAX_STRETCH_FRAC]
        far.sort(key=lambda job: (-stretches[job], job))
        return plan, {job: f"slots would stretch job {job} by {stretches[job]:.0%}" for job in far}
    runs = rehearsal.follow(shifts)
    losers = {job: _loss(rehearsal.unmanaged[job], runs[job]) for job in rehearsal.losers(shifts, runs)}
    return replace(plan, unmanaged=rehearsal.unmanaged, planned=runs), losers


def _is_worth_it(plan: ComponentPlan) -> bool:
    """Return whether a plan that holds nobody makes jobs faster on average, and none much slower."""
    if not plan.planned or any(shift.pace_period_s for shift in plan.shifts.values()):
        return False
    ratios = _ratios(plan)
    return sum(ratios) < len(ratios) and max(ratios) <= 1 + MAX_FREE_LOSS_FRAC


def _ratios(plan: ComponentPlan) -> list[float]:
    """Return how long each job's mean iteration is with the plan, as a fraction of its unmanaged one."""
    return [run.mean_s / plan.unmanaged[job].mean_s for job, run in plan.planned.items()]


def _loss(unmanaged: JobRun, planned: JobRun) -> str:
    """Return what a rehearsal saw of a job that loses, in the mean or, where that does not tell it, at the 90th."""
    before_s, after_s, where = unmanaged.mean_s, planned.mean_s, "in the mean"
    if after_s <= before_s * (1 + MAX_LOSS_FRAC):
        before_s, after_s, where = unmanaged.p90_s, planned.p90_s, "at the 90th percentile"
    return (
        f"job {planned.job}'s simulated iterations would go from {format_duration(before_s)} to "
        f"{format_duration(after_s)} {where}"
    )


def _worst(kept: Sequence[SolvedLink], losers: Iterable[str]) -> tuple[str, list[SolvedLink]]:
    """Return the worst-off job that is bound at all, and the links that bind it; all, if no loser is bound.

    What needs pacing binds more than what does not.
    """
    for job in losers:
        binding = [link for link in kept if job in link.compatibility.shifts_s]
        if binding:
            return job, [link for link in binding if link.compatibility.verdict == "paced"] or binding
    return next(iter(losers)), list(kept)


def _sound(plan: ComponentPlan, *, options: PlanOptions) -> ComponentPlan:
    """Return the plan without what scores lower than jobs left alone, and with what it should warn of."""
    sound = tuple(layout for layout in plan.layouts if not _is_below_chance(layout, options))
    unsound = [layout.component for layout in plan.layouts if layout not in sound]
    warnings = [_chance_warning(component) for component in unsound]
    warnings += [_loop_warning(layout) for layout in sound if _has_gap(layout)]
    left_out = [*plan.left_out]
    for component in unsound:
        left_out += omit(component.links, found=NO_GAIN, component=component, pinned=options.pinned)
    return replace(plan, layouts=sound, left_out=tuple(left_out), warnings=(*warnings, *plan.warnings))


def _is_below_chance(layout: Layout, options: PlanOptions) -> bool:
    if len(options.pinned.keys() & layout.component.jobs) > 1:
        return False  # Jobs pinned against each other do not meet by chance.
    random = layout.tally.random_score(options.objective)
    return random is not None and layout.tally.score(options.objective) < random - ROUNDING


def _has_gap(layout: Layout) -> bool:
    return not layout.component.is_tree and layout.tally.lost.sum() > LOOP_GAP


def _slower_warnings(left_out: Sequence[Omission]) -> Iterator[str]:
    for found in dict.fromkeys(omission.found for omission in left_out):
        names = list(dict.fromkeys(omission.link.link for omission in left_out if omission.found == found))
        yield f"no shifts are advised on account of {named(names)}: with them {found}"


def _loser_warnings(losers: Mapping[str, str], plan: ComponentPlan) -> Iterator[str]:
    if losers:
        ratios = _ratios(plan)
        yield (
            f"jobs {named(list(losers))} lose by the plan, the first most: {next(iter(losers.values()))}; on average "
            f"jobs gain {1 - sum(ratios) / len(ratios):.1%}"
        )


def _chance_warning(component: Component) -> str:
    return (
        f"jobs {named(component.jobs)} get no shifts: none were found with which their links, together, score higher "
        "than by chance"
    )


def _loop_warning(layout: Layout) -> str:
    return (
        f"jobs {named(layout.component.jobs)} meet on links in a loop: no shifts were found that suit every link, and "
        f"the links together score at most {layout.tally.lost.sum():.3g} below their own best"
    )
