"""Bins to samples: the zeros between them are written, since a captured silence is known to be one."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures.bins import BIN, BYTES, PACKETS, SERIES
from profiler.importers.feed import LONGEST_WINDOW_NS
from profiler.schema import Flag

__all__ = ["NEVER", "Samples", "samples_of"]

ZEROS_PER_BIN: Final = 32
"""Empty bins written one by one for each bin that had packets, shortest gaps first; a longer gap is one long window."""

FEWEST_BINS: Final = 64
"""Bins with packets below which no gap is worth writing bin by bin: nobody can find a period in so few."""

NEVER: Final = -(1 << 63)
"""Last bin of a series of which none was written."""

_LATEST_NS: Final = (1 << 63) - 1


class Samples(NamedTuple):
    """Columns of table ``samples``, shape (n_samples,), ordered by series and time."""

    series: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    n_bytes: NDArray[np.int64]
    n_packets: NDArray[np.int64]
    window_ns: NDArray[np.int32]
    flags: NDArray[np.uint16]


class _Rows(NamedTuple):
    """Samples by bin; a row covers ``width`` bins up to and with ``i_bin``, or is a point at the end of it."""

    series: NDArray[np.int64]
    i_bin: NDArray[np.int64]
    n_bytes: NDArray[np.int64]
    n_packets: NDArray[np.int64]
    width: NDArray[np.int64]


def samples_of(bins: NDArray[np.int64], last_bin: NDArray[np.int64], *, bin_ns: int) -> Samples:
    """Return bins as deltas whose windows touch, each series from the end of what was written of it before.

    Parameters
    ----------
    bins
        Rows of `bins.BinTable`, shape (n_rows, 4).
    last_bin
        Of every series, the last bin written before, or `NEVER`; shape (n_series,). The first sample of a series is
        an empty point at the start of its first bin, flagged as coming after an unknown time.
    bin_ns
        Width of the bins.
    """
    series, i_bin = bins[:, SERIES], bins[:, BIN]
    is_first = np.diff(series, prepend=-1) != 0
    before = np.where(is_first, last_bin[series], np.roll(i_bin, 1))
    is_new = before == NEVER
    gaps = np.where(is_new, 0, i_bin - before - 1)
    parts = (
        _Rows(series, i_bin, bins[:, BYTES], bins[:, PACKETS], np.ones_like(i_bin)),
        _empty(series[is_new], i_bin[is_new] - 1, width=np.zeros_like(i_bin[is_new])),
        *_empty_rows(series, i_bin, gaps, is_first=is_first),
    )
    rows = _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.lexsort((rows.i_bin, rows.series))
    rows = _Rows(*(column[order] for column in rows))
    fits = rows.width <= LONGEST_WINDOW_NS // bin_ns
    return Samples(
        series=rows.series,
        t_ns=np.minimum(rows.i_bin + 1, _LATEST_NS // bin_ns) * bin_ns,
        n_bytes=rows.n_bytes,
        n_packets=rows.n_packets,
        window_ns=np.where(fits, rows.width * bin_ns, 0).astype(np.int32),
        flags=np.where(rows.width == 0, np.uint16(Flag.MISSED), np.uint16(Flag.NONE)),
    )


def _empty_rows(
    series: NDArray[np.int64], i_bin: NDArray[np.int64], gaps: NDArray[np.int64], *, is_first: NDArray[np.bool_]
) -> tuple[_Rows, _Rows]:
    """Return every empty bin of the shorter gaps, and one row for each longer one."""
    is_short = _are_short(series, gaps, is_first=is_first)
    lengths = np.where(is_short, gaps, 0)
    first_of_gap = np.repeat(i_bin - lengths, lengths)
    place_in_gap = np.arange(first_of_gap.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    singles = first_of_gap + place_in_gap
    long = ~is_short
    return (
        _empty(np.repeat(series, lengths), singles, width=np.ones_like(singles)),
        _empty(series[long], i_bin[long] - 1, width=gaps[long]),
    )


def _empty(series: NDArray[np.int64], i_bin: NDArray[np.int64], *, width: NDArray[np.int64]) -> _Rows:
    zeros = np.zeros_like(i_bin)
    return _Rows(series, i_bin, zeros, zeros, width)


def _are_short(series: NDArray[np.int64], gaps: NDArray[np.int64], *, is_first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which gaps are written bin by bin: of each series the shortest, as many as `ZEROS_PER_BIN` allows."""
    starts = np.flatnonzero(is_first)
    n_bins = np.diff(starts, append=series.size)
    budget = np.repeat(np.where(n_bins >= FEWEST_BINS, ZEROS_PER_BIN * n_bins, 0), n_bins)
    order = np.lexsort((gaps, series))
    spent = np.cumsum(gaps[order], dtype=np.float64)
    spent_before = np.repeat(spent[starts] - gaps[order][starts], n_bins)
    is_short = np.empty(gaps.size, dtype=bool)
    is_short[order] = spent - spent_before <= budget
    is_short |= gaps == 0
    return is_short
