"""`SlotKeeper`: which slot an iteration takes."""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from profiler.pacer.patience import Patience
from profiler.pacer.quantiles import Quantiles
from profiler.pacer.slots import NS_PER_S, Slots

__all__ = ["SlotKeeper"]

N_OWN_TIMES: Final = 33
"""Own times of iterations that are kept: their median is what a slot is compared with, whatever stragglers do."""
PAUSE_SLOTS: Final = 5
"""Missing more slots than this at once is a pause (a checkpoint, an evaluation), not a straggling iteration."""

_log = logging.getLogger(__name__)


class SlotKeeper:
    """Keeps a job's place in its slots, from the times at which its iterations are ready to communicate.

    It reads no clock and waits for nothing, so that a simulation can use it.

    Parameters
    ----------
    slots : Slots or None
        The slots to hold; None holds none.

    Attributes
    ----------
    lateness : Quantiles
        How late iterations came at the slot that was due, in seconds; 0 for one that came early.
    late_ns : int
        How late the last iteration came at the slot that it took.
    reason : str or None
        Why pacing was let go, while it is.

    Examples
    --------
    >>> keeper = SlotKeeper(Slots(period_ns=100, origin_ns=0, tolerance_ns=15))
    >>> keeper.choose(90), keeper.choose(210), keeper.choose(330), keeper.n_adjustments
    (100, 200, 400, 1)
    """

    def __init__(self, slots: Slots | None) -> None:
        self.slots = slots
        self.patience = Patience()
        self.lateness = Quantiles()
        self.late_ns = 0
        self.reason: str | None = None
        self.n_iterations = 0
        self.n_adjustments = 0
        self.n_missed_slots = 0
        self.n_pauses = 0
        self._own_ns: deque[int] = deque(maxlen=N_OWN_TIMES)
        self._i_slot: int | None = None

    @property
    def own_iteration_s(self) -> float | None:
        """Median of the last iterations' time without waiting; None before the second iteration."""
        # Not the module statistics: with it the import would take twice as long.
        return sorted(self._own_ns)[len(self._own_ns) // 2] / NS_PER_S if self._own_ns else None

    @property
    def due_ns(self) -> int | None:
        """Start of the slot that the next iteration is to take; None if it may take any."""
        return None if self.slots is None or self._i_slot is None else self.slots.start_ns(self._i_slot + 1)

    def follow(self, slots: Slots | None) -> None:
        """Hold other slots from the next iteration on; what was let go is tried anew."""
        self.slots = slots
        self.reason = None
        self.patience.restart()
        self.reanchor()

    def reanchor(self) -> None:
        """Let the next iteration take any slot, as the first one does."""
        self._i_slot = None

    def observe(self, own_ns: int) -> None:
        """Count an iteration that took a time of its own, waiting left out."""
        self._own_ns.append(own_ns)

    def choose(self, now_ns: int, *, passed_ns: int = 0, is_clock_set: bool = False) -> int | None:
        """Return when the slot of this iteration starts: in the past to go at once, None to go without a slot.

        Parameters
        ----------
        now_ns : int
            The wall clock, when the iteration is ready to communicate.
        passed_ns : int
            Time that truly passed since the last iteration was.
        is_clock_set : bool
            Whether the wall clock was set meanwhile, so that the slot that was due says nothing.
        """
        slots = self.slots
        self.n_iterations += 1
        if slots is None:
            return None
        self.patience.earn(passed_ns / slots.period_ns)
        if self.patience.is_let_go:
            self._try_again(slots, now_ns)
        elif self._i_slot is None:
            self._i_slot = slots.open_or_next(now_ns)
        else:
            self._go_on(slots, now_ns, i_due=self._i_slot + 1, is_clock_set=is_clock_set)
        return self._start_ns(slots, now_ns)

    def _go_on(self, slots: Slots, now_ns: int, *, i_due: int, is_clock_set: bool) -> None:
        late_ns = now_ns - slots.start_ns(i_due)
        # More than a period early is possible only if the clock was set back.
        if -slots.period_ns <= late_ns <= slots.tolerance_ns and not is_clock_set:
            self.lateness.add(max(0, late_ns) / NS_PER_S)
            self._i_slot = i_due
        else:
            if not is_clock_set:
                self.lateness.add(max(0, late_ns) / NS_PER_S)
            self._miss(slots, now_ns, i_due=i_due, is_clock_set=is_clock_set)
        if self._i_slot is not None and self.patience.settle(self._i_slot):
            _log.info("iteration %d: slots are held again", self.n_iterations)

    def _miss(self, slots: Slots, now_ns: int, *, i_due: int, is_clock_set: bool) -> None:
        if not self.patience.bear(slots.at(now_ns)):
            self._let_go(slots)
            return
        self.n_adjustments += 1
        taken = slots.open_or_next(now_ns)
        late_ns = now_ns - slots.start_ns(i_due)
        if not is_clock_set:
            self.n_missed_slots += max(0, taken - i_due)
            self.n_pauses += late_ns > PAUSE_SLOTS * slots.period_ns
        self._i_slot = taken
        _log.info(
            "adjustment %d at iteration %d: %+.1f ms from slot %d, takes slot %d",
            *(self.n_adjustments, self.n_iterations, late_ns / 1e6, i_due, taken),
        )

    def _let_go(self, slots: Slots) -> None:
        self._i_slot = None
        period_s, own_s = slots.period_ns / NS_PER_S, self.own_iteration_s
        own = "of unknown length" if own_s is None else f"of {own_s:.4g} s (median)"
        why = (
            "longer than the slots: ask for a new plan" if own_s and own_s > period_s else "too irregular or disturbed"
        )
        self.reason = f"slots of {period_s:.4g} s missed again and again: iterations {own} are {why}"
        _log.warning(
            "iteration %d: pacing is let go, the job runs free until slot %d: %s",
            *(self.n_iterations, self.patience.try_again_at, self.reason),
        )

    def _try_again(self, slots: Slots, now_ns: int) -> None:
        if self.patience.try_again(slots.at(now_ns)):
            self._i_slot = slots.open_or_next(now_ns)
            self.reason = None
            _log.info("iteration %d: tries again from slot %d", self.n_iterations, self._i_slot)

    def _start_ns(self, slots: Slots, now_ns: int) -> int | None:
        if self._i_slot is None:
            self.late_ns = 0
            return None
        start_ns = slots.start_ns(self._i_slot)
        self.late_ns = max(0, now_ns - start_ns)
        return start_ns
