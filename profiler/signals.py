"""Counters to rates: `RateSeries`, the one form in which traffic reaches the detector.

Cumulative bytes are differenced once, here, and every rule that a real counter needs stands here: wrap, reset,
saturation, late and duplicate reads, holes. Bytes are conserved: a hole keeps its bytes, and is marked as a window
whose shape is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput, UsageError
from profiler.schema import Flag
from profiler.units import BITS_PER_BYTE, NS_PER_S

__all__ = ["HOLE_FACTOR", "RateSeries", "UniformRate"]

HOLE_FACTOR: Final = 8.0
"""A window longer than this many typical windows is a hole: its bytes are known, their shape in it is not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UniformRate:
    """A rate on a uniform grid.

    ``rate_bps`` and ``known`` have shape (n_bins,); bin ``i`` covers ``t0_ns + i * dt_s`` to one ``dt_s`` later. A bin
    that is not known carries a rate of 0 and must be given no weight.
    """

    t0_ns: int
    dt_s: float
    rate_bps: NDArray[np.float64]
    known: NDArray[np.bool_]


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
    refresh_s
        The counter's own refresh interval in seconds, if it is slower than the polls and the windows are its ticks.
    """

    edges_ns: NDArray[np.int64]
    delta_bytes: NDArray[np.float64]
    known: NDArray[np.bool_]
    flags: NDArray[np.uint16]
    n_late: int = 0
    n_duplicate: int = 0
    n_glitches: int = 0
    refresh_s: float | None = None
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
    def from_counter(cls, t_ns: ArrayLike, value: ArrayLike, *, width_bits: int = 64) -> Self:
        """Make a series from reads of a cumulative byte counter.

        Parameters
        ----------
        t_ns
            Time of each read, UTC epoch ns; integers, shape (n_reads,), in any order.
        value
            Cumulative bytes at each read; not negative, shape (n_reads,).
        width_bits
            The counter wraps at ``2 ** width_bits``.

        Raises
        ------
        BadInput
            If lengths differ, or a value is negative, not finite or too large.

        Notes
        -----
        A step back is a wrap if the counter is narrower than 64 bits and the bytes so implied are less than half its
        range; a bad read, which is dropped, if the read after it is back on course; a reset if the counter lost more
        than half of its value: the bytes since are counted, the window is not known. Any other is impossible.

        Examples
        --------
        >>> RateSeries.from_counter([0, 1_000_000_000, 2_000_000_000], [0, 125, 375]).rate_bps
        array([1000., 2000.])
        """
        times_ns, values = _checked(t_ns, value)
        times_ns, values, n_late, n_duplicate = _ordered(times_ns, values)
        glitches = _glitches(values, width_bits=width_bits)
        times_ns, values = times_ns[~glitches], values[~glitches]
        if times_ns.size < 2:
            times_ns = times_ns[:0]
        n_samples = max(0, times_ns.size - 1)
        delta_bytes = np.diff(values).astype(np.float64)[:n_samples]
        flags = np.zeros(n_samples, dtype=np.uint16)
        known = np.ones(n_samples, dtype=bool)
        _mend_steps_back(delta_bytes, flags=flags, known=known, values=values[1 : n_samples + 1], width_bits=width_bits)
        return cls(
            edges_ns=times_ns,
            delta_bytes=delta_bytes,
            known=known & ~_holes(times_ns),
            flags=flags,
            n_late=n_late,
            n_duplicate=n_duplicate,
            n_glitches=int(np.count_nonzero(glitches)),
        )

    @classmethod
    def from_deltas(cls, t_ns: ArrayLike, delta_bytes: ArrayLike) -> Self:
        """Make a series from bytes per window.

        Parameters
        ----------
        t_ns
            Ends of the windows, strictly increasing; one more entry than ``delta_bytes``.
        delta_bytes
            Bytes of each window, not negative; shape (n_samples,).

        Raises
        ------
        BadInput
            If lengths do not fit, times do not increase, or a value is negative or not finite.

        Examples
        --------
        >>> RateSeries.from_deltas([0, 1_000_000_000], [125]).mean_bps
        1000.0
        """
        edges_ns = np.array(t_ns, dtype=np.int64).ravel()
        deltas = np.array(delta_bytes, dtype=np.float64).ravel()
        if edges_ns.size != deltas.size + 1 and not (edges_ns.size == 0 and deltas.size == 0):
            raise BadInput(
                f"from_deltas: {edges_ns.size} times for {deltas.size} windows; give one more time than windows"
            )
        wrong = np.flatnonzero(~(np.isfinite(deltas) & (deltas >= 0)))
        if wrong.size:
            raise BadInput(
                f"from_deltas: delta_bytes[{wrong[0]}] = {deltas[wrong[0]]}: must be finite and not negative"
            )
        back = np.flatnonzero(np.diff(edges_ns) <= 0)
        if back.size:
            raise BadInput(f"from_deltas: t_ns[{back[0] + 1}] does not come after t_ns[{back[0]}]; sort the windows")
        return cls(
            edges_ns=edges_ns,
            delta_bytes=deltas,
            known=~_holes(edges_ns),
            flags=np.zeros(deltas.size, dtype=np.uint16),
        )

    def named(self, *, host: str = "", device: str = "", port: str = "", direction: str = "", layer: str = "") -> Self:
        """Return the same series with the names of what it was measured on."""
        return replace(self, host=host, device=device, port=port, direction=direction, layer=layer)

    def flagged(self, t_ns: NDArray[np.int64], flags: NDArray[np.uint16]) -> Self:
        """Return the series with what its recorder knew of each read; a window that ends in a bad one is not known."""
        order = np.argsort(t_ns, kind="stable")
        at_end = np.searchsorted(t_ns[order], self.edges_ns[1:])
        known_flags = flags[order][np.minimum(at_end, flags.size - 1)].astype(np.uint16)
        bad = (known_flags & np.uint16(Flag.SATURATED | Flag.IMPOSSIBLE)) != 0
        return replace(self, flags=self.flags | known_flags, known=self.known & ~bad)

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
        """Typical (median) window in seconds; 0 where there is none."""
        return float(np.median(np.diff(self.edges_ns))) / NS_PER_S if self.n_samples else 0.0

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
        t_s = (self.edges_ns - self.edges_ns[0]) / NS_PER_S
        n_bins = max(1, int(np.floor(t_s[-1] / dt_s * (1 + 1e-12))))
        grid_s = np.arange(n_bins + 1) * dt_s
        known_bytes = np.interp(grid_s, t_s, _sums(np.where(self.known, self.delta_bytes, 0.0)))
        known_s = np.diff(np.interp(grid_s, t_s, _sums(np.where(self.known, np.diff(t_s), 0.0))))
        known = known_s > 0.5 * dt_s
        rate_bps = np.where(known, np.diff(known_bytes) * BITS_PER_BYTE / np.maximum(known_s, 0.5 * dt_s), 0.0)
        return UniformRate(t0_ns=int(self.edges_ns[0]), dt_s=dt_s, rate_bps=rate_bps, known=known)


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.cumsum(values)))


def _checked(t_ns: ArrayLike, value: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    times = np.asarray(t_ns).ravel()
    values = np.asarray(value).ravel()
    if times.size != values.size:
        raise BadInput(f"from_counter: {times.size} times for {values.size} values; give one time for each value")
    for name, array in (("t_ns", times), ("value", values)):
        wrong = np.flatnonzero(~np.isfinite(array.astype(np.float64)) | (array < 0))
        if wrong.size:
            raise BadInput(f"from_counter: {name}[{wrong[0]}] = {array[wrong[0]]}: must be finite and not negative")
        if array.size and float(array.max()) >= 2.0**63:
            raise BadInput(f"from_counter: {name}: {array.max()} does not fit 63 bits; is the unit right?")
    return times.astype(np.int64), values.astype(np.int64)


def _ordered(
    times_ns: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Return reads in order of time, the last of several at one time, and how many were late or dropped."""
    n_late = int(np.count_nonzero(np.diff(times_ns) < 0))
    if n_late:
        order = np.argsort(times_ns, kind="stable")
        times_ns, values = times_ns[order], values[order]
    last_of_time = np.append(np.diff(times_ns) > 0, True) if times_ns.size else np.zeros(0, dtype=bool)
    return times_ns[last_of_time], values[last_of_time], n_late, int(np.count_nonzero(~last_of_time))


def _mend_steps_back(
    delta_bytes: NDArray[np.float64],
    *,
    flags: NDArray[np.uint16],
    known: NDArray[np.bool_],
    values: NDArray[np.int64],
    width_bits: int,
) -> None:
    """Give every window in which the counter stepped back its bytes and its flag, in place."""
    back = delta_bytes < 0
    width_bytes = 2.0**width_bits
    wrapped = back & (width_bits < 64) & (delta_bytes + width_bytes < width_bytes / 2)
    delta_bytes[wrapped] += width_bytes
    flags[wrapped] |= np.uint16(Flag.WRAP)
    reset = back & ~wrapped & (values < -delta_bytes)
    delta_bytes[reset] = values[reset]
    flags[reset] |= np.uint16(Flag.RESET)
    odd = back & ~wrapped & ~reset
    delta_bytes[odd] = 0.0
    flags[odd] |= np.uint16(Flag.IMPOSSIBLE)
    known[reset | odd] = False
    saturated = (values == 2**width_bits - 1) & (width_bits < 64)
    flags[saturated] |= np.uint16(Flag.SATURATED)
    known[saturated] = False


def _glitches(values: NDArray[np.int64], *, width_bits: int) -> NDArray[np.bool_]:
    """Return which reads are a little lower than the one before, while the one after is not: bad reads, not resets."""
    glitches = np.zeros(values.size, dtype=bool)
    if values.size < 3:
        return glitches
    before, here, after = values[:-2], values[1:-1], values[2:]
    wraps = (width_bits < 64) & (here + 2.0**width_bits - before < 2.0**width_bits / 2)
    glitches[1:-1] = (here < before) & (after >= before) & (2 * here > before) & ~wraps
    return glitches


def _holes(edges_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which windows are far longer than the typical one."""
    widths_ns = np.diff(edges_ns)
    if widths_ns.size < 3:
        return np.zeros(widths_ns.size, dtype=bool)
    holes: NDArray[np.bool_] = widths_ns > HOLE_FACTOR * np.median(widths_ns)
    return holes
