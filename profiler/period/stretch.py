"""Which part of a long or torn recording is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.prepare import MAX_BINS
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiler.signals import RateSeries

__all__ = ["stretches"]

TEAR_WINDOWS: Final = 1000.0
"""A hole longer than this many windows parts two recordings; shorter ones are only given no weight."""


def stretches(series: RateSeries) -> Iterator[tuple[int, RateSeries]]:
    """Yield the first window and the windows of each part worth a look: the best first, never one with a tear in it.

    The longest recording between two tears: its newest part, as fine as it was read; then, if that is not
    all of it, the whole of it, which is looked at on coarser bins, for periods longer than the newest part can show.
    """
    widths_ns = np.diff(series.edges_ns)
    tears = np.flatnonzero(widths_ns > TEAR_WINDOWS * series.dt_s * NS_PER_S)
    firsts, ends = np.append(0, tears + 1), np.append(tears, series.n_samples)
    longest = int(np.argmax(ends - firsts))
    first, end = int(firsts[longest]), int(ends[longest])
    newest = max(first, end - MAX_BINS)
    if newest == 0 and end == series.n_samples:
        yield 0, series
        return
    yield newest, series.between(newest, end)
    if newest > first:
        yield first, series.between(first, end)
