"""`observed_shifts_ns`: the shifts that the jobs have now, as seen by clocks that agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from pipeline.compat.relations import relation_between
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from pipeline.compat.relations import Beat

__all__ = ["observed_shifts_ns"]

MAX_PHASE_ERROR: Final = 0.05
"""Phases observed at different times can be compared if the drift between is below this many cycles."""


def observed_shifts_ns(
    demands: Sequence[Demand], *, beats: Sequence[Beat], anchors_ns: Sequence[int | None]
) -> list[int] | None:
    """Return the present shift of each job relative to the first, or None if it cannot be said.

    Parameters
    ----------
    demands
        On a common clock (see `tie_periods`).
    beats
        The measured periods with their errors.
    anchors_ns
        When a first Up phase of each job was seen to begin.
    """
    known = [anchor_ns for anchor_ns in anchors_ns if anchor_ns is not None]
    if len(known) < len(demands):
        return None
    for i, j in combinations(range(len(demands)), 2):
        apart_s = abs(known[i] - known[j]) / NS_PER_S
        if relation_between(beats[i], beats[j]).fastest_hz * apart_s > MAX_PHASE_ERROR:
            return None
    return [(anchor_ns - known[0]) % demand.period_ns for anchor_ns, demand in zip(known, demands, strict=True)]
