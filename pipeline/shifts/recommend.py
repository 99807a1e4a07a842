"""`recommend`: from solved links to one plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.affinity import affinity_of
from pipeline.compat.members import members_of
from pipeline.compat.result import JobShift
from pipeline.shifts.descent import search_links
from pipeline.shifts.network import network_of
from pipeline.shifts.plan import ShiftPlan
from pipeline.shifts.traversal import traverse
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.affinity import Component, SolvedLink
    from pipeline.shifts.network import LinkNetwork

__all__ = ["recommend"]

MAX_NAMED: Final = 4
"""A warning names so many jobs."""

LOOP_GAP: Final = 0.01
"""A loop whose links lie less than this below their best is no trouble."""


def recommend(links: Sequence[SolvedLink], *, rng: np.random.Generator | None = None) -> ShiftPlan:
    """Return one shift a job, good for all links that it crosses.

    Parameters
    ----------
    links
        Links with the demands on them and their compatibility; those whose verdict recommends no shift bind nobody.
    rng
        Source of the search on graphs with loops; by default always the same.

    Returns
    -------
    ShiftPlan
        A shift for every periodic job of any link, in order of names; jobs that no link binds have shift 0 and no slot.

    Notes
    -----
    Components of the affinity graph are solved apart. On a tree the traversal has every link at its best; with loops it
    is where a descent over all links begins. All jobs of a paced component hold slots of one common period.
    """
    rng = rng or np.random.default_rng(0)
    graph = affinity_of(links)
    shifts = {job: JobShift(job=job, shift_s=0.0) for link in links for job in members_of(link.demands).profiles}
    gaps: list[float] = []
    warnings: list[str] = []
    for component in graph.components():
        network = network_of(component, rng=rng)
        shifts_ns = traverse(network)
        if not component.is_tree:
            shifts_ns = search_links(network, shifts_ns, rng=rng)
        gaps.append(network.gap(shifts_ns))
        if not component.is_tree and gaps[-1] > LOOP_GAP:
            warnings.append(_loop_warning(component, gap=gaps[-1]))
        shifts.update({shift.job: shift for shift in _job_shifts(network, shifts_ns)})
    return ShiftPlan(
        shifts=tuple(shifts[job] for job in sorted(shifts)),
        gap=sum(gaps) / max(1, len(graph.links)),
        warnings=tuple(warnings),
        method="traversal" if graph.is_tree else "traversal, then descent over all links",
    )


def _job_shifts(network: LinkNetwork, shifts_ns: Mapping[str, int]) -> Iterator[JobShift]:
    for job in network.jobs:
        yield JobShift(
            job=job,
            shift_s=shifts_ns[job] / NS_PER_S,
            pace_period_s=None if network.slots is None else network.slots.slot_s[job],
            stretch_frac=None if network.slots is None else network.slots.stretch_frac[job],
        )


def _loop_warning(component: Component, *, gap: float) -> str:
    jobs = ", ".join(component.jobs[:MAX_NAMED]) + (", …" if len(component.jobs) > MAX_NAMED else "")
    return (
        f"jobs {jobs} meet on links in a loop: no shifts suit every link, and the links together score at most "
        f"{gap:.3g} below their own best"
    )
