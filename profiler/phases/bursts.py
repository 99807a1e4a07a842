"""Which parts of the folded iteration are bursts, where they begin and end, and at how many rates they run."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.bursts import runs, threshold
from profiler.period.medians import median
from profiler.phases.levels import split_levels
from profiler.phases.shape import Burst, Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases.fold import Fold

__all__ = ["find_bursts"]

CLEAR_ERRORS: Final = 6.0
"""Up must stand this many standard errors above Down, and a burst or gap this many off its surroundings."""
MAX_POOLED_FRAC: Final = 0.125
"""Averaged over more of the period, bursts and gaps would be lost."""
ASIDE_FRAC: Final = 0.01
"""The smallest bursts are no phases of their own as long as all of them together move less of an iteration's bits."""
RESOLVED_SAMPLES: Final = 2.0
"""Gaps shorter than this many windows of the series are texture."""
MIN_BINS: Final = 2
"""A single bin of the fold is neither burst nor gap."""
PLATEAU_FACTOR: Final = 2
"""A level of a burst lasts this many times what a burst does at least: a window at an edge is half a burst's rate."""
PLATEAU_QUANTILE: Final = 0.75
"""The rate that a burst of one level has, whatever its edges and dips."""
GAP_DEPTH: Final = 0.35
"""A low stretch between two bursts is a blurred gap, not a level, if it is lower than this fraction of theirs."""
GAP_FLOOR: Final = 0.1
"""Between two bursts the rate falls at least this close to Down, as a fraction of the way; if not it is texture."""
MIN_CONTRAST: Final = 0.1
"""Up must stand this fraction of its own rate above Down."""


def find_bursts(fold: Fold) -> Shape | None:
    """Return the bursts of a folded iteration, or None where Up and Down do not stand apart.

    Notes
    -----
    Otsu's threshold on log rate tells which bins are Up, however different the rates of bursts; the edges then lie
    half-way between Down and the burst's own rate next to them, where blur by windows and jitter moves them least.
    The fold is averaged over as many neighbouring bins as it takes for Up to stand clear of Down.
    """
    rate_bps = _cleared(fold)
    if rate_bps is None:
        return None
    up = rate_bps > threshold(rate_bps)
    turn = _after_longest_down(up)
    turned_bps, up = np.roll(rate_bps, -turn), np.roll(up, -turn)
    down_bps = median(turned_bps[~up])
    n_least = max(MIN_BINS, round(RESOLVED_SAMPLES * fold.dt_s / fold.bin_s))
    found = [
        burst
        for first, end in runs(up, min_gap_bins=n_least)
        for burst in _bursts(turned_bps, int(first), int(end), down_bps=down_bps, n_least=n_least)
    ]
    kept, asides = _worth(found, fold, down_bps=down_bps)
    if not kept:
        return None
    offset = turn if turn <= fold.n_bins // 2 else turn - fold.n_bins
    up_spread_bps, down_spread_bps = _spreads(np.roll(fold.spread_bps, -turn), kept, n_near=n_least)
    return Shape(
        bursts=_in_seconds(kept, offset, fold=fold),
        asides_s=tuple(((one.start_s + offset) * fold.bin_s, (one.end_s + offset) * fold.bin_s) for one in asides),
        down_bps=down_bps,
        up_spread_bps=up_spread_bps,
        down_spread_bps=down_spread_bps,
    )


def _spreads(spread_bps: NDArray[np.float64], bursts: list[Burst], *, n_near: int) -> tuple[float, float]:
    """Return by how much windows stray while Up and while Down, away from the edges of bursts; bins are turned."""
    bins = np.arange(spread_bps.size)
    within, near = np.zeros(bins.size, dtype=bool), np.zeros(bins.size, dtype=bool)
    for burst in bursts:
        within |= (bins >= burst.start_s + 0.5 * n_near) & (bins < burst.end_s - 0.5 * n_near)
        near |= (bins >= burst.start_s - n_near) & (bins < burst.end_s + n_near)
    up = spread_bps[within]
    down = spread_bps[~near]
    return (
        median(up) if up.size else 0.0,
        median(down) if down.size else 0.0,
    )


def _cleared(fold: Fold) -> NDArray[np.float64] | None:
    """Return the fold averaged over neighbours until Up stands clear of Down, or None if it never does."""
    n_own = max(1.0, fold.dt_s / fold.bin_s)
    n_pooled = 1
    while n_pooled <= MAX_POOLED_FRAC * fold.n_bins:
        rate_bps = _averaged(fold.rate_bps, n_pooled)
        up = rate_bps > threshold(rate_bps)
        error_bps = fold.error_bps * min(1.0, np.sqrt(n_own / n_pooled))
        if up.any() and not up.all():
            high_bps, low_bps = float(rate_bps[up].mean()), float(rate_bps[~up].mean())
            if high_bps - low_bps >= max(CLEAR_ERRORS * error_bps, MIN_CONTRAST * high_bps):
                return rate_bps
        n_pooled = 2 * n_pooled + 1
    return None


def _averaged(rate_bps: NDArray[np.float64], n_pooled: int) -> NDArray[np.float64]:
    """Return the mean over each bin and as many neighbours to both sides, round the circle; ``n_pooled`` is odd."""
    if n_pooled == 1:
        return rate_bps
    half = n_pooled // 2
    total = np.concatenate(([0.0], np.cumsum(np.concatenate((rate_bps[-half:], rate_bps, rate_bps[:half])))))
    means: NDArray[np.float64] = (total[n_pooled:] - total[:-n_pooled]) / n_pooled
    return means


def _after_longest_down(up: NDArray[np.bool_]) -> int:
    """Return the bin after the longest Down stretch of a circular mask."""
    first = int(np.flatnonzero(up)[0])
    rolled = np.roll(up, -first)
    down = runs(~rolled)
    longest = down[int(np.argmax(down[:, 1] - down[:, 0]))]
    return (first + int(longest[1])) % up.size


def _bursts(rate_bps: NDArray[np.float64], first: int, end: int, *, down_bps: float, n_least: int) -> list[Burst]:
    """Return the bursts in one Up run of bins, in bins; deep gaps part it, plateaus make its levels."""
    values = rate_bps[first:end] - down_bps
    bounds = split_levels(values, n_least=PLATEAU_FACTOR * n_least)
    levels = np.concatenate([np.full(b - a, median(values[a:b])) for a, b in itertools.pairwise(bounds)])
    if len(bounds) == 2:
        levels[:] = np.sort(values)[int(PLATEAU_QUANTILE * values.size)]
    for (a, b), before, after in _inner(bounds, levels):
        if levels[a] < GAP_DEPTH * min(before, after):
            levels[a:b] = min(before, after)
    found = []
    for a, b in _without_dips(values, levels):
        start = first + a - _beyond(rate_bps, first + a, step=-1, half=down_bps + 0.5 * levels[a])
        stop = first + b + _beyond(rate_bps, first + b - 1, step=1, half=down_bps + 0.5 * levels[b - 1])
        cuts = [c for c in bounds[1:-1] if a + 1 < c < b - 1 and levels[c] != levels[c - 1]]
        parts = itertools.pairwise([a, *cuts, b])
        found.append(
            Burst(
                start_s=start,
                end_s=stop,
                rates_bps=tuple(float(values[i:j].mean()) + down_bps for i, j in parts),
                cuts_frac=tuple(float((first + c - start) / (stop - start)) for c in cuts),
            )
        )
    return found or [Burst(start_s=first, end_s=end, rates_bps=(float(values.mean()) + down_bps,))]


def _without_dips(values: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the runs above half their level; dips that do not come near Down in the typical iteration are texture."""
    is_low = values < 0.5 * levels
    if values.size >= MIN_BINS and not is_low.any():
        return np.array([[0, values.size]])
    below = runs(is_low)
    above = np.ones(values.size, dtype=bool)
    for a, b in below:
        is_edge = a == 0 or b == values.size
        if is_edge or values[a:b].min() < GAP_FLOOR * levels[a]:
            above[a:b] = False
    return runs(above, min_gap_bins=MIN_BINS, min_run_bins=MIN_BINS)


def _inner(bounds: list[int], levels: NDArray[np.float64]) -> list[tuple[tuple[int, int], float, float]]:
    """Return the bounds of every level but the first and last, with the levels around it."""
    return [((a, b), float(levels[a - 1]), float(levels[b])) for a, b in itertools.pairwise(bounds[1:-1])]


def _beyond(rate_bps: NDArray[np.float64], i: int, *, step: int, half: float) -> float:
    """Return how far past the middle of bin ``i``, less half a bin, the rate falls to ``half``, in bins."""
    here, there = float(rate_bps[i]), float(rate_bps[(i + step) % rate_bps.size])
    return float(np.clip((here - half) / (here - there), 0.0, 1.0)) - 0.5 if here > there else 0.0


def _worth(found: list[Burst], fold: Fold, *, down_bps: float) -> tuple[list[Burst], list[Burst]]:
    """Return the bursts that move more than noise does: those that move enough, and those too small for phases."""
    n_own = max(1.0, fold.dt_s / fold.bin_s)
    excess = {burst: burst.width_s * (burst.rate_bps - down_bps) for burst in found}
    clear = [
        burst for burst in found if excess[burst] >= CLEAR_ERRORS * fold.error_bps * np.sqrt(n_own * burst.width_s)
    ]
    by_size = sorted(clear, key=lambda burst: excess[burst])
    moved = np.cumsum([excess[burst] for burst in by_size])
    asides = by_size[: int(np.searchsorted(moved, ASIDE_FRAC * moved[-1]))] if clear else []
    return [burst for burst in clear if burst not in asides], asides


def _in_seconds(bursts: list[Burst], offset: int, *, fold: Fold) -> tuple[Burst, ...]:
    """Return bursts given in bins in seconds, the longest Down stretch last, the first start nearest to 0."""
    starts = [burst.start_s for burst in bursts]
    gaps = [*(after - before.end_s for before, after in zip(bursts, starts[1:], strict=False))]
    gaps.append(starts[0] + fold.n_bins - bursts[-1].end_s)
    first = (int(np.argmax(gaps)) + 1) % len(bursts)
    ordered = [*bursts[first:], *(_moved(burst, fold.n_bins) for burst in bursts[:first])]
    shift = offset - fold.n_bins if ordered[0].start_s + offset > 0.5 * fold.n_bins else offset
    return tuple(
        replace(burst, start_s=(burst.start_s + shift) * fold.bin_s, end_s=(burst.end_s + shift) * fold.bin_s)
        for burst in ordered
    )


def _moved(burst: Burst, by: float) -> Burst:
    return replace(burst, start_s=burst.start_s + by, end_s=burst.end_s + by)
