"""`mistaken_unit`: a column of times whose unit cannot be the one that was told."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.importers.mapping import TIME_UNITS

__all__ = ["dated_unit", "mistaken_unit"]

_FIRST_S: Final = 1_200_000_000
_LAST_S: Final = 2_200_000_000
"""2008 to 2039, in s since the epoch: what dates of counters may be."""
_FASTEST_POLL_NS: Final = 100_000
"""Nobody reads counters more often than every 0.1 ms; steps are shorter where ms, or s, are taken for ns."""


def mistaken_unit(t_ns: NDArray[np.int64], unit: str) -> str | None:
    """Return the unit that times look like, if they cannot be of the unit that they were read in.

    Both must speak against it: taken for the other unit all of them are dates of our time, and taken for the one that
    was told they stand closer together than any counter is read.

    Parameters
    ----------
    t_ns
        Times as they were read, shape (n_rows,).
    unit
        What they were read as, of `profiler.importers.mapping.TIME_UNITS`.

    Examples
    --------
    >>> mistaken_unit(np.array([1_700_000_000, 1_700_000_001, 1_700_000_002]), "ns")
    's'
    >>> mistaken_unit(np.array([1_700_000_000, 1_701_000_000, 1_702_000_000]), "ns")
    """
    times_ns = np.unique(t_ns)
    if times_ns.size < 2 or np.median(np.diff(times_ns)) >= _FASTEST_POLL_NS:
        return None
    return dated_unit(times_ns, unit)


def dated_unit(times_ns: NDArray[np.int64], unit: str) -> str | None:
    """Return the other unit in which times are dates of our time; None if there is none.

    Parameters
    ----------
    times_ns
        Times as they were read, sorted, shape (n_rows,), of one row at least.
    unit
        What they were read as.

    Examples
    --------
    >>> dated_unit(np.array([1_700_000_000]) * 10**6, "ms")
    's'
    """
    first, last = int(times_ns[0]) // TIME_UNITS[unit], int(times_ns[-1]) // TIME_UNITS[unit]
    for other, other_ns in TIME_UNITS.items():
        per_s = TIME_UNITS["s"] // other_ns
        if other != unit and first >= _FIRST_S * per_s and last <= _LAST_S * per_s:
            return other
    return None
