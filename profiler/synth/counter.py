"""`Counter`: traffic integrated to whole bytes by a real counter: narrow, refreshed by a clock of its own, reset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.synth.reads import T0_NS, Reads
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.synth.traffic import Traffic

__all__ = ["Counter"]

LARGEST_INT64: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A cumulative byte counter.

    Parameters
    ----------
    width_bits
        The counter holds values below ``2 ** width_bits``; 1 to 64.
    at_end
        What it does there: start again at 0, or stay at its largest value.
    start_bytes
        Its value before any traffic; not negative.
    refresh_s, phase_s
        It is copied for readers at ``phase_s`` and every ``refresh_s`` before and after; None if reads see it live.
    resets_s
        Instants at which it was set to 0, increasing.

    Raises
    ------
    UsageError
        If a parameter is out of its range.

    Examples
    --------
    A counter of 8 bits that starts near its end:

    >>> from profiler.synth import Traffic
    >>> traffic = Traffic.steady(800.0, duration_s=1.0)
    >>> Counter(width_bits=8, start_bytes=200).read(traffic, np.array([0.0, 0.5, 1.0])).value
    array([200, 250,  44])
    """

    width_bits: int = 64
    at_end: Literal["wrap", "saturate"] = "wrap"
    start_bytes: int = 0
    refresh_s: float | None = None
    phase_s: float = 0.0
    resets_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.width_bits <= 64:
            raise UsageError(f"Counter: width_bits {self.width_bits} must be 1 to 64")
        if not 0 <= self.start_bytes < 2**self.width_bits:
            raise UsageError(f"Counter: start_bytes {self.start_bytes} must fit {self.width_bits} bits")
        if self.refresh_s is not None and not self.refresh_s > 0:
            raise UsageError(f"Counter: refresh_s {self.refresh_s} must be positive, or None for a live counter")
        if list(self.resets_s) != sorted(set(self.resets_s)):
            raise UsageError(f"Counter: resets_s {self.resets_s} must increase")

    def read(self, traffic: Traffic, polls_s: NDArray[np.float64]) -> Reads:
        """Return what polls at these instants (seconds, increasing) see of the counter."""
        seen_s = self.seen_s(polls_s)
        total = traffic.bytes_at(seen_s)
        resets_s = np.array(self.resets_s, dtype=np.float64)
        i_reset = np.searchsorted(resets_s, seen_s, side="right")
        since_reset = total - np.concatenate(([0], traffic.bytes_at(resets_s)))[i_reset]
        start = np.where(i_reset == 0, np.uint64(self.start_bytes), np.uint64(0))
        value = self._held(since_reset.astype(np.uint64), start)
        return Reads(
            t_ns=T0_NS + np.rint(polls_s * NS_PER_S).astype(np.int64),
            value=_signed_if_fits(value),
            total_bytes=int(total[-1] - total[0]) if total.size else 0,
        )

    def seen_s(self, polls_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the instant whose state each poll sees: its own, or that of the last copy before it."""
        if self.refresh_s is None:
            return polls_s
        return np.floor((polls_s - self.phase_s) / self.refresh_s) * self.refresh_s + self.phase_s

    def _held(self, counted: NDArray[np.uint64], start: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what the counter shows that has counted so many bytes since it stood at ``start``."""
        largest = np.uint64(2**self.width_bits - 1)
        # Unsigned sums go around at 2**64, as a counter of 64 bits does.
        return (counted + start) & largest if self.at_end == "wrap" else start + np.minimum(counted, largest - start)


def _signed_if_fits(value: NDArray[np.uint64]) -> NDArray[np.int64] | NDArray[np.uint64]:
    fits = not value.size or int(value.max()) <= LARGEST_INT64
    return value.astype(np.int64) if fits else value
