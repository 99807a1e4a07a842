"""`lay_out`: shifts that suit all links of some components, whatever pacing may cost the jobs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.result import JobShift
from pipeline.shifts.network import network_of
from pipeline.shifts.packed import pack
from pipeline.shifts.search import Search, run_searches
from pipeline.shifts.tally import ROUNDING
from pipeline.shifts.traversal import traverse
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.affinity import Component
    from pipeline.deadline import Deadline
    from pipeline.shifts.network import LinkNetwork
    from pipeline.shifts.options import Objective, PlanOptions
    from pipeline.shifts.tally import Tally

__all__ = ["Layout", "lay_out"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Shifts of the jobs of one component, and what they cost each of its links; the links are in its order."""

    component: Component
    shifts: Mapping[str, JobShift]
    tally: Tally


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draft:
    """A network while its shifts are searched for; without a ``search`` every link is at its best from the start."""

    component: Component
    network: LinkNetwork
    start_ns: NDArray[np.int64]
    start: Tally
    search: Search | None

    def best(self, objective: Objective) -> tuple[NDArray[np.int64], Tally]:
        """Return the shifts that cost least, and what; of those that cost the same the most centred ones."""
        if self.search is None:
            return self.start_ns, self.start
        plans_ns = [self.search.centred_ns(), self.search.shifts_ns, self.start_ns, self.network.unshifted_ns]
        plans = [(shifts_ns, self.network.tally(shifts_ns)) for shifts_ns in plans_ns]
        best = plans[0]
        for plan in plans[1:]:
            if plan[1].costs_less(best[1], objective):
                best = plan
        return best


def lay_out(components: Sequence[Component], *, options: PlanOptions, deadline: Deadline) -> list[Layout]:
    """Return the shifts of each component.

    On a tree with no more than one pinned job the traversal has all links at their best. Where it has not, a search
    goes on from there, on all components in turn until the deadline is over. Of plans that cost the same each job gets
    the middle of the shifts that serve it as well, and in each component the first job by name is at 0, unless jobs are
    pinned.
    """
    drafts = [_drafted(component, options=options, is_timed=deadline.is_finite) for component in components]
    run_searches([draft.search for draft in drafts if draft.search is not None], deadline=deadline)
    return [_finished(draft, options=options) for draft in drafts]


def _drafted(component: Component, *, options: PlanOptions, is_timed: bool) -> _Draft:
    # A component's own numbers: what is drawn for it does not depend on what others there are.
    rng = np.random.default_rng([options.seed, zlib.crc32("\0".join(component.jobs).encode())])
    network = network_of(component, options=options, rng=rng)
    start_ns = traverse(network)
    start = network.tally(start_ns)
    search = None
    if (not component.is_tree or len(network.pinned_ns) > 1) and start.lost.sum() > ROUNDING:
        packed = pack(network, is_worst=options.objective == "worst")
        search = Search(packed, starts=[start_ns, network.unshifted_ns], is_timed=is_timed, rng=rng)
    return _Draft(component=component, network=network, start_ns=start_ns, start=start, search=search)


def _finished(draft: _Draft, *, options: PlanOptions) -> Layout:
    shifts_ns, tally = draft.best(options.objective)
    shifts = _job_shifts(draft.network, draft.network.canonical(shifts_ns))
    return Layout(component=draft.component, shifts={shift.job: shift for shift in shifts}, tally=tally)


def _job_shifts(network: LinkNetwork, shifts_ns: NDArray[np.int64]) -> Iterator[JobShift]:
    slots = network.clock.slots
    for job, shift_ns in network.by_job(shifts_ns).items():
        yield JobShift(
            job=job,
            shift_s=shift_ns / NS_PER_S,
            pace_period_s=None if slots is None else slots.slot_s[job],
            stretch_frac=None if slots is None else slots.stretch_frac[job],
        )
