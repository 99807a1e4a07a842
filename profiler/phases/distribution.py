"""How much of the time a series spends at which rate: all that is known of when traffic without a period sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["MIN_WINDOWS", "N_GROUPS", "level_groups"]

N_GROUPS: Final = 32
"""From so many the excess of on/off or exponential traffic over a link is short by less than 1 % of its peak rate."""
MIN_WINDOWS: Final = 4 * N_GROUPS
"""Fewer windows than four a group are single observations, not a distribution."""


def level_groups(series: RateSeries) -> tuple[float, ...]:
    """Return the mean rates of the quietest part of the time, of the next, and so on to the busiest, in bit/s.

    Parameters
    ----------
    series
        Windows of any lengths; a hole counts with its bytes, as in the mean.

    Returns
    -------
    tuple of float
        `N_GROUPS` rates that do not decrease, each of the same share of the time, so that their mean is that of the
        series: bytes are conserved. Empty if there are fewer than `MIN_WINDOWS` windows.

    Notes
    -----
    What varies within a window, or within a group, is lost: by convexity an excess computed from these levels is at
    most that of the traffic itself. Groups hold equally many windows; where those differ in length the cumulative
    bytes are interpolated at equal shares of the time. O(n).
    """
    if series.n_samples < MIN_WINDOWS:
        return ()
    widths_ns = np.diff(series.edges_ns)
    firsts = np.arange(N_GROUPS) * series.n_samples // N_GROUPS
    order = np.argpartition(series.delta_bytes / widths_ns, firsts[1:])
    until_ns = np.concatenate(([0.0], np.cumsum(np.add.reduceat(widths_ns[order], firsts), dtype=np.float64)))
    until_bytes = np.concatenate(([0.0], np.cumsum(np.add.reduceat(series.delta_bytes[order], firsts))))
    marks_ns = np.linspace(0.0, until_ns[-1], N_GROUPS + 1)
    bits = BITS_PER_BYTE * np.diff(np.interp(marks_ns, until_ns, until_bytes))
    return tuple(np.maximum.accumulate(bits * (NS_PER_S / marks_ns[1])).tolist())
