"""Readings of a described series to a rate: where units and widths of the store meet `RateSeries`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.schema import Flag
from profiler.signals import RateSeries, unit_error
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals.windows import CounterClock
    from profiler.store import Series

__all__ = ["RATED_METRICS", "clock_of", "rate_series"]

RATED_METRICS: Final = ("bytes", "bytes_per_s")
"""Metrics whose series are rates of traffic; a gauge has one of its own, lest it be one series with a counter."""

LIVE_LAYERS: Final = frozenset({"socket", "capture", "collective"})
"""Software counts these as they happen: what beats there is the traffic."""

UNBOUNDED_BITS: Final = 64
GAUGE_NOTE: Final = "a gauge: rates as their source averaged them, over windows that it does not tell"


def rate_series(
    series: Series,
    *,
    t_ns: NDArray[np.int64],
    value: NDArray[np.int64],
    flags: NDArray[np.uint16] | None = None,
    capacity_bps: float | None = None,
) -> RateSeries:
    """Return the rate of a series of bytes.

    Parameters
    ----------
    series
        What was read.
    t_ns
        Time of each reading, UTC epoch ns, shape (n_readings,).
    value
        The readings in canonical bytes, shape (n_readings,).
    flags
        What their recorder knew of them, shape (n_readings,): impossible readings are left out, and a window that ends
        with a saturated one is not known.
    capacity_bps
        What the link carries in this direction, in bit/s, if known. Windows over it are impossible; a series that is
        over it for more than moments has a wrong unit, which a note says, and nothing of it is called impossible.

    Raises
    ------
    BadInput
        If the readings are no rate: a negative counter, overlapping windows.
    """
    if flags is not None:
        possible = (flags & np.uint16(Flag.IMPOSSIBLE)) == 0
        t_ns, value, flags = t_ns[possible], value[possible], flags[possible]
    rate = _rate(series, t_ns, value)
    wrong_unit = None if capacity_bps is None else unit_error(rate, capacity_bps=capacity_bps)
    if wrong_unit is not None:
        rate = replace(rate, notes=(*rate.notes, wrong_unit))
    elif capacity_bps is not None:
        rate = rate.limited(capacity_bps)
    if flags is not None:
        rate = rate.flagged(t_ns, flags)
    return rate.named(
        host=series.host, device=series.device, port=series.port, direction=series.direction, layer=series.layer
    )


def clock_of(series: Series) -> CounterClock:
    """Return whether a counter may be copied by a clock of its own."""
    return "none" if series.layer in LIVE_LAYERS else "unknown"


def _rate(series: Series, t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> RateSeries:
    if series.kind == "delta":
        # Bytes of a delta came after the read before, so the first one's window is not known.
        return RateSeries.from_deltas(t_ns, value[1:], clock=clock_of(series))
    if series.kind == "gauge":
        return _from_gauge(t_ns, value)
    return RateSeries.from_counter(t_ns, value, width_bits=_width_bits(series), clock=clock_of(series))


def _from_gauge(t_ns: NDArray[np.int64], value: NDArray[np.int64]) -> RateSeries:
    """Return the rate of a gauge of bytes/s: each value is taken for the mean since the one before."""
    rate = RateSeries.from_deltas(t_ns, value[1:] * (np.diff(t_ns) / NS_PER_S))
    return replace(rate, notes=(*rate.notes, GAUGE_NOTE))


def _width_bits(series: Series) -> int:
    """Return the width at which the counter of canonical bytes wraps; words of 4 bytes make it 2 bits wider."""
    if series.width_bits is None or series.width_bits >= UNBOUNDED_BITS:
        return UNBOUNDED_BITS
    wider_bits = math.log2(series.raw_scale)
    return min(UNBOUNDED_BITS, series.width_bits + int(wider_bits)) if wider_bits.is_integer() else UNBOUNDED_BITS
