"""When a detection that contradicts the held period is believed."""

from __future__ import annotations

from typing import Final

__all__ = ["Doubt", "is_octave", "is_same"]

SAME_FRAC: Final = 0.05
"""Periods closer than this are one period, measured twice."""
MAX_MULTIPLE: Final = 12
MIN_CONTRARY: Final = 5
"""Detections in a row that must agree with each other against a held period."""


def is_same(a_s: float, b_s: float) -> bool:
    """Return whether two periods are one.

    Examples
    --------
    >>> is_same(0.25, 0.255), is_same(0.25, 0.5)
    (True, False)
    """
    return abs(a_s / b_s - 1) <= SAME_FRAC


def is_octave(a_s: float, b_s: float) -> bool:
    """Return whether one period is a small multiple of the other.

    Examples
    --------
    >>> is_octave(0.25, 0.501), is_octave(0.25, 0.333), is_octave(0.25, 0.25)
    (True, False, False)
    """
    ratio = max(a_s, b_s) / min(a_s, b_s)
    return 2 <= round(ratio) <= MAX_MULTIPLE and abs(ratio / round(ratio) - 1) <= SAME_FRAC


class Doubt:
    """Detections that contradict the held period, one after the other.

    A detection at half or twice the held period is mostly the detector's error, and so is a single one at any other
    while the tracker holds its lock. It is believed only if it comes `MIN_CONTRARY` times in a row, the last time from
    samples none of which the first one saw, or from far more samples than the period was found in.

    Attributes
    ----------
    n_alike
        Contrary detections in a row that agree with each other.
    """

    def __init__(self) -> None:
        self._period_s: float | None = None
        self.n_alike = 0
        self._first_ns = 0

    def clear(self) -> None:
        """Forget: the held period was confirmed."""
        self._period_s, self.n_alike = None, 0

    def add(self, period_s: float, *, from_ns: int, to_ns: int, saw_more: bool) -> bool:
        """Take a contrary detection made from samples of a time; return whether it is to be believed."""
        if self._period_s is None or not is_same(period_s, self._period_s):
            self._period_s, self.n_alike, self._first_ns = period_s, 0, to_ns
        self.n_alike += 1
        return self.n_alike >= MIN_CONTRARY and (saw_more or from_ns >= self._first_ns)
