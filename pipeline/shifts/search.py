"""`Search`: shifts for a network with loops, better the longer it goes on and never worse than where it began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.shifts.choice import START, TOLERANCE, is_less
from pipeline.shifts.kicks import N_DRAWS, kick
from pipeline.shifts.moves import all_excess, centre, settle, total_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pipeline.deadline import Deadline
    from pipeline.shifts.packed import PackedNetwork

__all__ = ["Search", "run_searches"]

KICKS_A_ROUND: Final = 16
"""Kicks between two looks at the deadline."""

KICKS_A_LINK: Final = 8
WORST_KICKS_A_LINK: Final = 2
MIN_KICKS: Final = 256
"""Without a deadline a search ends after so many kicks: the number of links times the first (or the second, where the
worst link counts and kicks take longer), the third at least."""

MAX_KICKS_A_LINK: Final = 4096
"""With one it goes on up to this many: a small network has long been searched through by then."""

N_CENTRING_ROUNDS: Final = 12


class Search:
    """Descent and kicks from the best of several starts.

    Parameters
    ----------
    net
        Jobs and links.
    starts
        Shifts to begin from; each is descended from.
    is_timed
        Whether a deadline ends the search, not the number of kicks.
    rng
        Source of the kicks.
    """

    def __init__(
        self,
        net: PackedNetwork,
        *,
        starts: Sequence[NDArray[np.int64]],
        is_timed: bool,
        rng: np.random.Generator,
    ) -> None:
        n_links = net.weight.size
        a_link = WORST_KICKS_A_LINK if net.is_worst else KICKS_A_LINK
        self._net = net
        self._rng = rng
        self._n_left = MAX_KICKS_A_LINK * n_links if is_timed else max(MIN_KICKS, a_link * n_links)
        self.shifts_ns, self._excess = self._descended(starts[0])
        for start in starts[1:]:
            shifts_ns, excess = self._descended(start)
            if is_less(total_cost(net, excess), total_cost(net, self._excess)):
                self.shifts_ns, self._excess = shifts_ns, excess

    @property
    def is_done(self) -> bool:
        """Whether no shifts can serve the objective better, or enough has been tried."""
        excess, bound = self._excess, self._net.bound + TOLERANCE
        is_best = excess.max() <= bound.max() if self._net.is_worst else (excess <= bound).all()
        return self._n_left <= 0 or bool(is_best)

    def advance(self) -> None:
        """Try one round of kicks."""
        draws = self._rng.random((KICKS_A_ROUND, N_DRAWS))
        kick(self._net, self.shifts_ns, self._excess, draws)
        self._n_left -= KICKS_A_ROUND

    def centred_ns(self) -> NDArray[np.int64]:
        """Return the shifts, each in the middle of those that would serve its job as well."""
        middle_ns, excess = self.shifts_ns.copy(), self._excess.copy()
        centre(self._net, middle_ns, excess, N_CENTRING_ROUNDS)
        return middle_ns

    def _descended(self, start: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        shifts_ns = start.copy()
        excess = all_excess(self._net, shifts_ns)
        jobs = np.arange(shifts_ns.size)
        settle(self._net._replace(is_worst=False), shifts_ns, excess, jobs, START)
        if self._net.is_worst:
            settle(self._net, shifts_ns, excess, jobs, START)
        return shifts_ns, excess


def run_searches(searches: Sequence[Search], *, deadline: Deadline) -> None:
    """Advance searches in turn until each is done or the time is over, so that all get the same number of kicks."""
    active = [search for search in searches if not search.is_done]
    while active:
        for search in active:
            if deadline.is_over():
                return
            search.advance()
        active = [search for search in active if not search.is_done]
