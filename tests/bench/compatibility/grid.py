"""CASSINI's unified circle, sampled every 5 degrees [1]_, and the two ways to search it: all rotations, or greedily.

A naive twin of `pipeline.compat.cassini` that also says which shifts it means. On a circle of perimeter ``p``, the
least common multiple of the periods, job j has ``r_j`` iterations, may be turned by less than ``2 pi / r_j``, and what
it is turned by is a shift of ``(turn / 2 pi) p`` modulo its period.

References
----------
.. [1] S. Rajasekaran, M. Ghobadi, A. Akella, "CASSINI: Network-Aware Job Scheduling in Machine Learning Clusters",
   NSDI 2024, sections 3 and 4, table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.bench.compatibility.answer import Answer
from tests.bench.compatibility.exact import NS_PER_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.bench.compatibility.cases import Case, Job

__all__ = ["MAX_TURNS", "N_ANGLES", "best_rotations", "greedy_on_grid", "on_grid"]

N_ANGLES: Final = 72

MAX_TURNS: Final = 36
"""With more iterations of a job on the circle it has fewer than two angles each: the grid says nothing."""

MAX_TRIED: Final = 500_000
"""With more rotations of all jobs but the first than this, they are searched job by job."""

N_ROUNDS: Final = 8
N_STARTS: Final = 16


def on_grid(case: Case) -> Answer | None:
    """Return the best rotations of all; None where the circle is too long for its angles."""
    turns = _turns(case)
    if max(turns) > MAX_TURNS:
        return None
    circles = [_circle(job, case.common_ms) for job in case.jobs]
    rotations, over_mbps = best_rotations(
        circles, n_rotations=[_n_rotations(n) for n in turns], capacity_mbps=case.capacity_mbps, seed=case.seed
    )
    return _answer(case, rotations, over_mbps)


def greedy_on_grid(case: Case) -> Answer | None:
    """Place one job after the other at its best rotation, the one that sends most first."""
    turns = _turns(case)
    if max(turns) > MAX_TURNS:
        return None
    total = np.zeros(N_ANGLES, dtype=np.int64)
    rotations = [0] * len(turns)
    for i in sorted(range(len(turns)), key=lambda i: -case.jobs[i].mean_mbps):
        turned = _turned(_circle(case.jobs[i], case.common_ms), _n_rotations(turns[i]))
        over = _over(total + turned, case.capacity_mbps)
        rotations[i] = int(over.argmin())
        total = total + turned[rotations[i]]
    return _answer(case, rotations, float(_over(total, case.capacity_mbps)))


def best_rotations(
    circles: Sequence[NDArray[np.int64]], *, n_rotations: Sequence[int], capacity_mbps: int, seed: int
) -> tuple[list[int], float]:
    """Return the rotations, in angles, that leave the least mean excess, and that excess in Mbit/s.

    All rotations are tried, the first job's being 0; where they are too many, descents from random ones.
    """
    turned = [_turned(circle, n) for circle, n in zip(circles, n_rotations, strict=True)]
    if np.prod([float(n) for n in n_rotations[1:]]) <= MAX_TRIED:
        return _try_all(turned, capacity_mbps)
    rng = np.random.default_rng(seed)
    starts = [[0] * len(turned), *(rng.integers(n_rotations).tolist() for _ in range(N_STARTS - 1))]
    return min((_descend(turned, start, capacity_mbps) for start in starts), key=lambda found: found[1])


def _try_all(turned: Sequence[NDArray[np.int64]], capacity_mbps: int) -> tuple[list[int], float]:
    first, *between, last = turned
    best: tuple[list[int], float] = ([], np.inf)
    for rotations in product(*(range(len(one)) for one in between)):
        total = first[0] + sum(one[k] for one, k in zip(between, rotations, strict=True))
        over = _over(total + last, capacity_mbps)
        i = int(over.argmin())
        if over[i] < best[1]:
            best = [0, *rotations, i], float(over[i])
    return best


def _descend(turned: Sequence[NDArray[np.int64]], start: list[int], capacity_mbps: int) -> tuple[list[int], float]:
    rotations, reached = list(start), np.inf
    total = sum(one[k] for one, k in zip(turned, rotations, strict=True))
    for _ in range(N_ROUNDS):
        before = reached
        for i, one in enumerate(turned):
            over = _over(total - one[rotations[i]] + one, capacity_mbps)
            total = total - one[rotations[i]] + one[over.argmin()]
            rotations[i], reached = int(over.argmin()), float(over.min())
        if reached >= before:
            break
    return rotations, reached


def _over(total: NDArray[np.int64], capacity_mbps: int) -> NDArray[np.float64]:
    over: NDArray[np.float64] = np.maximum(0, total - capacity_mbps).mean(axis=-1)
    return over


def _turns(case: Case) -> list[int]:
    return [case.common_ms // job.period_ms for job in case.jobs]


def _n_rotations(n_turns: int) -> int:
    return -(-N_ANGLES // n_turns)


def _turned(circle: NDArray[np.int64], n_rotations: int) -> NDArray[np.int64]:
    """Return the circle begun 0, 1, … angles later, shape (n_rotations, n_angles)."""
    return np.stack([np.roll(circle, k) for k in range(n_rotations)])


def _circle(job: Job, common_ms: int) -> NDArray[np.int64]:
    """Return what a job sends at each angle: whole milliseconds are enough, for it changes only there."""
    return np.array([job.rate_at(i * common_ms // N_ANGLES) for i in range(N_ANGLES)])


def _answer(case: Case, rotations: Sequence[int], over_mbps: float) -> Answer:
    shifts_ns = [
        k * case.common_ms * NS_PER_MS // N_ANGLES % (job.period_ms * NS_PER_MS)
        for k, job in zip(rotations, case.jobs, strict=True)
    ]
    return Answer(score=1 - over_mbps / case.capacity_mbps, shifts_ns=tuple(shifts_ns))
