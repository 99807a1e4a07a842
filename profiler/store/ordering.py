"""Samples in order: late rows are put in their place, rows that came twice are dropped, one is left a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from profiler.schema import Flag

__all__ = ["Ordered", "in_order"]

_MISSED: Final = np.uint16(Flag.MISSED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ordered:
    """Samples with strictly increasing times; arrays of shape (n_samples,)."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]
    epoch: NDArray[np.int32]
    n_late: int = 0
    n_dropped: int = 0


def in_order(
    t_ns: NDArray[np.int64],
    value: NDArray[np.int64],
    *,
    kind: str,
    flags: NDArray[np.uint16] | None = None,
    epoch: NDArray[np.int32] | None = None,
) -> Ordered:
    """Return samples in order of time, one a time; the same ones in whatever order they come.

    A row with the time, value and epoch of another is the same row sent twice. Of different readings of a counter at
    one time the last counts: the highest of the highest epoch. Different deltas of one time add, and so do their flags,
    but one that comes after a missed time says nothing of the others.
    """
    flags = np.zeros(t_ns.size, dtype=np.uint16) if flags is None else flags
    epoch = np.zeros(t_ns.size, dtype=np.int32) if epoch is None else epoch
    steps = np.diff(t_ns)
    if np.all(steps > 0):
        return Ordered(t_ns=t_ns, value=value, flags=flags, epoch=epoch)
    order = np.lexsort((flags, value, epoch, t_ns))
    rows = Ordered(
        t_ns=t_ns[order],
        value=value[order],
        flags=flags[order],
        epoch=epoch[order],
        n_late=int(np.count_nonzero(steps < 0)),
    )
    return _summed(rows) if kind == "delta" else _last_of_time(rows)


def _last_of_time(rows: Ordered) -> Ordered:
    last = np.append(np.diff(rows.t_ns) > 0, True)
    return Ordered(
        t_ns=rows.t_ns[last],
        value=rows.value[last],
        flags=rows.flags[last],
        epoch=rows.epoch[last],
        n_late=rows.n_late,
        n_dropped=int(np.count_nonzero(~last)),
    )


def _summed(rows: Ordered) -> Ordered:
    is_new_time = np.append(True, np.diff(rows.t_ns) > 0)
    is_new_row = is_new_time | np.append(True, (np.diff(rows.value) != 0) | (np.diff(rows.epoch) != 0))
    starts = np.flatnonzero(is_new_time)
    missed = np.bitwise_and.reduceat(rows.flags, starts) & _MISSED
    return Ordered(
        t_ns=rows.t_ns[starts],
        value=np.add.reduceat(np.where(is_new_row, rows.value, 0), starts),
        flags=np.bitwise_or.reduceat(rows.flags, starts) & ~_MISSED | missed,
        epoch=np.maximum.reduceat(rows.epoch, starts),
        n_late=rows.n_late,
        n_dropped=int(np.count_nonzero(~is_new_row)),
    )
