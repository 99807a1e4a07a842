"""A clock that wanders too far for one line of the spectrum: its phase is followed from one stretch to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.refresh.clock import Refresh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.refresh.lines import Events

__all__ = ["followed_clock"]

SEGMENT_GAPS: Final = 256
"""Gaps between polls of which spectra are added up: a clock wanders by less than a turn within them."""
BLOCKS_PER_SEGMENT: Final = 4
"""Blocks of a segment, of each of which there is a phase."""
BINS_PER_GAP: Final = 4
MAX_BINS: Final = 1 << 20
"""Polls torn apart by holes longer than this together are not looked at."""
MIN_SEGMENTS: Final = 4
"""In a shorter recording a wandering clock has one line."""
N_ROUNDS: Final = 3
"""Each leaves less to be followed; the third leaves less than polls can tell."""
MIN_COHERENCE: Final = 0.5
"""Least mean resultant length of a block's events for its phase to be one."""
MIN_BLOCK_EVENTS: Final = 4
"""Fewer have a mean resultant length of that by chance."""


def followed_clock(events: Events, *, low_hz: float, high_hz: float) -> Refresh | None:
    """Return the clock within a range of frequencies that events follow though it wanders, None if they follow none.

    Notes
    -----
    The frequency is that of the strongest line of the mean of short spectra [1]_, and the phase is followed block by
    block by a loop [2]_. A block without events has no phase; how often the clock ticked in it is not known then, nor
    is it told by polls.

    References
    ----------
    .. [1] Welch, "The use of fast Fourier transform for the estimation of power spectra", IEEE Trans. Audio
       Electroacoustics 15, 1967.
    .. [2] Gardner, "Phaselock Techniques", 3rd ed., Wiley 2005.
    """
    gap_s = float(np.median(np.diff(events.mid_s)))
    length_s = float(events.mid_s[-1] - events.mid_s[0])
    segment_s = SEGMENT_GAPS * gap_s
    if length_s < MIN_SEGMENTS * segment_s or length_s * high_hz * BINS_PER_GAP > MAX_BINS:
        return None
    freq_hz = _strongest_hz(events, segment_s=segment_s, near_hz=(low_hz, high_hz))
    seen_s = events.mid_s[events.happened]
    clock = Refresh(
        t0_ns=0,
        interval_s=1 / freq_hz,
        knots_s=seen_s[[0, -1]],
        knots_ticks=(seen_s[[0, -1]] - seen_s[0]) * freq_hz,
    )
    for _ in range(N_ROUNDS):
        followed = _nearer(clock, seen_s, block_s=segment_s / BLOCKS_PER_SEGMENT, phase=events.phase)
        if followed is None:
            return None
        clock = followed
    return clock


def _strongest_hz(events: Events, *, segment_s: float, near_hz: tuple[float, float]) -> float:
    """Return the frequency of the strongest line of the spectra of segments together."""
    n_bins = int(np.ceil(segment_s * BINS_PER_GAP * near_hz[1]))
    step_s = segment_s / n_bins
    bins = np.round((events.mid_s - events.mid_s[0]) / step_s).astype(np.int64)
    n_segments = int(bins[-1]) // n_bins + 1
    x = events.happened - events.happened.mean()
    segments = np.bincount(bins, weights=x, minlength=n_segments * n_bins).reshape(n_segments, n_bins)
    size = 2 << n_bins.bit_length()
    power = (np.abs(np.fft.rfft(segments, size)) ** 2).sum(axis=0)
    low, high = int(np.ceil(size * step_s * near_hz[0])), int(size * step_s * near_hz[1])
    return (low + int(np.argmax(power[low : high + 1]))) / (size * step_s)


def _nearer(clock: Refresh, seen_s: NDArray[np.float64], *, block_s: float, phase: float) -> Refresh | None:
    """Return a clock with the phase of the events of each block, None if too few blocks have one."""
    ticks = clock.ticks(seen_s)
    turned = np.exp(2j * np.pi * (ticks - phase))
    i_block = ((seen_s - seen_s[0]) / block_s).astype(np.int64)
    n_events = np.bincount(i_block)
    blocks = np.bincount(i_block, turned.real) + 1j * np.bincount(i_block, turned.imag)
    slope = np.angle(np.sum(blocks[1:] * np.conj(blocks[:-1]))) / (2 * np.pi)
    has_phase = (n_events >= MIN_BLOCK_EVENTS) & (np.abs(blocks) >= MIN_COHERENCE * n_events)
    if np.count_nonzero(has_phase) < MIN_SEGMENTS:
        return None
    which = np.flatnonzero(has_phase)
    off = np.angle(blocks[which] * np.exp(-2j * np.pi * slope * which)) / (2 * np.pi)
    late = np.unwrap(off, period=1.0) + slope * which
    mean_s = np.bincount(i_block, seen_s)[which] / n_events[which]
    knots_ticks = clock.ticks(mean_s) - late
    interval_s = float(mean_s[-1] - mean_s[0]) / float(knots_ticks[-1] - knots_ticks[0])
    if interval_s <= 0 or np.diff(knots_ticks).min() <= 0:
        return None
    return Refresh(t0_ns=0, interval_s=interval_s, knots_s=mean_s, knots_ticks=knots_ticks)
