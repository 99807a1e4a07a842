"""When a series was read: its typical window, its holes, and whether the gaps between reads repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HOLE_FACTOR", "holes", "repeating_gaps_s", "typical_window_ns"]

HOLE_FACTOR: Final = 8.0
"""A window longer than this many typical windows is a hole: its bytes are known, their shape in it is not."""
MIN_WINDOWS: Final = 3
"""Of fewer windows none is typical."""
MIN_LONG_FRAC: Final = 0.2
"""Where more windows than this are that long, reads come in pairs or bunches, and the long ones are the typical."""

LONG_GAP: Final = 1.5
"""A gap between reads longer than this many typical ones is a late read or one left out."""
MIN_LONG_GAPS: Final = 8
"""Fewer long gaps than this do not repeat."""
MAX_GAP: Final = 4.0
"""Longer gaps count as so many typical ones: one hole must not be the whole spectrum."""
MIN_PAUSES: Final = 6
"""Fewer holes than this do not repeat."""
EVEN_PAUSES: Final = 0.03
"""Holes begin evenly if the times between them differ by less than this part, and a gap between polls."""
MAX_TOLERANCE: Final = 0.25
"""Where holes come so often that this part of the time between them is a gap, any would be even."""
MIN_EVEN_FRAC: Final = 0.8
"""Of the times between holes, the least part that must be one period: at random one of ten or twenty would."""
BUSY: Final = 4.0
"""Holes with so many times the traffic of other times are due to it: little is left elsewhere then."""
BINS_PER_GAP: Final = 2.0
MAX_BINS: Final = 1 << 18
MIN_CYCLES: Final = 6
"""A period of gaps must be seen so many times."""
SHORTEST_GAPS: Final = 6.0
"""Gaps cannot be seen to repeat faster than this many of them."""
LINE_POWER: Final = 20.0
"""Power of a line over the mean power; white noise reaches it once in half a billion frequencies."""
LEAKAGE: Final = 3
"""A line shows at so many frequencies to either side."""
N_LINES: Final = 8
N_CLASSES: Final = 8
EVEN_FRAC: Final = 1e-3
"""Windows that differ by less than this part are one and the same: their mean is as good as their median."""


def typical_window_ns(widths_ns: NDArray[np.int64]) -> float:
    """Return the typical window: the median, or where reads come in pairs, that of the windows between pairs.

    Parameters
    ----------
    widths_ns
        Widths of the windows in ns, shape (n_samples,); 0 is returned where there is none.
    """
    if widths_ns.size == 0:
        return 0.0
    narrowest_ns, widest_ns = int(widths_ns.min()), int(widths_ns.max())
    if narrowest_ns == widest_ns:
        return float(narrowest_ns)
    if widest_ns - narrowest_ns < EVEN_FRAC * narrowest_ns:
        return float(widths_ns.mean())
    median_ns = float(np.median(widths_ns))
    # The lower quartile, as in pairs of two reads the median may be of either kind.
    short_ns = float(np.partition(widths_ns, widths_ns.size // 4)[widths_ns.size // 4])
    is_long = widths_ns > HOLE_FACTOR * short_ns
    n_long = int(np.count_nonzero(is_long))
    return float(np.median(widths_ns[is_long])) if n_long > MIN_LONG_FRAC * widths_ns.size else median_ns


def holes(widths_ns: NDArray[np.int64], *, typical_ns: float) -> NDArray[np.bool_]:
    """Return which windows are far longer than the typical one."""
    if widths_ns.size < MIN_WINDOWS:
        return np.zeros(widths_ns.size, dtype=bool)
    are_holes: NDArray[np.bool_] = widths_ns > HOLE_FACTOR * typical_ns
    return are_holes


def repeating_gaps_s(
    t_ns: NDArray[np.int64], *, edges_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64]
) -> tuple[float, ...]:
    """Return the periods in seconds, the strongest first, at which gaps between reads themselves repeat.

    Parameters
    ----------
    t_ns
        Times of the reads, increasing, shape (n_reads,).
    edges_ns, delta_bytes
        Ends and bytes of the windows made of them, shapes (n_samples + 1,) and (n_samples,).

    Notes
    -----
    A poller that pauses every 15 s draws a line at 15 s in any series that it reads. Where holes begin at even times,
    those are the period, and the only one. Elsewhere the periods are the lines of the periodogram of gap length over
    time, holes apart; multiples of a pause, and whole parts of it, are among them.

    Reads may also be lost because traffic is heavy, as on some ports of the Zhejiang Lab traces; then their gaps
    repeat with the job. So holes in which traffic is heavier than elsewhere are none of the poller, and what the rate
    explains of a shorter gap's length is taken out: the mean of each class of rate.
    """
    widths_ns = np.diff(t_ns)
    if widths_ns.size < MIN_PAUSES or delta_bytes.size == 0 or widths_ns.min() == widths_ns.max():
        return ()
    median_ns = float(np.median(widths_ns))
    pause_s = _pause_s(t_ns, widths_ns, median_ns=median_ns)
    is_late = (widths_ns > LONG_GAP * median_ns) & (widths_ns <= HOLE_FACTOR * median_ns)
    if pause_s is None and np.count_nonzero(is_late) < MIN_LONG_GAPS:
        return ()
    i_window = np.searchsorted(edges_ns, t_ns[:-1] + widths_ns // 2, side="right") - 1
    rate = (delta_bytes / np.diff(edges_ns))[np.clip(i_window, 0, delta_bytes.size - 1)]
    if pause_s is None:
        return _late_s(t_ns, widths_ns, median_ns=median_ns, rate=rate)
    in_pause = widths_ns > MAX_GAP * median_ns
    return () if rate[in_pause].mean() > BUSY * rate[~in_pause].mean() else (pause_s,)


def _pause_s(t_ns: NDArray[np.int64], widths_ns: NDArray[np.int64], *, median_ns: float) -> float | None:
    """Return the period at which holes begin, None unless nearly all are the same time apart."""
    firsts = np.flatnonzero(widths_ns > MAX_GAP * median_ns)
    if firsts.size < MIN_PAUSES:
        return None
    # Each begins within a gap after the last poll.
    spacings_ns = np.diff(t_ns[firsts])
    usual_ns = float(np.median(spacings_ns))
    tolerance_ns = EVEN_PAUSES * usual_ns + median_ns
    n_pauses = np.round(spacings_ns / usual_ns)
    even = (n_pauses >= 1) & (np.abs(spacings_ns - n_pauses * usual_ns) <= n_pauses * tolerance_ns)
    one = even & (n_pauses == 1)
    if tolerance_ns > MAX_TOLERANCE * usual_ns or np.count_nonzero(one) < MIN_EVEN_FRAC * spacings_ns.size:
        return None
    return float(spacings_ns[even].sum() / n_pauses[even].sum()) / NS_PER_S


def _late_s(
    t_ns: NDArray[np.int64], widths_ns: NDArray[np.int64], *, median_ns: float, rate: NDArray[np.float64]
) -> tuple[float, ...]:
    """Return the periods of the lines of gap length over time, the strongest first."""
    span_ns = float(t_ns[-1] - t_ns[0])
    bin_ns = max(median_ns / BINS_PER_GAP, span_ns / MAX_BINS)
    # Holes are few and of any length: they would be the whole spectrum, wherever they are.
    no_hole = widths_ns <= HOLE_FACTOR * median_ns
    excess = _unexplained(np.minimum(widths_ns[no_hole] / median_ns, MAX_GAP), by=rate[no_hole])
    bins = ((t_ns[1:] - t_ns[0]) / bin_ns).astype(np.int64)[no_hole]
    size = 1 << int(bins[-1]).bit_length()
    power = np.abs(np.fft.rfft(np.bincount(bins, weights=excess), size)) ** 2
    slow = power[: int(size * bin_ns / (SHORTEST_GAPS * median_ns)) + 1]
    return _lines_s(slow, span_s=size * bin_ns / NS_PER_S)


def _unexplained(values: NDArray[np.float64], *, by: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values less the mean of their class; classes are quantiles of another quantity."""
    i_class = np.searchsorted(np.quantile(by, np.linspace(0, 1, N_CLASSES + 1)[1:-1]), by)
    mean = np.bincount(i_class, weights=values) / np.maximum(np.bincount(i_class), 1)
    unexplained: NDArray[np.float64] = values - mean[i_class]
    return unexplained


def _lines_s(power: NDArray[np.float64], *, span_s: float) -> tuple[float, ...]:
    """Return the periods of the lines of a periodogram, the strongest first."""
    # The median of exponentially distributed powers is ln 2 of their mean, and lines do not move it.
    mean = float(np.median(power)) / np.log(2)
    found: list[int] = []
    for i_line in np.argsort(power)[::-1]:
        if power[i_line] <= LINE_POWER * mean or len(found) == N_LINES:
            break
        if i_line >= MIN_CYCLES and all(abs(i_line - other) > LEAKAGE for other in found):
            found.append(int(i_line))
    return tuple(span_s / i_line for i_line in found)
