"""A clock not much slower than the polls: single polls do not show it, their spectrum does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from profiler.refresh.agreement import agreement
from profiler.refresh.beat import has_partial_borders, is_own_beat
from profiler.refresh.clock import Refresh

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["near_refresh"]

MIN_EVENTS: Final = 30
"""Fewer events than this show no clock."""
MIN_EVENT_FRAC: Final = 0.002
"""Where events are rarer than this among changes, the counter is no slower than the polls."""
PART_POLLS: Final = 4096
"""Polls in which the interval is looked for; all of them then refine it."""
BINS_PER_GAP: Final = 4
MAX_BINS: Final = 1 << 18
"""Polls torn apart by holes longer than this together are not looked at."""
SHORT_SPACING_FRAC: Final = 0.1
"""Changes are one tick apart if they are no more than a poll further apart than this part of them."""
USUAL_GAP: Final = 2.0
"""Gaps between polls longer than this many typical ones are holes."""
MAX_OFF: Final = 0.3
"""How far the frequency may be from that of the ticks counted, over the least of it and of its beat with the polls."""
MAX_OFF_UNEVEN: Final = 0.5
"""The same where gaps between polls are uneven, so that no other frequency looks the same."""
UNEVEN_GAPS: Final = 0.15
"""Standard deviation of uneven gaps between polls over their mean."""
N_CANDIDATES: Final = 3
MIN_COHERENCE: Final = 0.3
"""Least mean resultant length of events folded by the interval; those of a clock four gaps long have 0.9."""
MAX_POLLS_FRAC: Final = 0.5
"""Where polls gather by more than this part of what events do, the clock is that of the polls."""
MIN_AGREEMENT: Final = 0.45
"""Least part of the way from chance to certainty by which a clock says at which polls the value moves."""
AS_GOOD: Final = 0.01
"""Where a clock of another interval agrees this nearly as well, the polls do not tell which it is."""
SAME_FRAC: Final = 0.01
"""Intervals that differ by less are one, seen by two lines."""
N_BLOCKS: Final = 8
"""Blocks of a part, whose phases tell how the clock wanders against the polls'."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Events:
    """Gaps between polls that tell of ticks: one is in each ``change``, none in each ``stale``.

    ``mid_s`` is the middle of each gap, ``x`` 1 at events and 0 elsewhere, less their mean, which takes out what the
    polls' own times would gather; both float64, shape (n_polls - 1,).
    """

    kind: Literal["change", "stale"]
    mid_s: NDArray[np.float64]
    x: NDArray[np.float64]
    n_events: int


def near_refresh(t_s: NDArray[np.float64], delta_bytes: NDArray[np.float64], *, is_sparse: bool) -> Refresh | None:
    """Return the clock of a counter copied at 1.002 to 4 times the gap between polls, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).
    is_sparse
        The value hardly ever moves at two polls in a row.

    Notes
    -----
    The spectrum of the times at which events happen has a line at the clock's frequency, that of the polls' own times
    being subtracted; the phase of the line is the clock's. Events are single polls that see nothing move while their
    neighbours do, or the changes where they are sparse. Of the strongest lines the clock is the one that says best at
    which polls the value moves (`agreement`), unless their bytes tell that they are silences of a job (`beat`).
    """
    moved = delta_bytes != 0
    events = _events(t_s, moved, kind="change" if is_sparse else "stale")
    if events is None or has_partial_borders(t_s, delta_bytes):
        return None
    first, end = _densest(events.mid_s)
    part_s = float(events.mid_s[end - 1] - events.mid_s[first])
    counted_hz, polls_hz, is_even = _counted(t_s, moved)
    if part_s * polls_hz * BINS_PER_GAP > MAX_BINS or counted_hz >= polls_hz:
        return None
    reach_hz = (MAX_OFF if is_even else MAX_OFF_UNEVEN) * min(counted_hz, polls_hz - counted_hz)
    found: list[tuple[float, Refresh]] = []
    for freq_hz in _lines(events, first, end, near_hz=(counted_hz - reach_hz, counted_hz + reach_hz)):
        clock = _refined(events, freq_hz, block_s=part_s / N_BLOCKS)
        if clock is not None:
            found.append((agreement(clock, t_s, moved), clock))
    best = _undisputed(found)
    return None if best is None or is_own_beat(best, t_s, delta_bytes) else best


def _undisputed(found: list[tuple[float, Refresh]]) -> Refresh | None:
    """Return the clock that agrees best, None if none does well or another one does nearly as well."""
    agrees, best = max(found, key=lambda one: one[0], default=(0.0, None))
    if best is None or agrees < MIN_AGREEMENT:
        return None
    rivals = [clock for other, clock in found if other >= agrees - AS_GOOD]
    is_alone = all(abs(clock.interval_s / best.interval_s - 1) < SAME_FRAC for clock in rivals)
    return best if is_alone else None


def _events(t_s: NDArray[np.float64], moved: NDArray[np.bool_], *, kind: Literal["change", "stale"]) -> _Events | None:
    events = moved
    if kind == "stale":
        events = np.zeros(moved.size, dtype=bool)
        events[1:-1] = moved[:-2] & ~moved[1:-1] & moved[2:]
    n_events = int(np.count_nonzero(events))
    if n_events < max(MIN_EVENTS, MIN_EVENT_FRAC * np.count_nonzero(moved)):
        return None
    return _Events(
        kind=kind,
        mid_s=0.5 * (t_s[1:] + t_s[:-1]),
        x=events.astype(np.float64) - n_events / events.size,
        n_events=n_events,
    )


def _densest(mid_s: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first and last (not included) of the consecutive gaps that took the least time."""
    if mid_s.size <= PART_POLLS:
        return 0, mid_s.size
    firsts = np.arange(0, mid_s.size - PART_POLLS, PART_POLLS // 2)
    first = int(firsts[np.argmin(mid_s[firsts + PART_POLLS - 1] - mid_s[firsts])])
    return first, first + PART_POLLS


def _counted(t_s: NDArray[np.float64], moved: NDArray[np.bool_]) -> tuple[float, float, bool]:
    """Return how often the value moves while there is traffic, how often it is polled, and whether that is even."""
    n_polls = np.diff(np.flatnonzero(moved))
    n_next = n_polls[n_polls <= np.quantile(n_polls, SHORT_SPACING_FRAC) + 1]
    gaps_s = np.diff(t_s)
    usual_s = gaps_s[gaps_s <= USUAL_GAP * np.median(gaps_s)]
    polls_hz = 1 / float(usual_s.mean())
    return polls_hz / float(n_next.mean()), polls_hz, bool(usual_s.std() < UNEVEN_GAPS * usual_s.mean())


def _lines(events: _Events, first: int, end: int, *, near_hz: tuple[float, float]) -> Iterator[float]:
    """Yield the frequencies of the strongest lines of a part within a range, the strongest first."""
    step_s = 1 / (BINS_PER_GAP * near_hz[1])
    bins = np.round((events.mid_s[first:end] - events.mid_s[first]) / step_s).astype(np.int64)
    size = 1 << int(bins[-1]).bit_length()
    power = np.abs(np.fft.rfft(np.bincount(bins, weights=events.x[first:end], minlength=size)))
    low, high = int(size * step_s * near_hz[0]), int(np.ceil(size * step_s * near_hz[1]))
    power = power[low : high + 1]
    for _ in range(N_CANDIDATES):
        i_line = int(np.argmax(power))
        yield (low + i_line) / (size * step_s)
        power[max(0, i_line - 4) : i_line + 5] = 0.0


def _refined(events: _Events, freq_hz: float, *, block_s: float) -> Refresh | None:
    """Return the clock near a frequency at which events gather best over the whole recording, None if they do not."""
    since_s = events.mid_s[events.x > 0] - events.mid_s[0]
    turned = np.exp(2j * np.pi * freq_hz * since_s)
    i_block = (since_s / block_s).astype(np.int64)
    blocks = np.bincount(i_block, turned.real) + 1j * np.bincount(i_block, turned.imag)
    size = 16 << (int(blocks.size).bit_length())
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


def _wandering(at_block: NDArray[np.complex128], freq_hz: float, *, events: _Events, block_s: float) -> Refresh:
    """Return a clock whose phase is that of the events about each block."""
    mean = at_block.sum()
    about = np.convolve(at_block * np.conj(mean) / abs(mean), (0.5, 1.0, 0.5), mode="same") + 1e-3 * abs(mean)
    phase = (np.angle(mean) + np.angle(about)) / (2 * np.pi) + (0.0 if events.kind == "change" else 0.5)
    blocks_s = (np.arange(at_block.size) + 0.5) * block_s
    return Refresh(
        t0_ns=0,
        interval_s=1 / freq_hz,
        knots_s=blocks_s + events.mid_s[0],
        knots_ticks=blocks_s * freq_hz - phase,
    )
