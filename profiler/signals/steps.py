"""From where a counter stood to the bytes between: wraps, resets, bad reads, counters that stick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.schema import Flag
from profiler.signals.wraps import UNKNOWN_BITS, Wraps, find_wraps

__all__ = ["Steps", "bad_reads", "moved_bytes", "steps_of"]

STUCK_AT: Final = (2**32 - 1, (2**32 - 1) * 4, 2**64 - 1)
"""Where counters stop: 32 bits of bytes, 32 bits of InfiniBand words (specification 1.2.1, 16.1.3.5), 64 bits."""
STUCK_READS: Final = 3
"""A counter of unknown width that stands at such a value for so many reads is stuck there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Bytes between consecutive reads, arrays of shape (n_reads - 1,), and what there is to say of them."""

    delta_bytes: NDArray[np.float64]
    known: NDArray[np.bool_]
    flags: NDArray[np.uint16]
    notes: tuple[str, ...] = ()


def moved_bytes(value: NDArray[np.uint64], *, width_bits: int = UNKNOWN_BITS) -> NDArray[np.float64]:
    """Return by how much a counter moved between reads, negative where it stepped back; shape (n_reads - 1,).

    A step back by more than half the range of a counter of known width is a wrap, and moved it on.
    """
    moved = (value[1:] - value[:-1]).astype(np.float64)
    back = np.flatnonzero(value[1:] < value[:-1])
    moved[back] = -(value[back] - value[back + 1]).astype(np.float64)
    if width_bits < UNKNOWN_BITS:
        moved[moved < -(2.0 ** (width_bits - 1))] += 2.0**width_bits
    return moved


def bad_reads(value: NDArray[np.uint64], *, width_bits: int) -> NDArray[np.bool_]:
    """Return which reads are a little lower than the one before, while the one after is not: bad, no resets."""
    bad = np.zeros(value.size, dtype=bool)
    if value.size < 3:
        return bad
    before, here, after = value[:-2], value[1:-1], value[2:]
    is_low = here < before
    if not is_low.any():
        return bad
    lost = before - here
    is_wrap = lost > np.uint64(2 ** (width_bits - 1)) if width_bits < UNKNOWN_BITS else np.zeros(lost.size, dtype=bool)
    bad[1:-1] = is_low & (after >= before) & (here > lost) & ~is_wrap
    return bad


def steps_of(value: NDArray[np.uint64], widths_ns: NDArray[np.int64], *, width_bits: int) -> Steps:
    """Return the bytes between reads of a counter, and which of the rules below gave them.

    Parameters
    ----------
    value
        Where the counter stood, in order of time, shape (n_reads,).
    widths_ns
        Time from each read to the next, positive, shape (n_reads - 1,).
    width_bits
        The counter wraps at ``2 ** width_bits``; 64 also stands for a width that is not known.

    Notes
    -----
    Values stay unsigned integers until they are differenced, so nothing is rounded before.

    A step back is a wrap if the bytes so implied are less than half the counter's range and what traffic can be
    (`wraps`); a reset if the counter lost more than half of its value: the bytes since are counted, what came
    before and when is not known; any other is impossible and moves nothing. A counter at its end is saturated.
    """
    if value.size < 2:
        return Steps(delta_bytes=np.zeros(0), known=np.zeros(0, dtype=bool), flags=np.zeros(0, dtype=np.uint16))
    forward = value[1:] >= value[:-1]
    delta_bytes = moved_bytes(value)
    delta_bytes[~forward] = 0.0
    wraps = find_wraps(value, delta_bytes, widths_ns=widths_ns, back=~forward, width_bits=width_bits)
    flags = np.zeros(delta_bytes.size, dtype=np.uint16)
    known = ~wraps.is_unknown
    flags[wraps.is_unknown] |= np.uint16(Flag.WRAP | Flag.MISSED)
    if not forward.all():
        _mend_steps_back(delta_bytes, flags, known, value=value, back=~forward, wraps=wraps)
    saturated = _saturated(value, width_bits=wraps.width_bits)
    if saturated.any():
        flags[saturated] |= np.uint16(Flag.SATURATED)
        known &= ~saturated
    return Steps(delta_bytes=delta_bytes, known=known, flags=flags, notes=wraps.notes)


def _mend_steps_back(
    delta_bytes: NDArray[np.float64],
    flags: NDArray[np.uint16],
    known: NDArray[np.bool_],
    *,
    value: NDArray[np.uint64],
    back: NDArray[np.bool_],
    wraps: Wraps,
) -> None:
    """Give every window in which the counter stepped back its bytes and its flag, in place."""
    delta_bytes[wraps.is_wrap] = wraps.implied_bytes[wraps.is_wrap]
    flags[wraps.is_wrap] |= np.uint16(Flag.WRAP)
    lost = np.where(back, value[:-1] - value[1:], np.uint64(0))
    reset = back & ~wraps.is_wrap & (value[1:] < lost)
    delta_bytes[reset] = value[1:][reset].astype(np.float64)
    flags[reset] |= np.uint16(Flag.RESET)
    odd = back & ~wraps.is_wrap & ~reset
    flags[odd] |= np.uint16(Flag.IMPOSSIBLE)
    known[reset | odd] = False


def _saturated(value: NDArray[np.uint64], *, width_bits: int) -> NDArray[np.bool_]:
    """Return which windows end with the counter at its end."""
    if width_bits < UNKNOWN_BITS:
        ends = {2**width_bits - 1, *(end for end in STUCK_AT if end.bit_length() == width_bits)}
        return np.isin(value[1:], np.array(sorted(ends), dtype=np.uint64))
    stuck = np.zeros(max(0, value.size - 1), dtype=bool)
    top = int(value.max()) if value.size else 0
    for end in STUCK_AT:
        if top < end:
            continue
        at_end = value == np.uint64(end)
        if np.count_nonzero(at_end) >= STUCK_READS:
            stuck |= at_end[1:] & (at_end[:-1] | np.append(at_end[2:], at_end[-1]))
    return stuck
