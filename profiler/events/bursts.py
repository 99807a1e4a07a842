"""`extract_bursts`: the Up and Down phases of an iteration whose collectives are known one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.phases.phase import Phase, with_downs
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.events.iterations import Iterations

__all__ = ["extract_bursts", "iteration_bits", "typical_durations_ns"]

MIN_GAP_FRAC: Final = 0.001
"""A pause between collectives shorter than this fraction of the period is that between two kernels."""
MAX_BURSTS: Final = 64
"""Of more bursts those with the shortest pauses between them are joined: solvers compare edges pair by pair."""
SHORTEST_S: Final = 1e-9
MIN_KNOWN_FRAC: Final = 0.5
"""Of a collective whose duration is known in fewer iterations the median is not known either."""
PEAK_QUANTILE: Final = 0.9
"""The rate that a burst reaches in its fastest tenth of iterations, as for counters."""


def extract_bursts(events: CollectiveEvents, iterations: Iterations) -> tuple[Phase, ...]:
    """Return the phases of an iteration.

    Parameters
    ----------
    events
        The collectives.
    iterations
        Which of them make iterations; at least one is whole.

    Returns
    -------
    phases
        Each stretch in which collectives run without a pause is one Up phase: medians over iterations of its start and
        width, and the bytes of its collectives. The rate is NaN where bytes are not known. If the duration of one of
        an iteration's collectives is not known, Up and Down cannot be told apart: one phase with the mean rate.
    """
    period_s = iterations.period_s
    whole = iterations.whole_blocks()
    durations_ns = typical_durations_ns(events, iterations)
    if durations_ns is None:
        rate_bps = iteration_bits(events, iterations) / period_s
        return (Phase(kind="up", start_s=0.0, width_s=period_s, rate_bps=rate_bps),)
    begins_s = _begins(events, whole, first=iterations.first, period_s=period_s)
    ends_s = begins_s + np.roll(durations_ns, -iterations.first, axis=1) / NS_PER_S
    bits = np.roll(events.bytes[whole], -iterations.first, axis=1) * BITS_PER_BYTE
    firsts, starts_s = _firsts(begins_s, ends_s, period_s=period_s)
    ups = [
        _burst(
            ends_s[:, a:b].max(axis=1) - begins_s[:, a],
            bits=bits[:, a:b].sum(axis=1),
            start_s=start_s,
            room_s=next_s - start_s,
        )
        for (a, b), (start_s, next_s) in zip(
            pairwise([*firsts, begins_s.shape[1]]), pairwise([*starts_s, period_s]), strict=True
        )
    ]
    return with_downs(ups, period_s=period_s)


def iteration_bits(events: CollectiveEvents, iterations: Iterations) -> float:
    """Return the bits of an iteration, the median over whole blocks; NaN if those of a collective are not known."""
    return float(np.median(events.bytes[iterations.whole_blocks()].sum(axis=1))) * BITS_PER_BYTE


def typical_durations_ns(events: CollectiveEvents, iterations: Iterations) -> NDArray[np.float64] | None:
    """Return the durations in whole blocks, the median of the same collective in place of single unknown ones.

    Shape (n_blocks, length), in order of the block; None if one is unknown in most blocks.
    """
    durations_ns = events.duration_ns[iterations.whole_blocks()]
    is_known = ~np.isnan(durations_ns)
    if (is_known.mean(axis=0) < MIN_KNOWN_FRAC).any():
        return None
    return np.where(is_known, durations_ns, np.nanmedian(durations_ns, axis=0))


def _begins(events: CollectiveEvents, whole: NDArray[np.int64], *, first: int, period_s: float) -> NDArray[np.float64]:
    """Return begins after an iteration's first begin, in order of the iteration; shape (n_blocks, length).

    A block may begin in the middle of an iteration, so that none of a short trace is lost: what stands before the
    iteration's first collective is counted as that of the next iteration, a period later.
    """
    begins_s = events.t_s[whole] - events.t_s[whole[:, first : first + 1]]
    begins_s[:, :first] += period_s
    return np.roll(begins_s, -first, axis=1)


def _firsts(
    begins_s: NDArray[np.float64], ends_s: NDArray[np.float64], *, period_s: float
) -> tuple[list[int], list[float]]:
    """Return the places of the collectives that begin a stretch without a pause, and when they typically do."""
    reached_s = np.maximum.accumulate(ends_s, axis=1)
    gaps_s = np.median(begins_s[:, 1:] - reached_s[:, :-1], axis=0)
    widest_s = np.sort(gaps_s)[::-1][MAX_BURSTS - 1 : MAX_BURSTS]
    typical_s = np.median(begins_s, axis=0)
    firsts, starts_s = [0], [0.0]
    for place in (np.flatnonzero(gaps_s > max([MIN_GAP_FRAC * period_s, *widest_s.tolist()])) + 1).tolist():
        if starts_s[-1] + SHORTEST_S < typical_s[place] < period_s - SHORTEST_S:
            firsts.append(place)
            starts_s.append(float(typical_s[place]))
    return firsts, starts_s


def _burst(widths_s: NDArray[np.float64], *, bits: NDArray[np.float64], start_s: float, room_s: float) -> Phase:
    """Return the phase of a burst that took ``widths_s`` and moved ``bits`` in each block, shape (n_blocks,)."""
    widths_s = np.maximum(widths_s, SHORTEST_S)
    width_s = max(SHORTEST_S, min(float(np.median(widths_s)), room_s))
    low_s, high_s = np.quantile(widths_s, [0.25, 0.75])
    peak_bps = float(np.quantile(bits / widths_s, PEAK_QUANTILE))
    return Phase(
        kind="up",
        start_s=start_s,
        width_s=width_s,
        rate_bps=float(np.median(bits)) / width_s,
        width_low_s=float(low_s),
        width_high_s=float(high_s),
        peak_bps=None if np.isnan(peak_bps) else peak_bps,
    )
