"""`RateSeries`: bytes moved in consecutive windows of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import UsageError
from profiler.schema import Flag
from profiler.signals.capacity import impossible
from profiler.signals.grid import UniformRate, on_grid
from profiler.signals.polls import holes, repeating_gaps_s, typical_window_ns
from profiler.signals.reads import checked_deltas, checked_reads, checked_width_bits
from profiler.signals.steps import Steps, bad_reads, moved_bytes, steps_of
from profiler.signals.windows import CounterClock, Windows, windows_between
from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = ["RateSeries"]

FLAGS_NOT_KNOWN = np.uint16(Flag.SATURATED | Flag.IMPOSSIBLE)
"""What a recorder may say of a read that leaves its window's bytes in doubt."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateSeries:
    """Bytes moved in consecutive windows of time.

    Parameters
    ----------
    edges_ns
        Ends of the windows, UTC epoch ns, strictly increasing; int64, shape (n_samples + 1,), or empty.
    delta_bytes
        Bytes of each window, not negative; float64, shape (n_samples,).
    known
        False where it is not known when in the window the bytes moved (a hole, a reset); bool, shape (n_samples,).
    flags
        Bits of `profiler.schema.Flag`; uint16, shape (n_samples,).
    n_late, n_duplicate, n_glitches
        Reads that came out of order (put in order), twice (dropped), or lower than the ones around them (dropped).
    refresh_s, refresh_phase_s
        The counter's own refresh interval in seconds, if it is slower than the polls and the windows are its ticks,
        and when after the first read it first ticked.
    is_refresh_moot
        What looks like that refresh may be the beat of a job, whose bursts each fit between two polls.
    n_stale
        Reads that only saw again what one before had seen; their windows are put together, and flagged.
    repeated_frac
        The part of the reads that did so amid traffic at no interval that was found: single rates are then noise.
    poll_periods_s
        Periods at which the gaps between polls themselves repeat, the strongest first. A job on the host that polls
        disturbs the poller at its own period, so `profiler.period` takes one of these for a job's only where windows
        are all known, or its folded iteration explains at least half as much of the series as any other candidate's
        does; and it takes neither one of these nor a small multiple for that of a second job.
    notes
        What a reader of the series must know besides, in words.
    """

    edges_ns: NDArray[np.int64]
    delta_bytes: NDArray[np.float64]
    known: NDArray[np.bool_]
    flags: NDArray[np.uint16]
    n_late: int = 0
    n_duplicate: int = 0
    n_glitches: int = 0
    refresh_s: float | None = None
    refresh_phase_s: float | None = None
    is_refresh_moot: bool = False
    n_stale: int = 0
    repeated_frac: float = 0.0
    poll_periods_s: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    host: str = ""
    device: str = ""
    port: str = ""
    direction: str = ""
    layer: str = ""

    def __post_init__(self) -> None:
        n_samples = self.delta_bytes.size
        if self.edges_ns.size != n_samples + 1 and not (n_samples == 0 and self.edges_ns.size == 0):
            raise UsageError(f"RateSeries: {self.edges_ns.size} edges for {n_samples} windows; one more edge is needed")
        for array in (self.edges_ns, self.delta_bytes, self.known, self.flags):
            array.setflags(write=False)

    @classmethod
    def from_counter(
        cls,
        t_ns: ArrayLike,
        value: ArrayLike,
        *,
        width_bits: int = 64,
        capacity_bps: float | None = None,
        clock: CounterClock = "unknown",
    ) -> Self:
        """Make a series from reads of a cumulative byte counter.

        Parameters
        ----------
        t_ns
            Time of each read, UTC epoch ns; integers, shape (n_reads,), in any order.
        value
            Cumulative bytes at each read; whole, not negative, below 2**64, shape (n_reads,).
        width_bits
            The counter wraps at ``2 ** width_bits``; 64 if that is not known.
        capacity_bps
            What the link carries in this direction, in bit/s, if known: what is over it is no traffic.
        clock
            ``none`` if the counter is known to be counted live, as those of software are: none is looked for then.

        Raises
        ------
        BadInput
            If lengths differ, an array is masked or has not one dimension, or a value is negative, not finite or too
            large.
        UsageError
            If the width or the capacity has no meaning.

        Notes
        -----
        If the counter is copied more slowly than it is polled, the windows are its own ticks (`profiler.refresh`).
        What a step back of the counter means is judged by `profiler.signals.steps`. A read that is a little lower
        than the ones about it is dropped. Windows far longer than the typical one are holes.

        Examples
        --------
        >>> RateSeries.from_counter([0, 1_000_000_000, 2_000_000_000], [0, 125, 375]).rate_bps
        array([1000., 2000.])
        """
        width_bits = checked_width_bits(width_bits)
        reads = checked_reads(t_ns, value)
        bad = bad_reads(reads.value, width_bits=width_bits)
        n_bad = int(np.count_nonzero(bad))
        times_ns, values = (reads.t_ns[~bad], reads.value[~bad]) if n_bad else (reads.t_ns, reads.value)
        windows = windows_between(times_ns, moved_bytes(values, width_bits=width_bits), clock=clock)
        steps = steps_of(values[windows.i_read], np.diff(windows.edges_ns), width_bits=width_bits)
        series = cls._of(windows, steps, polls_ns=times_ns, capacity_bps=capacity_bps)
        return replace(series, n_late=reads.n_late, n_duplicate=reads.n_duplicate, n_glitches=n_bad)

    @classmethod
    def from_deltas(
        cls,
        t_ns: ArrayLike,
        delta_bytes: ArrayLike,
        *,
        capacity_bps: float | None = None,
        clock: CounterClock = "unknown",
    ) -> Self:
        """Make a series from bytes per window.

        Parameters
        ----------
        t_ns
            Ends of the windows, strictly increasing; one more entry than ``delta_bytes``.
        delta_bytes
            Bytes of each window, not negative, below 2**64; shape (n_samples,).
        capacity_bps
            What the link carries in this direction, in bit/s, if known: what is over it is no traffic.
        clock
            As for `from_counter`.

        Raises
        ------
        BadInput
            If lengths do not fit, times do not increase, an array is masked or has not one dimension, or a value is
            negative, not finite or 2**64 or more.
        UsageError
            If the capacity has no meaning.

        Notes
        -----
        Rows taken from a counter that is copied more slowly than it is polled are zero where nothing was copied; they
        are put together to the counter's own ticks, as for `from_counter`.

        Examples
        --------
        >>> RateSeries.from_deltas([0, 1_000_000_000], [125]).mean_bps
        1000.0
        """
        edges_ns, deltas = checked_deltas(t_ns, delta_bytes)
        windows = windows_between(edges_ns, deltas, clock=clock)
        if not isinstance(windows.i_read, slice) and windows.i_read.size > 1:
            deltas = np.add.reduceat(deltas[: windows.i_read[-1]], windows.i_read[:-1])
        known, flags = np.ones(deltas.size, dtype=bool), np.zeros(deltas.size, dtype=np.uint16)
        steps = Steps(delta_bytes=deltas, known=known, flags=flags)
        return cls._of(windows, steps, polls_ns=edges_ns, capacity_bps=capacity_bps)

    @classmethod
    def _of(cls, windows: Windows, steps: Steps, *, polls_ns: NDArray[np.int64], capacity_bps: float | None) -> Self:
        widths_ns = np.diff(windows.edges_ns)
        are_holes = holes(widths_ns, typical_ns=typical_window_ns(widths_ns))
        flags, known = windows.flags | steps.flags, steps.known & ~are_holes
        flags[are_holes] |= np.uint16(Flag.MISSED)
        series = cls(
            edges_ns=windows.edges_ns,
            delta_bytes=steps.delta_bytes,
            known=known,
            flags=flags,
            refresh_s=windows.refresh_s,
            refresh_phase_s=windows.refresh_phase_s,
            is_refresh_moot=windows.is_refresh_moot,
            n_stale=windows.n_stale,
            repeated_frac=windows.repeated_frac,
            poll_periods_s=repeating_gaps_s(polls_ns, edges_ns=windows.edges_ns, delta_bytes=steps.delta_bytes),
            notes=steps.notes,
        )
        return series if capacity_bps is None else series.limited(capacity_bps)

    def limited(self, capacity_bps: float) -> Self:
        """Return the series with windows over what its link carries, in bit/s, flagged impossible and not known.

        Raises
        ------
        UsageError
            If the capacity is not positive.
        """
        over = impossible(np.diff(self.edges_ns), self.delta_bytes, capacity_bps=capacity_bps)
        flags = np.where(over, self.flags | np.uint16(Flag.IMPOSSIBLE), self.flags)
        return replace(self, flags=flags, known=self.known & ~over)

    def named(self, *, host: str = "", device: str = "", port: str = "", direction: str = "", layer: str = "") -> Self:
        """Return the same series with the names of what it was measured on."""
        return replace(self, host=host, device=device, port=port, direction=direction, layer=layer)

    def flagged(self, t_ns: NDArray[np.int64], flags: NDArray[np.uint16]) -> Self:
        """Return the series with what its recorder knew of each read; a window that ends in a bad one is not known.

        Parameters
        ----------
        t_ns
            Times of the reads, in any order, shape (n_reads,).
        flags
            Bits of `profiler.schema.Flag` of each, shape (n_reads,).
        """
        if self.n_samples == 0 or not flags.any():
            return self
        i_window = np.searchsorted(self.edges_ns, t_ns, side="right") - 2
        within = i_window >= 0
        of_window = np.zeros(self.n_samples, dtype=np.uint16)
        np.bitwise_or.at(of_window, i_window[within], flags[within].astype(np.uint16))
        bad = (of_window & FLAGS_NOT_KNOWN) != 0
        return replace(self, flags=self.flags | of_window, known=self.known & ~bad)

    @property
    def n_samples(self) -> int:
        """Number of windows."""
        return self.delta_bytes.size

    @property
    def duration_s(self) -> float:
        """Seconds from the first to the last read."""
        return float(self.edges_ns[-1] - self.edges_ns[0]) / NS_PER_S if self.n_samples else 0.0

    @property
    def dt_s(self) -> float:
        """Typical window in seconds, the median but for reads that come in pairs; 0 where there is none."""
        return typical_window_ns(np.diff(self.edges_ns)) / NS_PER_S if self.n_samples else 0.0

    @property
    def rate_bps(self) -> NDArray[np.float64]:
        """Mean rate of each window in bit/s, shape (n_samples,)."""
        return self.delta_bytes * BITS_PER_BYTE * NS_PER_S / np.diff(self.edges_ns)

    @property
    def mean_bps(self) -> float:
        """Mean rate from the first to the last read in bit/s; holes count with their bytes."""
        return float(self.delta_bytes.sum()) * BITS_PER_BYTE / self.duration_s if self.n_samples else 0.0

    def between(self, first: int, end: int) -> Self:
        """Return windows ``first`` to ``end`` (not included); none if there are none."""
        if end <= first:
            first = end = 0
        return replace(
            self,
            edges_ns=self.edges_ns[first : end + 1] if end > first else self.edges_ns[:0],
            delta_bytes=self.delta_bytes[first:end],
            known=self.known[first:end],
            flags=self.flags[first:end],
        )

    def resample(self, dt_s: float) -> UniformRate:
        """Put the series on a uniform grid by interpolating its *cumulative* bytes, so that bytes are conserved.

        A bin's rate is that of the known windows in it; where less than half of it is known, the bin is not.

        Raises
        ------
        UsageError
            If the series is empty or ``dt_s`` is not positive.
        """
        if self.n_samples == 0 or not dt_s > 0:
            raise UsageError(f"resample: {self.n_samples} windows to dt_s {dt_s}: need one window and a positive step")
        return on_grid(self.edges_ns, self.delta_bytes, known=self.known, dt_s=dt_s)
