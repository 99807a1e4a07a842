"""Shifts of several jobs over a window: descents whose every step is exact, as many as their cost allows.

Over a long window with unequal periods the excess hardly depends on the shifts, and what a round of moves gains falls
slowly. So all starts are followed roughly, and only the best one to its end. In a short window it also matters when all
begin: it holds no whole number of iterations, and which of them are cut off is a choice.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.demand import superpose
from pipeline.compat.kernel import excess_of
from pipeline.compat.layout import MIDDLES, move_job
from pipeline.compat.placement import Placement, tolerance_bps
from pipeline.compat.starts import greedy_shifts
from pipeline.deadline import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pipeline.compat.timeline import Window
    from pipeline.deadline import Deadline

__all__ = ["WORTH_FRAC", "place_in_window"]

N_STARTS: Final = 4

MAX_KINKS: Final = 1_000_000
"""About so many kinks are looked at: a tenth of a second of work. With more edges there are fewer starts and rounds."""

N_BEGINNINGS: Final = 8
"""So many times within an iteration of the first job are tried for all to begin."""

ROUGH_FRAC: Final = 1e-3
"""A start is followed while a round gains this share of the capacity."""

WORTH_FRAC: Final = 0.01
"""All jobs begin later if that gains this share of the capacity, as a shift must to help: it only suits one window."""

FINE_FRAC: Final = 1e-6
"""The best start is followed while a round gains this share of the capacity."""


def place_in_window(
    window: Window, *, bound_bps: float, rng: np.random.Generator, deadline: Deadline = NEVER
) -> Placement:
    """Return the best shifts found; that of the first job is 0 unless it gains to begin later.

    Parameters
    ----------
    window
        Two jobs or more, and the time over which they are judged.
    bound_bps
        A lower bound of the mean excess: the search ends once it is attained.
    rng
        Source of the random starts.
    deadline
        When to give the best so far.

    Notes
    -----
    Of two jobs the first step is already the best while the first stands still, and proves it where it reaches the
    bound.
    """
    shifts = tuple(_Descents(window, bound_bps=bound_bps, deadline=deadline).best_of_all(rng).tolist())
    # Summed anew: the kernel adds up as many bends as there are meetings, and their rounding with them.
    excess_bps = excess_of(
        superpose(window.demands, shifts_ns=shifts, length_ns=window.length_ns), excess=window.excess
    )
    is_proved = excess_bps <= bound_bps + tolerance_bps(window)
    return Placement(
        shifts_ns=shifts,
        excess_bps=excess_bps,
        bound_bps=min(bound_bps, excess_bps),
        is_proved=is_proved,
        method="exact kernel" if len(shifts) == 2 and is_proved else "coordinate descent",
    )


class _Descents:
    """Descents in one window within a budget of kinks and a deadline."""

    def __init__(self, window: Window, *, bound_bps: float, deadline: Deadline) -> None:
        self._demands = window.demands
        self._board = window.board()
        self._deadline = deadline
        self._enough_bps = bound_bps + tolerance_bps(window)
        self._capacity_bps = window.excess.capacity_bps
        n_edges = [demand.edges_ns.size for demand in window.demands]
        self._rounds_left = MAX_KINKS // (self._board.layout.edges_ns.size * sum(n_edges[1:]))

    def best_of_all(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the best shifts that were reached, those with the first job at 0 unless others gain enough."""
        shifts_ns, excess_bps = self._best_of(self._starts(rng), first=1)
        if self._is_over(excess_bps):
            return shifts_ns
        later_ns, later_bps = self._best_of(self._later(shifts_ns), first=0)
        return later_ns if later_bps < excess_bps - WORTH_FRAC * self._capacity_bps else shifts_ns

    def _best_of(self, starts: Iterator[NDArray[np.int64]], *, first: int) -> tuple[NDArray[np.int64], float]:
        """Return the best shifts that were reached from several starts, and their mean excess."""
        best_ns, best_bps = np.zeros(len(self._demands), dtype=np.int64), math.inf
        for shifts_ns in starts:
            reached_bps = self._descend(shifts_ns, first=first, least_gain_bps=ROUGH_FRAC * self._capacity_bps)
            if reached_bps < best_bps:
                best_ns, best_bps = shifts_ns, reached_bps
            if self._is_over(best_bps):
                return best_ns, best_bps
        return best_ns, self._descend(best_ns, first=first, least_gain_bps=FINE_FRAC * self._capacity_bps)

    def _starts(self, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        yield greedy_shifts(self._board, self._demands, deadline=self._deadline)
        if len(self._demands) == 2:
            return
        periods_ns = [demand.period_ns for demand in self._demands[1:]]
        for _ in range(N_STARTS - 1):
            yield np.array([0, *rng.integers(periods_ns)], dtype=np.int64)

    def _later(self, shifts_ns: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield the same shifts begun later, by parts of an iteration of the first job."""
        periods_ns = np.array([demand.period_ns for demand in self._demands], dtype=np.int64)
        for i in range(N_BEGINNINGS):
            yield (shifts_ns + i * int(periods_ns[0]) // N_BEGINNINGS) % periods_ns

    def _descend(self, shifts_ns: NDArray[np.int64], *, first: int, least_gain_bps: float) -> float:
        """Move jobs in place while a round gains enough; return the mean excess reached."""
        excess_bps = math.inf
        while True:
            reached_bps = self._round(shifts_ns, first=first)
            self._rounds_left -= 1
            if reached_bps > excess_bps - least_gain_bps or self._is_over(reached_bps):
                return reached_bps
            excess_bps = reached_bps

    def _round(self, shifts_ns: NDArray[np.int64], *, first: int) -> float:
        """Move each job from ``first`` on once, the last first, in place; at least one, even if the time is up."""
        excess_bps = math.inf
        for i_job in range(shifts_ns.size - 1, first - 1, -1):
            beside = np.arange(shifts_ns.size) != i_job
            excess_bps = float(move_job(self._board, shifts_ns, i_job, beside, MIDDLES))
            if self._deadline.is_over():
                break
        return excess_bps

    def _is_over(self, excess_bps: float) -> bool:
        return excess_bps <= self._enough_bps or self._rounds_left <= 0 or self._deadline.is_over()
