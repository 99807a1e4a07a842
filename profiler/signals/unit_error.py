"""`unit_error`: whether a series counts in another unit than bytes, by what the link or its other end says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.signals.capacity import MAX_LOAD
from profiler.units import BITS_PER_BYTE, IB_WORD_BYTES, NS_PER_S, format_rate

if TYPE_CHECKING:
    from profiler.signals.series import RateSeries

__all__ = ["unit_error"]

FULL_FRAC: Final = 0.01
MIN_FULL: Final = 3
"""A port is as full as the busiest hundredth of its time, or as three windows, not as its one busiest window."""
LONG_S: Final = 1.0
"""Rates are compared over at least so long: shorter windows are off by what their reads were late."""
FACTORS: Final = ((IB_WORD_BYTES, "4-byte words counted twice over"), (BITS_PER_BYTE, "bits for bytes"))
"""By how much a rate is wrong, and what then was taken for what."""
SAME_FRAC: Final = 0.02
"""Two ends of a link count the same bytes within this, headers and the time between their reads included."""
MIN_BPS: Final = 1e6
"""Below this mean rate two ends differ by what else they send."""


def unit_error(
    series: RateSeries, *, capacity_bps: float | None = None, other_end: RateSeries | None = None
) -> str | None:
    """Return in words what is wrong with the unit of a series, or None if nothing is seen to be.

    Parameters
    ----------
    series
        What one end of a link counted.
    capacity_bps
        What the link carries in this direction, in bit/s.
    other_end
        What the other end counted, in the opposite direction: the same bytes.

    Notes
    -----
    InfiniBand ports count 4-byte words, whatever the lane width (`units.IB_WORD_BYTES`). A reader who takes them for
    bytes is a quarter of the truth, one who multiplies twice is four times over. Two ends that differ by just
    such a factor say that one of them is; a rate over capacity says which.

    Examples
    --------
    >>> from profiler.signals.series import RateSeries
    >>> full = RateSeries.from_deltas([0, 10**9, 2 * 10**9], [4 * 10**9, 4 * 10**9])
    >>> unit_error(full, capacity_bps=10e9)
    '32 Gbit/s on a link of 10 Gbit/s: 4-byte words counted twice over, divide by 4'
    """
    if series.n_samples == 0:
        return None
    over = None if capacity_bps is None else _over_capacity(series, capacity_bps=capacity_bps)
    differs = None if other_end is None else _differs(series, other_end)
    return over or differs


def _over_capacity(series: RateSeries, *, capacity_bps: float) -> str | None:
    """Return what is wrong with a port that is over capacity for more than moments."""
    most_bps = MAX_LOAD * capacity_bps
    if series.rate_bps.max() <= most_bps:  # a mean of windows is no more than the fastest of them
        return None
    full_bps = _full_bps(series)
    if full_bps <= most_bps:
        return None
    said = f"{format_rate(full_bps)} on a link of {format_rate(capacity_bps)}"
    for factor, mistake in FACTORS:
        if full_bps <= MAX_LOAD * factor * capacity_bps:
            return f"{said}: {mistake}, divide by {factor}"
    return f"{said}: no unit explains it; is the capacity, or the unit of time, right?"


def _full_bps(series: RateSeries) -> float:
    """Return the rate in the busiest hundredth of the time of which it is known how traffic ran."""
    known = series.known
    if not known.any():
        return 0.0
    delta_bytes, widths_s = series.delta_bytes[known], np.diff(series.edges_ns)[known] / NS_PER_S
    n_pooled = max(1, int(np.ceil(LONG_S / max(series.dt_s, 1e-9))))
    firsts = np.arange(0, widths_s.size, n_pooled)
    bytes_of, seconds_of = np.add.reduceat(delta_bytes, firsts), np.add.reduceat(widths_s, firsts)
    long = seconds_of >= 0.5 * seconds_of.max()
    rate_bps = bytes_of[long] * BITS_PER_BYTE / seconds_of[long]
    n_full = min(rate_bps.size, max(MIN_FULL, int(np.ceil(FULL_FRAC * rate_bps.size))))
    return float(np.partition(rate_bps, -n_full)[-n_full])


def _differs(series: RateSeries, other_end: RateSeries) -> str | None:
    """Return what is wrong if two ends counted the same traffic in units that differ."""
    here_bps, there_bps = _common_bps(series, other_end)
    if min(here_bps, there_bps) < MIN_BPS:
        return None
    ratio = here_bps / there_bps
    for factor, part in ((IB_WORD_BYTES, "quarter"), (BITS_PER_BYTE, "eighth")):
        if abs(ratio / factor - 1) <= SAME_FRAC:
            return f"{factor} times what the other end of the link counts: one of the two has a wrong unit"
        if abs(ratio * factor - 1) <= SAME_FRAC:
            return f"a {part} of what the other end of the link counts: one of the two has a wrong unit"
    return None


def _common_bps(series: RateSeries, other_end: RateSeries) -> tuple[float, float]:
    """Return the mean rate of each over the time that both saw."""
    if other_end.n_samples == 0:
        return 0.0, 0.0
    first_ns = max(series.edges_ns[0], other_end.edges_ns[0])
    last_ns = min(series.edges_ns[-1], other_end.edges_ns[-1])
    if last_ns <= first_ns:
        return 0.0, 0.0
    return _mean_bps(series, first_ns, last_ns), _mean_bps(other_end, first_ns, last_ns)


def _mean_bps(series: RateSeries, first_ns: int, last_ns: int) -> float:
    total = np.concatenate(([0.0], np.cumsum(series.delta_bytes)))
    t_s = (series.edges_ns - first_ns) / NS_PER_S
    moved = np.interp((last_ns - first_ns) / NS_PER_S, t_s, total) - np.interp(0.0, t_s, total)
    return float(moved) * BITS_PER_BYTE / ((last_ns - first_ns) / NS_PER_S)
