"""`observed_shifts_ns`: the shifts that the jobs have now, as seen by clocks that agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.drift import drifts_between
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
    known_ns = [anchor_ns for anchor_ns in anchors_ns if anchor_ns is not None]
    if len(known_ns) < len(demands):
        return None
    seen_s = np.array([anchor_ns - known_ns[0] for anchor_ns in known_ns]) / NS_PER_S
    apart_s = np.abs(seen_s[:, None] - seen_s[None, :])
    if (drifts_between(beats).fastest_hz * apart_s > MAX_PHASE_ERROR).any():
        return None
    return [(anchor_ns - known_ns[0]) % demand.period_ns for anchor_ns, demand in zip(known_ns, demands, strict=True)]
