"""Plateaus of a burst: a job whose collectives run at two rates has two levels, not one average."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.medians import median

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["split_levels"]

MIN_LEVEL_FRAC: Final = 0.1
"""A plateau is at least this part of its burst: shorter ones are blur at its edges."""
MIN_RATIO: Final = 1.4
"""Neighbouring plateaus differ by at least this factor."""
MIDDLE: Final = (0.2, 0.8)
MAX_SLOPE: Final = 0.35
"""The middle three fifths of a plateau vary by less than this fraction of the step to the next: no ramp, no noise."""


def split_levels(values: NDArray[np.float64], *, n_least: int) -> list[int]:
    """Return the bins at which a burst changes from one plateau to the next, with its two ends.

    Parameters
    ----------
    values
        Rate above Down over the burst, shape (n_bins,).
    n_least
        Bins that a plateau takes at least.

    Notes
    -----
    Otsu's threshold, on the rate itself, parts high from low; what stays shorter than a plateau joins its neighbour.
    If every stretch then is flat beside the step to the next one they are plateaus, and each is tried again by itself.
    """
    return _split(values, 0, n_least=max(n_least, round(MIN_LEVEL_FRAC * values.size)))


def _split(values: NDArray[np.float64], first: int, *, n_least: int) -> list[int]:
    whole = [first, first + values.size]
    if values.size < 2 * n_least:
        return whole
    bounds = _alternating(values > _cut(values), n_least=n_least)
    parts = [values[a:b] for a, b in itertools.pairwise(bounds)]
    if len(parts) < 2 or not _are_plateaus(parts):
        return whole
    inner = [_split(part, first + a, n_least=n_least) for part, a in zip(parts, bounds, strict=False)]
    return sorted({bound for part in inner for bound in part})


def _cut(values: NDArray[np.float64]) -> float:
    """Return Otsu's threshold on few values, by trying every cut."""
    ordered = np.sort(values)
    total = np.cumsum(ordered)
    n_below = np.arange(1, ordered.size)
    n_above = ordered.size - n_below
    between = n_below * n_above * ((total[-1] - total[:-1]) / n_above - total[:-1] / n_below) ** 2
    i = int(np.argmax(between))
    return float(0.5 * (ordered[i] + ordered[i + 1]))


def _alternating(high: NDArray[np.bool_], *, n_least: int) -> list[int]:
    """Return the bounds of high and low stretches; the shortest joins its neighbours until all are long enough."""
    bounds = [0, *(np.flatnonzero(np.diff(high)) + 1).tolist(), high.size]
    while len(bounds) > 2:
        lengths = np.diff(bounds)
        i = int(np.argmin(lengths))
        if lengths[i] >= n_least:
            break
        # Inner stretches lose both bounds, since their neighbours are of one kind; those at the ends only one.
        drop = {i, i + 1} & set(range(1, len(bounds) - 1))
        bounds = [bound for j, bound in enumerate(bounds) if j not in drop]
    return bounds


def _are_plateaus(parts: list[NDArray[np.float64]]) -> bool:
    levels = [median(part) for part in parts]
    ranges = [float(np.ptp(np.quantile(part, MIDDLE))) for part in parts]
    pairs = list(itertools.pairwise(range(len(parts))))
    steps = [abs(levels[i] - levels[j]) for i, j in pairs]
    far = all(max(levels[i], levels[j]) >= MIN_RATIO * max(0.0, min(levels[i], levels[j])) for i, j in pairs)
    flat = all(
        max(ranges[i], ranges[j]) <= MAX_SLOPE * step for (i, j), step in zip(pairs, steps, strict=True) if step > 0
    )
    return far and flat and all(step > 0 for step in steps)
