"""Samples in order: late rows are put in their place, rows that came twice are dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ordered", "in_order"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Samples with strictly increasing times; arrays of shape (n_samples,)."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    n_late: int
    n_dropped: int


def in_order(t_ns: NDArray[np.int64], value: NDArray[np.int64], *, kind: str) -> Ordered:
    """Return samples in order of time, one a time.

    A row with the time and value of another is the same row sent twice. Of different readings of a counter at one
    time the last counts; different deltas of one time add.
    """
    steps = np.diff(t_ns)
    n_late = int(np.count_nonzero(steps < 0))
    if n_late == 0 and np.all(steps > 0):
        return Ordered(t_ns=t_ns, value=value, n_late=0, n_dropped=0)
    order = np.lexsort((value, t_ns)) if kind == "delta" else np.argsort(t_ns, kind="stable")
    t_ns, value = t_ns[order], value[order]
    new_time = np.append(True, np.diff(t_ns) > 0)
    if kind == "delta":
        first_of_row = new_time | np.append(True, np.diff(value) != 0)
        t_ns, value, new_time = t_ns[first_of_row], value[first_of_row], new_time[first_of_row]
        sums: NDArray[np.int64] = np.add.reduceat(value, np.flatnonzero(new_time))
        n_dropped = int(order.size - first_of_row.sum())
        return Ordered(t_ns=t_ns[new_time], value=sums, n_late=n_late, n_dropped=n_dropped)
    last_of_time = np.append(new_time[1:], True)
    n_dropped = int(order.size - last_of_time.sum())
    return Ordered(t_ns=t_ns[last_of_time], value=value[last_of_time], n_late=n_late, n_dropped=n_dropped)
