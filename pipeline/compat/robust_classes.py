"""`classes_under_jitter`: what shifts are worth under jitter where several classes of jobs keep phases of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.demand import superpose
from pipeline.compat.levels import Levels, independent_levels, levels_of, mixed_levels
from pipeline.compat.robust import UnderJitter, hammersley, under_jitter
from pipeline.compat.strangers import fits_circle
from pipeline.compat.timeline import Circle

if TYPE_CHECKING:
    from pipeline.compat.groups import Group
    from pipeline.compat.levels import Excess
    from pipeline.deadline import Deadline

__all__ = ["classes_under_jitter"]

N_POINTS: Final = 64

MAX_CORNERS: Final = 4
"""Of classes of at most so many jobs all errors are tried at their extremes too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Spread:
    """Levels that a class takes on average over its errors, and those of the errors that cost most."""

    mixed: Levels
    worst: Levels


def classes_under_jitter(
    groups: Sequence[Group], *, beside: Excess, jitter_frac: float, deadline: Deadline
) -> UnderJitter:
    """Return what becomes of the mean excess of several classes; see `under_jitter`.

    Parameters
    ----------
    groups
        The classes, each of several jobs.
    beside
        What a rate costs beside all jobs that are in none of them.
    jitter_frac
        Largest error as a fraction of each job's period.
    deadline
        When it is over, fewer errors are tried.

    Notes
    -----
    Classes are independent of each other, so each counts for the others by its levels: averaged over a set of errors
    that fills their cube evenly, or at those that cost most while the others stand. The last class is treated as one
    alone is.
    """
    *others, last = groups
    spreads = [_spread(group, jitter_frac=jitter_frac, deadline=deadline) for group in others]
    return UnderJitter(
        expected_bps=_seen(last, beside, [spread.mixed for spread in spreads], jitter_frac=jitter_frac).expected_bps,
        worst_bps=_seen(last, beside, [spread.worst for spread in spreads], jitter_frac=jitter_frac).worst_bps,
        is_worst_proved=False,
    )


def _seen(group: Group, beside: Excess, levels: Sequence[Levels], *, jitter_frac: float) -> UnderJitter:
    excess = replace(beside, others=independent_levels([beside.others, *levels]))
    timeline = Circle(demands=group.timeline.demands, excess=excess)
    return under_jitter(timeline, group.shifts_ns, jitter_frac=jitter_frac)


def _spread(group: Group, *, jitter_frac: float, deadline: Deadline) -> _Spread:
    demands = group.timeline.demands
    if not fits_circle(demands):
        alike = independent_levels(levels_of(demand) for demand in demands)
        return _Spread(mixed=alike, worst=alike)
    even = []
    for moved_ns in _evenly(group, jitter_frac=jitter_frac):
        even.append(_levels_at(group, moved_ns))
        if deadline.is_over():
            break
    tried = [*even, *(_levels_at(group, moved_ns) for moved_ns in _corners(group, jitter_frac=jitter_frac))]
    cost = group.excess
    return _Spread(mixed=mixed_levels(even), worst=max(tried, key=lambda found: found.weight @ cost(found.rate_bps)))


def _levels_at(group: Group, shifts_ns: Sequence[int]) -> Levels:
    demands = group.timeline.demands
    length_ns = math.lcm(*(demand.period_ns for demand in demands))
    return levels_of(superpose(demands, shifts_ns=shifts_ns, length_ns=length_ns))


def _evenly(group: Group, *, jitter_frac: float) -> Iterator[list[int]]:
    for errors in 2 * hammersley(N_POINTS, len(group.shifts_ns)) - 1:
        yield _moved(group, errors.tolist(), jitter_frac=jitter_frac)


def _corners(group: Group, *, jitter_frac: float) -> Iterator[list[int]]:
    n_jobs = len(group.shifts_ns)
    for errors in product((-1.0, 1.0), repeat=n_jobs) if n_jobs <= MAX_CORNERS else ():
        yield _moved(group, errors, jitter_frac=jitter_frac)


def _moved(group: Group, errors: Sequence[float], *, jitter_frac: float) -> list[int]:
    reach_ns = jitter_frac * np.array([demand.period_ns for demand in group.timeline.demands])
    moved: list[int] = (np.array(group.shifts_ns) + np.rint(reach_ns * errors).astype(np.int64)).tolist()
    return moved
