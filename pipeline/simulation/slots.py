"""The rule by which `profiler.pacer` holds a job to its slots, lets go and tries again, compiled by numba.

It is that of `profiler.pacer.keeper` and `profiler.pacer.patience`, on the record of a job.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from pipeline.simulation.records import JobRecord

__all__ = ["MAX_CREDIT", "MAX_DOUBLINGS", "RETRY_SLOTS", "SLOTS_A_MISS", "send_at"]

MAX_CREDIT: Final = 5.0
SLOTS_A_MISS: Final = 20
RETRY_SLOTS: Final = 64
MAX_DOUBLINGS: Final = 6
"""As in `profiler.pacer.patience`; importing the pacer would bring its clock and files along."""

HALF_NS: Final = 0.5e-9
"""The pacer counts whole nanoseconds: a lateness that differs by less is the same."""


@njit(cache=True)
def send_at(one: JobRecord, now_s: float) -> float:
    """Return when a job that is ready may send: early it waits, late it goes, too late it takes another slot."""
    if not math.isnan(one.ready_s):
        n_slots = (now_s - one.ready_s) / one.slot_s
        one.credit = min(MAX_CREDIT, one.credit + n_slots / SLOTS_A_MISS)
    one.ready_s = now_s
    if not math.isnan(one.retry_at):
        _try_again(one, now_s)
    elif math.isnan(one.slot):
        one.slot = _open_or_next(one, now_s)
    else:
        _go_on(one, now_s)
    if math.isnan(one.slot):
        return now_s
    return max(now_s, one.shift_s + one.slot * one.slot_s)


@njit(cache=True)
def _go_on(one: JobRecord, now_s: float) -> None:
    late_s = now_s - (one.shift_s + (one.slot + 1) * one.slot_s)
    if -one.slot_s - HALF_NS <= late_s <= one.tolerance_s + HALF_NS:
        one.slot += 1
    elif one.credit >= 1:
        one.credit -= 1
        one.n_adjustments += 1
        one.slot = _open_or_next(one, now_s)
    else:
        _let_go(one, now_s)
    if one.slot >= one.settled_at:
        one.settled_at = np.nan
        one.n_in_a_row = 0


@njit(cache=True)
def _let_go(one: JobRecord, now_s: float) -> None:
    one.retry_slots = RETRY_SLOTS * 2.0 ** min(one.n_in_a_row, MAX_DOUBLINGS)
    one.n_in_a_row += 1
    one.n_let_go += 1
    one.settled_at = np.nan
    one.retry_at = one.retry_slots * (math.floor(_last_begun(one, now_s) / one.retry_slots) + 2)
    one.slot = np.nan


@njit(cache=True)
def _try_again(one: JobRecord, now_s: float) -> None:
    slot = _last_begun(one, now_s)
    if slot >= one.retry_at:
        one.credit -= 1
        one.settled_at = slot + one.retry_slots
        one.retry_at = np.nan
        one.slot = _open_or_next(one, now_s)


@njit(cache=True)
def _last_begun(one: JobRecord, now_s: float) -> float:
    """Return the last slot that has begun."""
    return float(math.floor((now_s - one.shift_s + HALF_NS) / one.slot_s))


@njit(cache=True)
def _open_or_next(one: JobRecord, now_s: float) -> float:
    """Return the slot that is open now, begun within the tolerance, or else the next one."""
    slot = _last_begun(one, now_s)
    into_s = now_s - (one.shift_s + slot * one.slot_s)
    return slot if into_s <= one.tolerance_s + HALF_NS else slot + 1
