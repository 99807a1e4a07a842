"""`recommend_shifts`: from solved links to one plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.affinity import affinity_of
from pipeline.compat.result import JobShift
from pipeline.deadline import Deadline
from pipeline.shifts.component import plan_components
from pipeline.shifts.leads import leads_of
from pipeline.shifts.options import PlanOptions
from pipeline.shifts.plan import ShiftPlan
from pipeline.shifts.tally import Tally

if TYPE_CHECKING:
    from pipeline.affinity import Component, SolvedLink

__all__ = ["recommend_shifts"]


def recommend_shifts(
    links: Sequence[SolvedLink], *, options: PlanOptions | None = None, sizes: Mapping[str, float] | None = None
) -> ShiftPlan:
    """Return one shift a job, good for all links that it crosses.

    Parameters
    ----------
    links
        Links with the demands on them and their compatibility; those whose verdict recommends no shift bind nobody.
        Their order, and that of jobs on them, does not matter.
    options
        Objective, weights of jobs, pinned jobs, time budget, seed. By default the mean over links counts, and all jobs
        may be moved.
    sizes
        What jobs count in that mean where ``options`` gives them no weight; by default all alike.

    Returns
    -------
    ShiftPlan
        A shift for every periodic job of any link, in order of names; jobs that no link binds have shift 0 and no slot,
        or stay where they are pinned. Without a time budget the same links always have the same plan.

    Notes
    -----
    Components of the affinity graph are solved apart. On a tree the traversal has every link at its best [1]_; with
    loops, or between pinned jobs, it is where a descent over all links begins: links drawn by how far they lie from
    their best are perturbed, and what is near them descends again. ``gap`` says how far the plan can lie below the best
    there is. All jobs of a component with a paced link hold slots of one common period; those of any other hold none.
    A component is simulated as a whole before its plan is advised, unless it is too large, or nobody is held and all
    bursts keep apart: links whose jobs it would make slower are left out, and so are components that score less with a
    plan than without. Where nobody is held and jobs gain on average, those that lose a little are warned of instead.

    References
    ----------
    .. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
       NSDI 2024, algorithm 1.

    Examples
    --------
    >>> from pipeline.analysis import LinkAnalysis
    >>> from pipeline.compat import solve
    >>> from profiler.phases import TrafficProfile
    >>> vgg = TrafficProfile.from_phases(period_s=0.255, phases=[(0.0, 0.114, 400e6)])
    >>> def link(name, *jobs):
    ...     demands = dict.fromkeys(jobs, vgg)
    ...     found = solve(demands, capacity_bps=400e6)
    ...     return LinkAnalysis(
    ...         link=name, direction="forward", capacity_bps=400e6, demands=demands, compatibility=found
    ...     )
    >>> recommend_shifts([link("x", "A", "B"), link("y", "B", "C")]).shifts_s
    {'A': 0.0, 'B': 0.1275, 'C': 0.0}
    """
    asked = options or PlanOptions()
    options = asked.sized(sizes or {})
    deadline = Deadline.after(options.budget_s)
    components = list(affinity_of(links).components())
    jobs = sorted({job for link in links for job, profile in link.demands.items() if profile.status == "periodic"})
    shifts = {job: JobShift(job=job, shift_s=options.pinned.get(job, 0.0)) for job in jobs}
    parts = plan_components(components, options=options, deadline=deadline)
    for part in parts:
        shifts.update(part.shifts)
    why_left_out = {omission.key: omission.why for part in parts for omission in part.left_out}
    leads_s = leads_of(links)
    tally = Tally.of_all(layout.tally for part in parts for layout in part.layouts)
    score = tally.score(options.objective)
    return ShiftPlan(
        shifts=tuple(replace(shift, lead_s=leads_s[job]) for job, shift in shifts.items()),
        gap=max(0.0, tally.best_score(options.objective) - score),
        score=score,
        score_random=tally.random_score(options.objective),
        objective=options.objective,
        warnings=(*(warning for part in parts for warning in part.warnings), *asked.unused(jobs)),
        method=_method(components, options),
        left_out=tuple(why_left_out),
        why_left_out=why_left_out,
        unmanaged={job: run for part in parts for job, run in part.unmanaged.items()},
        planned={job: run for part in parts for job, run in part.planned.items()},
        elapsed_s=deadline.elapsed_s(),
    )


def _method(components: Sequence[Component], options: PlanOptions) -> str:
    if all(component.is_tree and len(options.pinned.keys() & component.jobs) <= 1 for component in components):
        return "traversal"
    return "traversal, then descent over all links"
