"""`plan_component`: shifts for jobs that are bound to each other, rehearsed on all their links at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pipeline.affinity import affinity_of
from pipeline.compat.result import JobShift
from pipeline.shifts.descent import search_links
from pipeline.shifts.network import network_of
from pipeline.shifts.rehearsal import MAX_STRETCH_FRAC, rehearse
from pipeline.shifts.standing import is_interleaved
from pipeline.shifts.traversal import traverse
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np

    from pipeline.affinity import Component, SolvedLink
    from pipeline.shifts.network import LinkNetwork
    from pipeline.shifts.rehearsal import Rehearsal
    from pipeline.simulation import JobRun

__all__ = ["ComponentPlan", "plan_component"]

MAX_NAMED: Final = 4
"""A warning names so many jobs or links."""

LOOP_GAP: Final = 0.01
"""A loop whose links lie less than this below their best is no trouble."""

MAX_TRIES: Final = 8
"""So often links are left out of a plan that makes jobs slower; then all of them are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPlan:
    """Shifts of the jobs of a component.

    ``left_out`` are links whose jobs are better off without slots on their account; ``unmanaged`` and ``planned`` each
    job's simulated iterations, empty where nothing was rehearsed.
    """

    shifts: Mapping[str, JobShift]
    gap: float = 0.0
    warnings: tuple[str, ...] = ()
    left_out: tuple[SolvedLink, ...] = ()
    unmanaged: Mapping[str, JobRun] = field(default_factory=dict)
    planned: Mapping[str, JobRun] = field(default_factory=dict)


def plan_component(component: Component, *, rng: np.random.Generator) -> ComponentPlan:
    """Return the plan that holds all links, or else those that remain when no job is slower than unmanaged.

    While the plan makes a job slower, on whichever link, the links that bind the worst-off job are left out.
    """
    paced = [link for link in component.links if link.compatibility.verdict == "paced"]
    kept = list(component.links)
    plan = _lay_out(kept, rng=rng)
    if not paced or all(is_interleaved(link) for link in paced):
        return plan
    rehearsal = rehearse(component, rng=rng)
    for n_try in range(MAX_TRIES + 1):
        plan, losers = _rehearsed(plan, rehearsal)
        if not losers:
            break
        dropped = paced if n_try == MAX_TRIES else _worst(paced, losers)
        paced = [link for link in paced if link not in dropped]
        kept = [link for link in kept if link not in dropped]
        plan = _lay_out(kept, rng=rng)
    left_out = tuple(link for link in component.links if link not in kept)
    warnings = (*plan.warnings, _left_out_warning(left_out)) if left_out else plan.warnings
    return replace(plan, left_out=left_out, warnings=warnings)


def _lay_out(links: Sequence[SolvedLink], *, rng: np.random.Generator) -> ComponentPlan:
    """Return shifts that suit all the links, whatever they cost the jobs."""
    shifts: dict[str, JobShift] = {}
    warnings = []
    gap = 0.0
    for component in affinity_of(links).components():
        network = network_of(component, rng=rng)
        shifts_ns = traverse(network)
        if not component.is_tree:
            shifts_ns = search_links(network, shifts_ns, rng=rng)
        lost = network.gap(shifts_ns)
        if not component.is_tree and lost > LOOP_GAP:
            warnings.append(_loop_warning(component, gap=lost))
        gap += lost
        shifts.update({shift.job: shift for shift in _job_shifts(network, shifts_ns)})
    return ComponentPlan(shifts=shifts, gap=gap, warnings=tuple(warnings))


def _rehearsed(plan: ComponentPlan, rehearsal: Rehearsal | None) -> tuple[ComponentPlan, list[str]]:
    """Return the plan with what was simulated of it, and the jobs that it makes slower, the worst first.

    Where nothing can be simulated these are the jobs that it stretches far.
    """
    if not any(shift.pace_period_s for shift in plan.shifts.values()):
        return plan, []
    if rehearsal is None:
        stretches = {job: shift.stretch_frac or 0.0 for job, shift in plan.shifts.items()}
        far = [job for job, stretch_frac in stretches.items() if stretch_frac > MAX_STRETCH_FRAC]
        return plan, sorted(far, key=lambda job: (-stretches[job], job))
    runs = rehearsal.follow(plan.shifts)
    return replace(plan, unmanaged=rehearsal.unmanaged, planned=runs), rehearsal.losers(plan.shifts, runs)


def _job_shifts(network: LinkNetwork, shifts_ns: Mapping[str, int]) -> Iterator[JobShift]:
    for job in network.jobs:
        yield JobShift(
            job=job,
            shift_s=shifts_ns[job] / NS_PER_S,
            pace_period_s=None if network.slots is None else network.slots.slot_s[job],
            stretch_frac=None if network.slots is None else network.slots.stretch_frac[job],
        )


def _worst(paced: Sequence[SolvedLink], losers: Sequence[str]) -> list[SolvedLink]:
    """Return the links of the worst-off job that is bound at all; all, if a loser is bound by none."""
    for job in losers:
        binding = [link for link in paced if job in link.compatibility.shifts_s]
        if binding:
            return binding
    return list(paced)


def _left_out_warning(links: Sequence[SolvedLink]) -> str:
    names = list(dict.fromkeys(link.link for link in links))
    return (
        f"jobs are not paced on account of {_named(names)}: slots in common with all that they meet would make some "
        "job slower than it is unmanaged"
    )


def _loop_warning(component: Component, *, gap: float) -> str:
    return (
        f"jobs {_named(component.jobs)} meet on links in a loop: no shifts were found that suit every link, and the "
        f"links together score at most {gap:.3g} below their own best"
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
