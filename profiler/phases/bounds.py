"""Where bursts begin and end: on the folded iteration, and in each iteration by itself."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.bursts import runs, threshold

if TYPE_CHECKING:
    from profiler.signals import UniformRate

__all__ = ["BurstWidths", "measure_bursts", "up_intervals"]

MIN_GAP_FRAC: Final = 0.03
"""Gaps and bursts shorter than this fraction of the period are texture."""
EDGE_FRAC: Final = 0.01
"""A burst begins when this fraction of its bytes has moved, and ends when all but this fraction has."""
MIN_VOLUME_FRAC: Final = 0.02
"""A burst that moves a smaller fraction of the iteration's bytes is not a phase of its own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BurstWidths:
    """One burst in every iteration that has it: start after the iteration's own, width, bits; shape (n_cycles,)."""

    start_s: NDArray[np.float64]
    width_s: NDArray[np.float64]
    bits: NDArray[np.float64]


def up_intervals(fold_bps: NDArray[np.float64], *, period_s: float) -> list[tuple[float, float]]:
    """Return [start, end) of the Up phases of a folded iteration, in seconds, the longest Down stretch last.

    The first start may be negative or the last end past the period where a burst lies across the fold's ends.
    """
    n_bins = fold_bps.size
    bin_s = period_s / n_bins
    up = fold_bps > threshold(fold_bps)
    if not up.any() or up.all():
        return [(0.0, period_s)] if up.all() else []
    turn = _after_longest_down(up)
    gap_bins = max(1, round(MIN_GAP_FRAC * n_bins))
    found = runs(np.roll(up, -turn), min_gap_bins=gap_bins)
    bits = [float(np.roll(fold_bps, -turn)[start:end].sum()) for start, end in found]
    kept = [pair for pair, volume in zip(found, bits, strict=True) if volume >= MIN_VOLUME_FRAC * sum(bits)]
    offset_s = (turn if turn <= n_bins // 2 else turn - n_bins) * bin_s
    return [(offset_s + int(start) * bin_s, offset_s + int(end) * bin_s) for start, end in kept]


def measure_bursts(
    rate: UniformRate, bounds_s: NDArray[np.float64], *, up_s: list[tuple[float, float]], down_bps: float
) -> list[BurstWidths]:
    """Measure every Up phase in every iteration by the bytes it moves above the Down level.

    Parameters
    ----------
    rate
        The rate at the series' own resolution.
    bounds_s
        Start of each iteration and of the next, shape (n_cycles, 2).
    up_s
        Up phases of the folded iteration; each is looked for between the middles of the Down stretches around it.
    down_bps
        Rate of the Down phases.

    Notes
    -----
    A burst runs from 1 % to 99 % of its bytes, extended in proportion to 0 and 100 %: neither a stray packet before
    nor the transport's texture within moves its edges.
    """
    grid_s = np.arange(rate.rate_bps.size + 1, dtype=np.float64) * rate.dt_s
    excess_bits = np.maximum(rate.rate_bps - 2 * down_bps, 0.0) * rate.dt_s
    total_bits = np.concatenate(([0.0], np.cumsum(excess_bits)))
    all_bits = np.concatenate(([0.0], np.cumsum(rate.rate_bps * rate.dt_s)))
    cuts_s: list[float] = [0.5 * (before[1] + after[0]) for before, after in itertools.pairwise(up_s)]
    lows_s = [min(0.0, up_s[0][0]), *cuts_s]
    found = []
    for i, low_s in enumerate(lows_s):
        first_s = bounds_s[:, 0] + low_s - (rate.dt_s if i == 0 else 0.0)
        last_s = bounds_s[:, 0] + cuts_s[i] if i < len(cuts_s) else bounds_s[:, 1] - rate.dt_s + lows_s[0]
        windows_s = np.stack([first_s, last_s], axis=1).astype(np.float64)
        found.append(
            _measure(
                grid_s=grid_s, total_bits=total_bits, all_bits=all_bits, windows_s=windows_s, starts_s=bounds_s[:, 0]
            )
        )
    return found


def _measure(
    *,
    grid_s: NDArray[np.float64],
    total_bits: NDArray[np.float64],
    all_bits: NDArray[np.float64],
    windows_s: NDArray[np.float64],
    starts_s: NDArray[np.float64],
) -> BurstWidths:
    at_first, at_last = np.interp(windows_s[:, 0], grid_s, total_bits), np.interp(windows_s[:, 1], grid_s, total_bits)
    moved = at_last - at_first
    has = moved > 0.2 * np.median(moved)
    early_s = np.interp(at_first[has] + EDGE_FRAC * moved[has], total_bits, grid_s)
    late_s = np.interp(at_last[has] - EDGE_FRAC * moved[has], total_bits, grid_s)
    width_s = (late_s - early_s) / (1 - 2 * EDGE_FRAC)
    begin_s = early_s - EDGE_FRAC * width_s
    bits = np.interp(begin_s + width_s, grid_s, all_bits) - np.interp(begin_s, grid_s, all_bits)
    return BurstWidths(start_s=begin_s - starts_s[has], width_s=width_s, bits=bits)


def _after_longest_down(up: NDArray[np.bool_]) -> int:
    """Return the bin after the longest Down stretch of a circular mask."""
    first = int(np.flatnonzero(up)[0])
    rolled = np.roll(up, -first)
    down = runs(~rolled)
    longest = down[int(np.argmax(down[:, 1] - down[:, 0]))]
    return (first + int(longest[1])) % up.size
