"""A twin of a public Rust implementation of CASSINI, with its two slips, from a reading of it.

It divides a phase's times by the job's own period where it fills a circle of several: each of r iterations begins at
the r-th part of the circle, but its phases come out r times as long, so they run into the next ones and, beyond a
whole turn, lose it. And a phase fills every bin that it touches, the one at its end included; where phases meet in a
bin the higher rate counts. Rotations are searched exhaustively, every job's over the whole circle.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.bench.compatibility.answer import Answer
from tests.bench.compatibility.exact import NS_PER_MS
from tests.bench.compatibility.grid import N_ANGLES, best_rotations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.bench.compatibility.cases import Case, Job

__all__ = ["longer_phases", "stretched_circle"]

TURN: Final = 2 * math.pi
NS_PER_US: Final = 1_000
MAX_JOBS: Final = 4
"""It tries 72 rotations of every further job: with five jobs that are 27 million."""
MAX_ITERATIONS: Final = 1_000
"""Jobs that come round together only after this many iterations of one would overflow what it counts in."""


def longer_phases(case: Case) -> Answer | None:
    """Return the best rotations of such circles; None where it would search for hours."""
    common_ms = case.common_ms
    if len(case.jobs) > MAX_JOBS or common_ms > MAX_ITERATIONS * min(job.period_ms for job in case.jobs):
        return None
    circles = [stretched_circle(job, common_ms) for job in case.jobs]
    n_rotations = [N_ANGLES] * len(circles)
    rotations, over_mbps = best_rotations(
        circles, n_rotations=n_rotations, capacity_mbps=case.capacity_mbps, seed=case.seed
    )
    if over_mbps >= case.capacity_mbps:
        return Answer(score=0.0, shifts_ns=(0,) * len(circles))
    shifts_ns = [
        k * common_ms * NS_PER_MS // N_ANGLES // NS_PER_US * NS_PER_US % (job.period_ms * NS_PER_MS)
        for k, job in zip(rotations, case.jobs, strict=True)
    ]
    return Answer(score=1 - over_mbps / case.capacity_mbps, shifts_ns=tuple(shifts_ns))


def stretched_circle(job: Job, common_ms: int) -> NDArray[np.int64]:
    """Return the rate in each bin of the circle as that implementation fills it."""
    n_iterations = common_ms // job.period_ms
    circle = np.zeros(N_ANGLES, dtype=np.int64)
    widths_ms = np.diff(job.edges_ms, append=job.edges_ms[0] + job.period_ms)
    for iteration in range(n_iterations):
        begin = TURN * iteration / n_iterations
        for edge_ms, width_ms, rate in zip(job.edges_ms, widths_ms, job.rates_mbps, strict=True):
            # The slip: a share of the job's own period is not a share of the circle.
            start = (begin + TURN * edge_ms / job.period_ms) % TURN
            end = (begin + TURN * (edge_ms + int(width_ms)) / job.period_ms) % TURN
            first, last = int(start * N_ANGLES / TURN), min(int(end * N_ANGLES / TURN), N_ANGLES - 1)
            bins = np.arange(first, last + 1) if start <= end else np.r_[first:N_ANGLES, 0 : last + 1]
            circle[bins] = np.maximum(circle[bins], rate)
    return circle
