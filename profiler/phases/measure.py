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

__all__ = ["folded_ups", "measured_ups", "whole_phase", "without_false_levels"]

PEAK_QUANTILE: Final = 0.9
"""The rate that a burst reaches in its fastest tenth of iterations: what it does when nothing hinders it."""
MIN_LEVEL_RATIO: Final = 1.3
"""In single iterations, whose edges are not quite where the fold's are, levels differ at least by this factor."""


def measured_ups(traffic: Traffic, edges: Edges, *, shape: Shape, period_s: float) -> list[Phase]:
    """Return the Up phases as single iterations have them, counted from the start of the first.

    A phase's rate is such that width times rate is the volume.
    """
    ups: list[Phase] = []
    for i, burst in enumerate(shape.bursts):
        both = edges.present[:, i] & edges.present[:, 0]
        rows = both if both.any() else edges.present[:, i]
        first_s = float(np.median(edges.start_s[rows, i] - edges.start_s[rows, 0])) if i else 0.0
        cuts = [0.0, *burst.cuts_frac, 1.0]
        for low, high in itertools.pairwise(cuts):
            part = _part(traffic, edges.start_s[rows, i], edges.end_s[rows, i], low=low, high=high)
            ups.append(replace(part, start_s=first_s))
            first_s += part.width_s
    return _apart(ups, period_s=period_s)


def without_false_levels(traffic: Traffic, edges: Edges, *, shape: Shape) -> Shape:
    """Return the shape with one level for each burst that has several only in the mean of its iterations.

    Bursts that congestion stretches in some iterations fold to two levels, though each of them has but one.
    """
    return replace(
        shape,
        bursts=tuple(
            burst
            if _has_levels(traffic, edges.start_s[rows, i], edges.end_s[rows, i], cuts_frac=burst.cuts_frac)
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
    """Return whether the rates of a burst's parts differ in a typical iteration of its own."""
    bounds = np.array([0.0, *cuts_frac, 1.0])
    at_s = start_s + bounds[:, None] * (end_s - start_s)
    rates = np.median(np.diff(traffic.bits_at(at_s), axis=0) / np.maximum(end_s - start_s, traffic.dt_s), axis=1)
    rates /= np.diff(bounds)
    return bool((np.maximum(rates[1:], rates[:-1]) >= MIN_LEVEL_RATIO * np.minimum(rates[1:], rates[:-1])).all())


def folded_ups(shape: Shape, *, period_s: float) -> list[Phase]:
    """Return the Up phases as the folded iteration has them, counted from the start of the first."""
    ups: list[Phase] = []
    for burst in shape.bursts:
        for (low, high), rate_bps in zip(
            itertools.pairwise([0.0, *burst.cuts_frac, 1.0]), burst.rates_bps, strict=True
        ):
            start_s = burst.start_s + low * burst.width_s - shape.bursts[0].start_s
            ups.append(Phase(kind="up", start_s=start_s, width_s=(high - low) * burst.width_s, rate_bps=rate_bps))
    return _apart(ups, period_s=period_s)


def whole_phase(rate_bps: float, *, period_s: float) -> Phase:
    """Return the one phase of an iteration in which Up and Down do not stand apart."""
    return Phase(kind="up", start_s=0.0, width_s=period_s, rate_bps=rate_bps)


def _part(
    traffic: Traffic, start_s: NDArray[np.float64], end_s: NDArray[np.float64], *, low: float, high: float
) -> Phase:
    """Return the phase that one level of a burst makes over iterations."""
    begin_s = start_s + low * (end_s - start_s)
    widths_s = (high - low) * (end_s - start_s)
    bits = traffic.bits_at(begin_s + widths_s) - traffic.bits_at(begin_s)
    width_s = float(np.median(widths_s))
    low_s, high_s = np.quantile(widths_s, [0.25, 0.75])
    return Phase(
        kind="up",
        start_s=0.0,
        width_s=width_s,
        rate_bps=float(np.median(bits)) / width_s,
        width_low_s=float(low_s),
        width_high_s=float(high_s),
        peak_bps=float(np.quantile(bits / widths_s, PEAK_QUANTILE)),
    )


def _apart(ups: list[Phase], *, period_s: float) -> list[Phase]:
    """Return the phases cut where they would run into the next; those of which nothing is left are dropped."""
    kept: list[Phase] = []
    for up, end_s in zip(ups, [*(up.start_s for up in ups[1:]), period_s], strict=True):
        width_s = min(up.width_s, end_s - up.start_s)
        if width_s > 0:
            kept.append(replace(up, width_s=width_s))
    return kept
