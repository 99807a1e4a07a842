"""`recommend`: from solved links to one plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipeline.affinity import affinity_of
from pipeline.compat.members import members_of
from pipeline.compat.result import JobShift
from pipeline.shifts.component import plan_component
from pipeline.shifts.plan import ShiftPlan

if TYPE_CHECKING:
    from pipeline.affinity import SolvedLink

__all__ = ["recommend"]


def recommend(links: Sequence[SolvedLink], *, rng: np.random.Generator | None = None) -> ShiftPlan:
    """Return one shift a job, good for all links that it crosses.

    Parameters
    ----------
    links
        Links with the demands on them and their compatibility; those whose verdict recommends no shift bind nobody.
    rng
        Source of the search on graphs with loops and of the rehearsal; by default always the same.

    Returns
    -------
    ShiftPlan
        A shift for every periodic job of any link, in order of names; jobs that no link binds have shift 0 and no slot.

    Notes
    -----
    Components of the affinity graph are solved apart. On a tree the traversal has every link at its best; with loops it
    is where a descent over all links begins. All jobs of a paced component hold slots of one common period, and the
    whole is simulated before it is advised: links whose slots would make a job slower are left out.
    """
    rng = rng or np.random.default_rng(0)
    graph = affinity_of(links)
    shifts = {job: JobShift(job=job, shift_s=0.0) for link in links for job in members_of(link.demands).profiles}
    parts = [plan_component(component, rng=rng) for component in graph.components()]
    for part in parts:
        shifts.update(part.shifts)
    left_out = tuple((link.link, link.direction) for part in parts for link in part.left_out)
    return ShiftPlan(
        shifts=tuple(shifts[job] for job in sorted(shifts)),
        gap=sum(part.gap for part in parts) / max(1, len(graph.links) - len(left_out)),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        method="traversal" if graph.is_tree else "traversal, then descent over all links",
        left_out=left_out,
        unmanaged={job: run for part in parts for job, run in part.unmanaged.items()},
        planned={job: run for part in parts for job, run in part.planned.items()},
    )
