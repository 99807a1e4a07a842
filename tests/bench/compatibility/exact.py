"""The judge: the score of given shifts by a sweep over all edges, in whole nanoseconds and whole Mbit/s.

It shares no line with `pipeline.compat`, and nothing in it is rounded before the last division.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.bench.compatibility.cases import Case, Job

__all__ = ["NS_PER_MS", "exact_score"]

NS_PER_MS: Final = 1_000_000


def exact_score(case: Case, shifts_ns: Sequence[int]) -> Fraction:
    """Return ``1 - E/C`` at given shifts, one a job, over the time for which the case is judged."""
    span_ns = case.span_ms * NS_PER_MS
    pieces = [_changes(job, shift_ns, span_ns) for job, shift_ns in zip(case.jobs, shifts_ns, strict=True)]
    at_ns = np.concatenate([times_ns for times_ns, _ in pieces])
    by_mbps = np.concatenate([steps_mbps for _, steps_mbps in pieces])
    order = np.argsort(at_ns)
    total_mbps = np.cumsum(by_mbps[order])
    until_ns = np.append(at_ns[order][1:], span_ns) - at_ns[order]
    over = int(np.maximum(0, total_mbps - case.capacity_mbps) @ until_ns)
    return 1 - Fraction(over, case.capacity_mbps * span_ns)


def _changes(job: Job, shift_ns: int, span_ns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when a job's rate changes within [0, span) and by how much; at 0 it steps up from nothing."""
    period_ns = job.period_ms * NS_PER_MS
    rates = np.array(job.rates_mbps, dtype=np.int64)
    edges_ns = (np.array(job.edges_ms, dtype=np.int64) * NS_PER_MS + shift_ns) % period_ns
    order = np.argsort(edges_ns)
    edges_ns, rates = edges_ns[order], rates[order]
    turns_ns = np.arange(-(-span_ns // period_ns), dtype=np.int64) * period_ns
    times_ns = np.ravel(turns_ns[:, None] + edges_ns)
    steps = np.tile(rates - np.roll(rates, 1), turns_ns.size)
    inside = times_ns < span_ns
    # What it sends at time 0 was begun by the last edge before it.
    return np.append(0, times_ns[inside]), np.append(rates[-1], steps[inside])
