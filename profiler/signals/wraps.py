"""Which steps back of a counter are wraps, and which windows may hold more than one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.signals.capacity import FASTEST_BPS
from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = ["UNKNOWN_BITS", "Wraps", "find_wraps"]

UNKNOWN_BITS: Final = 64
"""A width that stands for "not known" as well: most counters that are said to have 64 bits do, but not all."""
WIDTHS: Final = (32, 34, 40, 48)
"""Widths of counters met: 32 bits of bytes and of 4-byte words, and the 40 and 48 bits of switch chips."""
MIN_FORWARD: Final = 16
MIN_MOVING: Final = 8
"""With fewer windows in which the counter went forward, and moved, it is not known what the traffic can be."""
FITS: Final = 2.0
"""A wrap's bytes fit if their rate is at most so many times the highest rate of the other windows."""
MAX_PART: Final = 0.25
"""Part of a counter's range that a wrap of unknown width may imply: more is no sign of the width."""
SEVERAL: Final = 0.4
"""Windows whose traffic, at the mean rate, is more than this part of the range may hold several wraps; traffic that
always does looks like half of it."""
USUAL: Final = 2.0
"""The mean rate is that of windows no longer than so many typical ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wraps:
    """Wraps of a counter, arrays of shape (n_samples,).

    Parameters
    ----------
    width_bits
        The width given, or that which its wraps show.
    is_wrap
        Windows in which it stepped back by wrapping once.
    implied_bytes
        Bytes of a window if it wrapped once in it; only meant where ``is_wrap``.
    is_unknown
        Windows so long, for so narrow a counter, that it may have wrapped several times: their bytes are the least.
    notes
        What a reader must know, in words.
    """

    width_bits: int
    is_wrap: NDArray[np.bool_]
    implied_bytes: NDArray[np.float64]
    is_unknown: NDArray[np.bool_]
    notes: tuple[str, ...] = ()


def find_wraps(
    value: NDArray[np.uint64],
    forward_bytes: NDArray[np.float64],
    *,
    widths_ns: NDArray[np.int64],
    back: NDArray[np.bool_],
    width_bits: int,
) -> Wraps:
    """Return the wraps of a counter.

    Parameters
    ----------
    value
        Where it stood, shape (n_reads,).
    forward_bytes
        By how much it went forward, 0 where it stepped back; shape (n_reads - 1,).
    widths_ns
        Time from each read to the next, shape (n_reads - 1,).
    back
        Where it stepped back, shape (n_reads - 1,).
    width_bits
        Its width; 64 if not known.

    Notes
    -----
    A counter that is said to have 64 bits and steps back from just below a narrower width to just above 0, by no more
    than its traffic can be, has that width: by chance it would be there once in as many times as the range
    holds windows of traffic.
    """
    if not back.any() and width_bits >= UNKNOWN_BITS:
        none = np.zeros(back.size, dtype=bool)
        return Wraps(width_bits=width_bits, is_wrap=none, implied_bytes=forward_bytes, is_unknown=none)
    most_bytes = _most_bytes(forward_bytes, widths_ns, forward=~back, is_given=width_bits < UNKNOWN_BITS)
    width = width_bits if width_bits < UNKNOWN_BITS else _width_shown(value, back, most_bytes=most_bytes)
    implied = _implied(value, width)
    is_wrap = back & (implied < 2.0**width / 2) & (implied <= most_bytes)
    is_unknown = np.zeros(back.size, dtype=bool)
    if width < UNKNOWN_BITS:
        is_unknown = _may_hold_several(implied, widths_ns, width_bits=width)
    return Wraps(
        width_bits=width,
        is_wrap=is_wrap,
        implied_bytes=implied,
        is_unknown=is_unknown,
        notes=_notes(width, n_wraps=int(is_wrap.sum()), n_unknown=int(is_unknown.sum()), is_shown=width < width_bits),
    )


def _notes(width_bits: int, *, n_wraps: int, n_unknown: int, is_shown: bool) -> tuple[str, ...]:
    said = [
        (is_shown, f"the counter wraps at {width_bits} bits, {n_wraps} times here: its bytes are counted"),
        (
            n_unknown > 0,
            f"{n_unknown} windows may hold several wraps of the {width_bits}-bit counter, their bytes are the least "
            "that moved: read it more often, or read a 64-bit one",
        ),
    ]
    return tuple(text for applies, text in said if applies)


def _most_bytes(
    forward_bytes: NDArray[np.float64], widths_ns: NDArray[np.int64], *, forward: NDArray[np.bool_], is_given: bool
) -> NDArray[np.float64]:
    """Return what a wrap may imply in each window: what the highest rate of the others, or any port, can carry."""
    if is_given:
        return np.asarray(widths_ns * (FASTEST_BPS / BITS_PER_BYTE / NS_PER_S), dtype=np.float64)
    n_forward, n_moving = np.count_nonzero(forward), np.count_nonzero(forward_bytes)
    if n_forward < MIN_FORWARD or n_moving < MIN_MOVING:
        return np.full(widths_ns.size, -1.0)
    peak_rate = float((forward_bytes / widths_ns).max())
    return np.asarray(widths_ns * (FITS * peak_rate), dtype=np.float64)


def _implied(value: NDArray[np.uint64], width_bits: int) -> NDArray[np.float64]:
    """Return the bytes between reads modulo the counter's range."""
    return ((value[1:] - value[:-1]) & np.uint64(2**width_bits - 1)).astype(np.float64)


def _width_shown(value: NDArray[np.uint64], back: NDArray[np.bool_], *, most_bytes: NDArray[np.float64]) -> int:
    """Return the width that steps back show, 64 if they show none."""
    top = int(value.max())
    width = next((bits for bits in WIDTHS if top < 2**bits), UNKNOWN_BITS)
    if width >= UNKNOWN_BITS:
        return UNKNOWN_BITS
    shown = back & (_implied(value, width) <= np.minimum(most_bytes, MAX_PART * 2.0**width))
    return width if shown.any() else UNKNOWN_BITS


def _may_hold_several(
    implied_bytes: NDArray[np.float64], widths_ns: NDArray[np.int64], *, width_bits: int
) -> NDArray[np.bool_]:
    """Return in which windows a narrow counter may wrap more than once."""
    usual = widths_ns <= USUAL * np.median(widths_ns)
    mean_rate = float(implied_bytes[usual].sum()) / float(widths_ns[usual].sum())
    return np.asarray(mean_rate * widths_ns > SEVERAL * 2.0**width_bits)
