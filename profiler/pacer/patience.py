"""`Patience`: how many missed slots are borne, when pacing is let go, and when it is tried again."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_CREDIT", "SLOTS_A_MISS", "Patience"]

MAX_CREDIT: Final = 5.0
"""Slots that may be missed in a row: as many as the first iterations of a job, which warm up, often miss."""
SLOTS_A_MISS: Final = 20
"""In the long run one slot in so many may be missed: pacing then costs up to 5 %, far less than a collision does."""
RETRY_SLOTS: Final = 64
"""Least time to run free after letting go, in slots: some 17 s for slots of 0.27 s, the length of a disturbance."""
MAX_DOUBLINGS: Final = 6
"""The time to run free doubles with each trial that fails, up to 4096 slots: a trial costs five slots at most."""


class Patience:
    """Decides whether one more missed slot is borne.

    Attributes
    ----------
    credit : float
        Slots that may be missed from here on.
    try_again_at : int or None
        The slot from which on pacing is tried again; None while the job is held.
    n_let_go, n_retries : int
        Times that pacing was let go, and tried again.

    Notes
    -----
    A missed slot costs a credit of 1; credit starts at 5, grows by 1/20 with every slot's time that passes, and is
    capped at 5. A miss that finds less than 1 lets go. So of any time ``t`` at most ``5 + t / (20 period)`` slots are
    missed while paced.

    Pacing is tried again from the second slot on whose number is a multiple of ``R = 64 * 2**n``, n the times in a row
    that it was let go before (at most 6): between R and 2 R slots later, and at a slot that all ranks of a job agree
    on, since they number slots alike. A trial costs a credit of 1 too. Once it has lasted for R slots, n is 0 again.

    Examples
    --------
    >>> patience = Patience()
    >>> [patience.bear(i_slot) for i_slot in range(6)]
    [True, True, True, True, True, False]
    >>> patience.try_again_at
    128
    """

    __slots__ = ("_n_in_a_row", "_retry_slots", "_settled_at", "credit", "n_let_go", "n_retries", "try_again_at")

    def __init__(self) -> None:
        self.n_let_go = 0
        self.n_retries = 0
        self.restart()

    def restart(self) -> None:
        """Begin again in good faith: other slots are to be held."""
        self.credit = MAX_CREDIT
        self.try_again_at: int | None = None
        self._n_in_a_row = 0
        self._retry_slots = RETRY_SLOTS
        self._settled_at: int | None = None

    @property
    def is_let_go(self) -> bool:
        """Whether the job runs unpaced."""
        return self.try_again_at is not None

    def earn(self, n_slots: float) -> None:
        """Add the credit for a time, given in slots."""
        self.credit = min(MAX_CREDIT, self.credit + max(0.0, n_slots) / SLOTS_A_MISS)

    def bear(self, i_slot: int) -> bool:
        """Pay for a missed slot and return True, or let go at this slot and return False."""
        if self.credit >= 1:
            self.credit -= 1
            return True
        self._retry_slots = RETRY_SLOTS * 2 ** min(self._n_in_a_row, MAX_DOUBLINGS)
        self._n_in_a_row += 1
        self._settled_at = None
        self.n_let_go += 1
        self.try_again_at = self._next_trial(i_slot)
        return False

    def try_again(self, i_slot: int) -> bool:
        """Return whether pacing is tried again at this slot."""
        if self.try_again_at is None:
            return False
        if i_slot < self.try_again_at:
            # A clock that was set back must not put the trial off for as long.
            self.try_again_at = min(self.try_again_at, self._next_trial(i_slot))
            return False
        self.credit -= 1
        self.n_retries += 1
        self._settled_at = i_slot + self._retry_slots
        self.try_again_at = None
        return True

    def settle(self, i_slot: int) -> bool:
        """Return whether, with this slot, a trial has lasted."""
        if self._settled_at is None or i_slot < self._settled_at:
            return False
        self._settled_at = None
        self._n_in_a_row = 0
        return True

    def _next_trial(self, i_slot: int) -> int:
        return self._retry_slots * (i_slot // self._retry_slots + 2)
