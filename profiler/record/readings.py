"""Ticks as they are read, and the arrays that they become."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.collectors.base import OpenCounter, ProbedCounter
from profiler.schema import Flag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from profiler.collectors.base import AnyCounter, Probe

__all__ = ["Chunk", "Readings"]

_TEXT_BYTES: Final = 64
_MAX_VALUE: Final = 2**63 - 1
_MAX_RAW: Final = 2**64 - 1

_STUCK_RAW: Final = 2**32 - 1
"""Where a 32-bit InfiniBand counter stops (InfiniBand Architecture Specification 1.2.1, section 16.1.3.5)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunk:
    """Some consecutive ticks of all counters that could be read; arrays of shape (n_counters, n_ticks).

    Parameters
    ----------
    counters
        What the rows of the arrays are.
    t_ns
        Time just after each read, UTC epoch ns.
    window_ns
        How long each read took; the value is of some instant in it.
    value
        Cumulative count, in the canonical unit of the counter's series.
    flags
        Bits of `profiler.schema.Flag`: missed, saturated, impossible.
    """

    counters: tuple[AnyCounter, ...]
    t_ns: NDArray[np.int64]
    window_ns: NDArray[np.int32]
    value: NDArray[np.int64]
    flags: NDArray[np.uint16]


class Readings:
    """Ticks of some counters, as plain numbers: nothing is computed while the clock runs.

    Parameters
    ----------
    counters
        Counters to read at each tick: those with files of their own, then those of probes, all of a probe in its order.
    now_ns
        Monotonic clock.
    returning
        Counters that were away: their first sample is flagged, for ticks were missed before it.

    Attributes
    ----------
    failed : AnyCounter or None
        The counter at which the last tick ended that could not be read.
    """

    def __init__(
        self,
        counters: Sequence[AnyCounter],
        now_ns: Callable[[], int],
        *,
        returning: Collection[AnyCounter] = (),
    ) -> None:
        self.failed: AnyCounter | None = None
        self._counters = tuple(counters)
        self._returning = [counter in returning for counter in counters]
        self._handles = [counter.handle for counter in counters if isinstance(counter, OpenCounter)]
        self._probes: list[Probe] = []
        self._i_read = list(range(len(self._handles)))
        for counter in counters:
            if isinstance(counter, ProbedCounter):
                if counter.probe not in self._probes:
                    self._probes.append(counter.probe)
                self._i_read.append(len(self._handles) + len(self._probes) - 1)
        self._now_ns = now_ns
        # Arrays of machine words, since they become NumPy's at no cost.
        self._times = array("q")
        self._raw = array("Q")
        self._missed: list[bool] = []

    def __len__(self) -> int:
        return len(self._missed)

    def read_tick(self) -> int:
        """Read every counter once, and return when that began.

        `end_tick` is to follow. If a counter cannot be read, OSError or ValueError is raised and the tick forgotten.
        """
        now_ns, pread, note_time, note = self._now_ns, os.pread, self._times.append, self._raw.append
        begun_ns = now_ns()
        try:
            note_time(begun_ns)
            for handle in self._handles:
                count = int(pread(handle, _TEXT_BYTES, 0))
                try:
                    note(count)
                except OverflowError:
                    note(_MAX_RAW)
                note_time(now_ns())
            for probe in self._probes:
                self._raw.extend(probe.read())
                note_time(now_ns())
        except (OSError, ValueError):
            n_ticks, n_reads = len(self), len(self._handles) + len(self._probes)
            self.failed = self._counters[len(self._raw) - n_ticks * len(self._counters)]
            del self._times[n_ticks * (n_reads + 1) :], self._raw[n_ticks * len(self._counters) :]
            raise
        return begun_ns

    def end_tick(self, *, is_after_gap: bool) -> None:
        """Say of the tick just read whether others were missed before it."""
        self._missed.append(is_after_gap)

    def to_chunk(self, *, offset_ns: int) -> Chunk:
        """Return the ticks as arrays; ``offset_ns`` is the wall clock minus the monotonic clock."""
        n_reads = len(self._handles) + len(self._probes)
        times = np.frombuffer(self._times, np.int64).reshape(-1, n_reads + 1).T
        value, flags = self._values()
        missed = np.tile(self._missed, (len(self._counters), 1))
        missed[:, 0] |= self._returning
        return Chunk(
            counters=self._counters,
            t_ns=times[1:][self._i_read] + offset_ns,
            window_ns=np.minimum(np.diff(times, axis=0), np.iinfo(np.int32).max).astype(np.int32)[self._i_read],
            value=value,
            flags=flags | np.where(missed, Flag.MISSED, Flag.NONE).astype(np.uint16),
        )

    def _values(self) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
        raw = np.frombuffer(self._raw, np.uint64).reshape(-1, len(self._counters)).T
        scale = np.array([[counter.spec.scale] for counter in self._counters], np.uint64)
        may_stick = np.array([[counter.spec.width_bits is None] for counter in self._counters])
        most = np.uint64(_MAX_VALUE) // scale
        flags = np.where(raw > most, Flag.IMPOSSIBLE, Flag.NONE).astype(np.uint16)
        flags |= np.where(may_stick & (raw == _STUCK_RAW), Flag.SATURATED, Flag.NONE).astype(np.uint16)
        return (np.minimum(raw, most) * scale).astype(np.int64), flags
