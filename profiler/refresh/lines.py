"""The spectrum of events at polls: which clocks would make them, and how well a clock fits all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.refresh.clock import Refresh

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Events", "clocks_near"]

PART_POLLS: Final = 4096
"""Polls in which the interval is looked for; all of them then refine it."""
BINS_PER_GAP: Final = 4
MAX_BINS: Final = 1 << 18
"""Polls torn apart by holes longer than this together are not looked at."""
N_CANDIDATES: Final = 3
MIN_COHERENCE: Final = 0.3
"""Least mean resultant length of events folded by the interval; those of a clock four gaps long have 0.9."""
MAX_POLLS_FRAC: Final = 0.5
"""Where polls gather by more than this part of what events do, the clock is that of the polls."""
N_BLOCKS: Final = 8
"""Blocks of a part, whose phases tell how the clock wanders against the polls'."""
PADDED: Final = 32
"""Frequencies are looked for at this part of what the length of the recording resolves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events:
    """Gaps between polls that tell of ticks.

    Parameters
    ----------
    mid_s
        The middle of each gap between polls in seconds; float64, shape (n_gaps,).
    happened
        Whether it is an event; bool, shape (n_gaps,).
    phase
        Where between two ticks the middle of an event is in the mean, from 0 (at a tick) up to 1.
    """

    mid_s: NDArray[np.float64]
    happened: NDArray[np.bool_]
    phase: float

    @property
    def n_events(self) -> int:
        """Number of events."""
        return int(np.count_nonzero(self.happened))


def clocks_near(events: Events, *, low_hz: float, high_hz: float) -> Iterator[Refresh]:
    """Yield the clocks within a range of frequencies by which events gather best, the best first.

    Notes
    -----
    Events of a clock gather at one phase of it, so the spectrum of their times has a line at its frequency. What the
    times of the polls themselves gather is subtracted, and a clock by which they gather is none.
    """
    first, end = _densest(events.mid_s)
    part_s = float(events.mid_s[end - 1] - events.mid_s[first])
    block_s = part_s / N_BLOCKS
    n_blocks = float(events.mid_s[-1] - events.mid_s[0]) / block_s
    if max(part_s * high_hz * BINS_PER_GAP, n_blocks) > MAX_BINS:
        return
    for freq_hz in _lines(events, first, end, near_hz=(low_hz, high_hz)):
        clock = _refined(events, freq_hz, block_s=block_s)
        if clock is not None:
            yield clock


def _densest(mid_s: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first and last (not included) of the consecutive gaps that took the least time."""
    if mid_s.size <= PART_POLLS:
        return 0, mid_s.size
    firsts = np.arange(0, mid_s.size - PART_POLLS, PART_POLLS // 2)
    first = int(firsts[np.argmin(mid_s[firsts + PART_POLLS - 1] - mid_s[firsts])])
    return first, first + PART_POLLS


def _lines(events: Events, first: int, end: int, *, near_hz: tuple[float, float]) -> Iterator[float]:
    """Yield the frequencies of the strongest lines of a part within a range, the strongest first."""
    step_s = 1 / (BINS_PER_GAP * near_hz[1])
    bins = np.round((events.mid_s[first:end] - events.mid_s[first]) / step_s).astype(np.int64)
    x = events.happened[first:end] - events.happened[first:end].mean()
    size = 1 << int(bins[-1]).bit_length()
    power = np.abs(np.fft.rfft(np.bincount(bins, weights=x, minlength=size)))
    low, high = int(size * step_s * near_hz[0]), int(np.ceil(size * step_s * near_hz[1]))
    power = power[low : high + 1]
    for _ in range(N_CANDIDATES):
        i_line = int(np.argmax(power))
        yield (low + i_line) / (size * step_s)
        power[max(0, i_line - 4) : i_line + 5] = 0.0


def _refined(events: Events, freq_hz: float, *, block_s: float) -> Refresh | None:
    """Return the clock near a frequency at which events gather best over the whole recording, None if they do not."""
    since_s = events.mid_s[events.happened] - events.mid_s[0]
    turned = np.exp(2j * np.pi * freq_hz * since_s)
    i_block = (since_s / block_s).astype(np.int64)
    blocks = np.bincount(i_block, turned.real) + 1j * np.bincount(i_block, turned.imag)
    size = PADDED << int(blocks.size).bit_length()
    gathered = np.abs(np.fft.fft(blocks, size))
    i_best = int(np.argmax(gathered))
    if gathered[i_best] < MIN_COHERENCE * events.n_events:
        return None
    shift = (i_best if i_best < size // 2 else i_best - size) / size
    freq_hz -= shift / block_s
    of_polls = abs(np.exp(2j * np.pi * freq_hz * events.mid_s).mean())
    if of_polls > MAX_POLLS_FRAC * gathered[i_best] / events.n_events:
        return None
    at_block = blocks * np.exp(-2j * np.pi * shift * (np.arange(blocks.size) + 0.5))
    return _wandering(at_block, freq_hz, events=events, block_s=block_s) if freq_hz > 0 else None


def _wandering(at_block: NDArray[np.complex128], freq_hz: float, *, events: Events, block_s: float) -> Refresh:
    """Return a clock whose phase is that of the events about each block."""
    mean = at_block.sum()
    # Mode "same" would be as long as the kernel where there are fewer blocks than that.
    about = np.convolve(at_block * np.conj(mean) / abs(mean), (0.5, 1.0, 0.5))[1:-1] + 1e-3 * abs(mean)
    phase = (np.angle(mean) + np.angle(about)) / (2 * np.pi) - events.phase
    blocks_s = (np.arange(at_block.size) + 0.5) * block_s
    return Refresh(
        t0_ns=0,
        interval_s=1 / freq_hz,
        knots_s=blocks_s + events.mid_s[0],
        knots_ticks=blocks_s * freq_hz - phase,
    )
