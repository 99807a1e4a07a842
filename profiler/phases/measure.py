"""Phases from bursts: medians and quartiles over iterations, or the fold alone where single bursts cannot be told."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.phases.phase import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases.edges import Edges
    from profiler.phases.shape import Shape
    from profiler.phases.traffic import Traffic

__all__ = ["UNRESOLVED_WINDOWS", "apart", "folded_ups", "measured_ups", "whole_phase", "without_false_levels"]

PEAK_QUANTILE: Final = 0.9
"""The rate that a burst reaches in its fastest tenth of iterations: what it does when nothing hinders it."""
UNRESOLVED_WINDOWS: Final = 2.0
"""A burst that lies anywhere in its windows touches one or two of them, however short it is."""
MIN_LEVEL_RATIO: Final = 1.3
"""In single iterations, whose edges are not quite where the fold's are, levels differ at least by this factor."""
MIN_EACH_RATIO: Final = 1.15
"""In all but a tenth of the iterations they differ by this much: where a link is shared, some end at half the rate."""
NEARLY_NONE: Final = 0.1


def measured_ups(traffic: Traffic, edges: Edges, *, shape: Shape, period_s: float) -> list[Phase]:
    """Return the Up phases as iterations in which no burst is missing have them, counted from the start of the first.

    There must be one such iteration at least. A phase's rate is such that width times rate is the volume. One of hardly
    more windows than it touches has no quartiles: they would be those of the windows.
    """
    rows = edges.present.all(axis=1)
    start_s, end_s = edges.start_s[rows], edges.end_s[rows]
    i_burst, low, high = _parts(shape)
    begin_s = start_s[:, i_burst] + low * (end_s - start_s)[:, i_burst]
    widths_s = np.maximum((high - low) * (end_s - start_s)[:, i_burst], np.finfo(np.float64).tiny)
    bits = _moved(traffic, begin_s, widths_s, is_first=low == 0.0, is_last=high == 1.0, down_bps=shape.down_bps)
    low_s, width_s, high_s = _quantiles(widths_s, 0.25, 0.5, 0.75)
    (late_s,) = _quantiles(begin_s - start_s[:, :1], 0.5)
    (typical_bits,) = _quantiles(bits, 0.5)
    (peak_bps,) = _quantiles(bits / widths_s, PEAK_QUANTILE)
    has_quartiles = width_s > UNRESOLVED_WINDOWS * traffic.dt_s
    ups = [
        Phase(
            kind="up",
            start_s=float(late_s[k] - late_s[0]),
            width_s=float(width_s[k]),
            rate_bps=float(typical_bits[k] / width_s[k]),
            width_low_s=float(low_s[k]) if has_quartiles[k] else None,
            width_high_s=float(high_s[k]) if has_quartiles[k] else None,
            peak_bps=float(peak_bps[k]),
        )
        for k in range(i_burst.size)
    ]
    return apart(ups, period_s=period_s)


def _moved(
    traffic: Traffic,
    begin_s: NDArray[np.float64],
    widths_s: NDArray[np.float64],
    *,
    is_first: NDArray[np.bool_],
    is_last: NDArray[np.bool_],
    down_bps: float,
) -> NDArray[np.float64]:
    """Return the bits of each part of a burst; those of the windows at its edges are its own but for the Down rate."""
    dt_s = traffic.dt_s
    from_s = np.where(is_first, dt_s * np.floor(begin_s / dt_s), begin_s)
    to_s = np.where(is_last, dt_s * np.ceil((begin_s + widths_s) / dt_s), begin_s + widths_s)
    beside_s = (to_s - from_s) - widths_s
    bits = traffic.bits_at(to_s) - traffic.bits_at(from_s) - down_bps * beside_s
    return np.maximum(bits, 0.0)


def _parts(shape: Shape) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the burst of each level, and from where to where in it that is; shape (n_levels,)."""
    bounds = [[0.0, *burst.cuts_frac, 1.0] for burst in shape.bursts]
    i_burst = np.repeat(np.arange(len(bounds)), [len(one) - 1 for one in bounds])
    low, high = (np.concatenate([one[part] for one in bounds]) for part in (slice(None, -1), slice(1, None)))
    return i_burst, low, high


def _quantiles(values: NDArray[np.float64], *fractions: float) -> list[NDArray[np.float64]]:
    """Return quantiles of each column, between the two values around each."""
    ordered = np.sort(values, axis=0)
    places = [fraction * (len(ordered) - 1) for fraction in fractions]
    return [
        ordered[int(place)]
        + (place - int(place)) * (ordered[min(int(place) + 1, len(ordered) - 1)] - ordered[int(place)])
        for place in places
    ]


def apart(ups: list[Phase], *, period_s: float) -> list[Phase]:
    """Return the phases in order, cut where they would run into the next; what begins past the period is dropped."""
    inside = sorted((up for up in ups if up.start_s < period_s), key=lambda up: up.start_s)
    ends_s = [*(up.start_s for up in inside[1:]), period_s]
    cut = [_shortened(up, end_s - up.start_s, period_s=period_s) for up, end_s in zip(inside, ends_s, strict=True)]
    return [up for up in cut if up.width_s > 0]


def _shortened(up: Phase, most_s: float, *, period_s: float) -> Phase:
    """Return a phase no wider than this, with its quartiles around its width and within the period."""
    width_s = min(up.width_s, most_s)
    if up.width_low_s is None or up.width_high_s is None:
        return replace(up, width_s=width_s)
    high_s = max(width_s, min(up.width_high_s, period_s - up.start_s))
    return replace(up, width_s=width_s, width_low_s=min(up.width_low_s, width_s), width_high_s=high_s)


def without_false_levels(traffic: Traffic, edges: Edges, *, shape: Shape) -> Shape:
    """Return the shape with one level for each burst that has several only in the mean of its iterations.

    Bursts that congestion stretches in some iterations fold to two levels, though each of them has but one.
    """
    if not any(burst.cuts_frac for burst in shape.bursts):
        return shape
    return replace(
        shape,
        bursts=tuple(
            burst
            if not burst.cuts_frac
            or _has_levels(traffic, edges.start_s[rows, i], edges.end_s[rows, i], cuts_frac=burst.cuts_frac)
            else replace(burst, cuts_frac=(), rates_bps=(burst.rate_bps,))
            for i, (burst, rows) in enumerate(zip(shape.bursts, edges.present.T, strict=True))
        ),
    )


def _has_levels(
    traffic: Traffic,
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    *,
    cuts_frac: tuple[float, ...],
) -> bool:
    """Return whether the rates of a burst's parts differ in a typical iteration, and somewhat in nearly all."""
    bounds = np.array([0.0, *cuts_frac, 1.0])
    at_s = start_s + bounds[:, None] * (end_s - start_s)
    bits = np.diff(traffic.bits_at(at_s), axis=0)
    rates = np.maximum(bits, np.finfo(np.float64).tiny) / np.diff(bounds)[:, None]
    steps = np.diff(np.log(rates), axis=0)
    typical = np.median(steps, axis=1)
    least = np.quantile(steps * np.sign(typical)[:, None], NEARLY_NONE, axis=1)
    return bool((np.abs(typical) >= np.log(MIN_LEVEL_RATIO)).all() and (least >= np.log(MIN_EACH_RATIO)).all())


def folded_ups(shape: Shape, *, period_s: float) -> list[Phase]:
    """Return the Up phases as the folded iteration has them, counted from the start of the first."""
    ups: list[Phase] = []
    for burst in shape.bursts:
        for (low, high), rate_bps in zip(
            itertools.pairwise([0.0, *burst.cuts_frac, 1.0]), burst.rates_bps, strict=True
        ):
            start_s = burst.start_s + low * burst.width_s - shape.bursts[0].start_s
            width_s = (high - low) * burst.width_s
            ups.append(Phase(kind="up", start_s=float(start_s), width_s=float(width_s), rate_bps=rate_bps))
    return apart(ups, period_s=period_s)


def whole_phase(rate_bps: float, *, period_s: float) -> Phase:
    """Return the one phase of an iteration in which Up and Down do not stand apart."""
    return Phase(kind="up", start_s=0.0, width_s=period_s, rate_bps=rate_bps)
