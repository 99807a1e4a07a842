"""Descents on one circle: one job after the other goes to an exact best shift beside the others, from many starts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.layout import EDGES, MIDDLES, descend, move_job
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.compat.starts import end_to_end, greedy_shifts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pipeline.compat.timeline import Circle
    from pipeline.deadline import Deadline

__all__ = ["Descents"]

N_STARTS: Final = 16

N_STARTS_OF_FEW: Final = 6
"""Of at most `FEW_JOBS`, for which branch and bound finds what descents miss within a millisecond."""

FEW_JOBS: Final = 4

N_KICKS: Final = 200
"""So often some jobs of the best so far, `N_KICKED` of them, are put anywhere, and the descent begins again."""

N_KICKED: Final = 3

N_CENTRING_ROUNDS: Final = 12

MAX_ROUNDS: Final = 64
"""Of one descent, which as a rule ends after four to twenty."""

ROUGH_FRAC: Final = 1e-3
"""A descent is left where a round gains less than this share of the capacity; only the best is followed to its end."""

LIGHT_KINKS: Final = 50_000
"""Kinks of one round that take so little time (10 ms) that nobody looks at the deadline meanwhile."""

MAX_KINKS: Final = 750_000
"""About so many kinks are looked at, in 50 ms, in the descents from all starts and again in those after kicks."""


class Descents:
    """Descents of the jobs of one circle, within a deadline.

    Parameters
    ----------
    circle
        Three jobs or more.
    bound_bps
        A lower bound of the mean excess: the search ends once it is attained.
    rng
        Source of the random starts.
    deadline
        When to give the best so far.
    """

    def __init__(self, circle: Circle, *, bound_bps: float, rng: np.random.Generator, deadline: Deadline) -> None:
        self._demands = circle.demands
        self._board = circle.board()
        self._bound_bps = bound_bps
        self._rng = rng
        self._deadline = deadline
        self._tolerance_bps = tolerance_bps(circle)
        self._rough_bps = ROUGH_FRAC * circle.excess.capacity_bps
        n_edges = [demand.edges_ns.size for demand in self._demands]
        self._round_kinks = self._board.layout.edges_ns.size * sum(n_edges)
        self._left_kinks: float = MAX_KINKS

    def best_of_starts(self) -> Placement:
        """Return the best of descents from all starts, or the first that reaches the bound.

        The first start places the largest job first and each next one where it does least harm, the second lays the
        jobs end to end, the others are uniform.
        """
        best_ns, best_bps = np.zeros(len(self._demands), dtype=np.int64), math.inf
        for shifts_ns in self._starts():
            reached_bps = self._descend(shifts_ns, choose=MIDDLES, least_gain_bps=self._rough_bps)
            if reached_bps < best_bps - self._tolerance_bps:
                best_ns, best_bps = shifts_ns, reached_bps
            if self._is_enough(best_bps):
                break
        return self._settled(best_ns, best_bps)

    def kicked(self, best: Placement, *, n_kicks: int = N_KICKS) -> Placement:
        """Return the best of descents that begin near the best so far: some jobs of it elsewhere."""
        here_ns, here_bps = np.array(best.shifts_ns, dtype=np.int64), best.excess_bps
        periods_ns = self._board.jobs.period_ns
        self._left_kinks = math.inf if self._deadline.is_finite else MAX_KINKS
        for _ in range(n_kicks):
            if self._is_enough(here_bps) or self._left_kinks <= 0:
                break
            shifts_ns = here_ns.copy()
            kicked = 1 + self._rng.choice(shifts_ns.size - 1, min(N_KICKED, shifts_ns.size - 1), replace=False)
            shifts_ns[kicked] = self._rng.integers(periods_ns[kicked])
            reached_bps = self._descend(shifts_ns, choose=MIDDLES, least_gain_bps=self._rough_bps)
            if reached_bps <= here_bps + self._tolerance_bps:
                reached_bps = self._descend(shifts_ns, choose=EDGES, least_gain_bps=self._tolerance_bps)
                here_ns, here_bps = shifts_ns, min(here_bps, reached_bps)
        if here_bps >= best.excess_bps - self._tolerance_bps:
            return best
        return replace(self._settled(here_ns, here_bps), bound_bps=best.bound_bps, method=best.method)

    def centred(self, best: Placement) -> Placement:
        """Share the slack: move each job to the middle of its plateau until the middles agree."""
        shifts_ns = np.array(best.shifts_ns, dtype=np.int64)
        excess_bps = best.excess_bps
        for _ in range(max(1, min(N_CENTRING_ROUNDS, MAX_KINKS // self._round_kinks))):
            if self._deadline.is_over():
                break
            before_ns = shifts_ns.copy()
            excess_bps = self._round(shifts_ns, choose=MIDDLES)
            if np.array_equal(shifts_ns, before_ns):
                break
        return replace(
            best,
            shifts_ns=tuple(shifts_ns.tolist()),
            excess_bps=excess_bps,
            bound_bps=excess_bps if best.is_proved else min(best.bound_bps, excess_bps),
        )

    def _is_enough(self, excess_bps: float) -> bool:
        return excess_bps <= self._bound_bps + self._tolerance_bps or self._deadline.is_over()

    def _settled(self, shifts_ns: NDArray[np.int64], excess_bps: float) -> Placement:
        """Return a descent's end as a placement; if it is not known to be the best, after a last one along edges.

        Middles of plateaus are rounded to whole ns, and a job that has to fit next to one may miss by that.
        """
        if self._left_kinks > 0 and not self._is_enough(excess_bps):
            reached_bps = self._descend(shifts_ns, choose=EDGES, least_gain_bps=self._tolerance_bps)
            excess_bps = min(excess_bps, reached_bps)
        return Placement(
            shifts_ns=tuple(shifts_ns.tolist()),
            excess_bps=excess_bps,
            bound_bps=min(excess_bps, self._bound_bps),
            is_proved=excess_bps <= self._bound_bps + self._tolerance_bps,
        )

    def _starts(self) -> Iterator[NDArray[np.int64]]:
        """Yield as many starts as the work allows, at least the first."""
        yield greedy_shifts(self._board, self._demands, deadline=self._deadline)
        laid_ns = end_to_end(self._demands)
        if laid_ns is not None and self._left_kinks > 0:
            yield laid_ns
        n_jobs = len(self._demands)
        n_starts = N_STARTS if n_jobs > FEW_JOBS else N_STARTS_OF_FEW
        for shifts_ns in self._rng.integers(self._board.jobs.period_ns, size=(n_starts - 1, n_jobs)):
            if self._left_kinks <= 0:
                break
            shifts_ns[0] = 0
            yield shifts_ns

    def _descend(self, shifts_ns: NDArray[np.int64], *, choose: int, least_gain_bps: float) -> float:
        """Move jobs in place until a round gains too little, or no work is left; return the mean excess reached."""
        if self._round_kinks <= LIGHT_KINKS:
            excess_bps, n_rounds = descend(self._board, shifts_ns, choose, least_gain_bps, MAX_ROUNDS)
            self._left_kinks -= n_rounds * self._round_kinks
            return excess_bps
        excess_bps = math.inf
        for _ in range(MAX_ROUNDS):
            reached_bps = self._round(shifts_ns, choose=choose)
            is_last = reached_bps >= excess_bps - least_gain_bps or self._left_kinks <= 0
            excess_bps = min(excess_bps, reached_bps)
            if is_last or self._deadline.is_over():
                break
        return excess_bps

    def _round(self, shifts_ns: NDArray[np.int64], *, choose: int) -> float:
        """Move each job but the first once, in place; at least one of them, even if the time is up."""
        self._left_kinks -= self._round_kinks
        if self._round_kinks <= LIGHT_KINKS:
            return descend(self._board, shifts_ns, choose, 0.0, 1)[0]
        excess_bps = math.inf
        for i_job in range(1, shifts_ns.size):
            beside = np.arange(shifts_ns.size) != i_job
            excess_bps = move_job(self._board, shifts_ns, i_job, beside, choose)
            if self._deadline.is_over():
                break
        return excess_bps
