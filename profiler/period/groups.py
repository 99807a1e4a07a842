"""Several bursts that are nearly alike, or one iteration each? What differs between them, again and again, tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

if TYPE_CHECKING:
    from profiler.period.cycles import Cycles
    from profiler.period.prepare import Prepared

__all__ = ["group_period"]

MAX_GROUP: Final = 6
MIN_REPEATS: Final = 3
"""A group must be seen this often."""
MIN_AGREEMENT: Final = 0.5
"""Correlation between what the two halves of the series say of the classes."""
N_PARTS: Final = 12
MIN_PART_BINS: Final = 1.0
FREE_PARTS: Final = 2
"""Jitter moves bytes from one part into the next, so that far fewer of them than all are independent."""
P_CHANCE: Final = 1e-6
EFFECT_FRAC: Final = 1e-3
"""The difference must be at least this fraction of the variance of the common shape."""
BIN_EFFECT: Final = 0.3
"""Reading a burst at shifting fractions of a bin makes differences, too, which are regular; their variance falls with
the square of the bins in a part."""


def group_period(prepared: Prepared, cycles: Cycles, *, period_s: float) -> float:
    """Return the period of the smallest group of cycles that differ in turn, or the period itself if none do.

    Notes
    -----
    Each cycle is cut into equal parts, whose volumes are interpolated from the cumulative signal, so that a start may
    fall within a bin; the time to the next start counts as one more part. For groups of m, the cycles are m classes in
    turn, by the clock or, where bursts are not evenly spaced, by their order; an F test compares the variance between
    the classes' mean shapes with that within them. The smallest m whose chance is under `P_CHANCE` and whose effect is
    above `EFFECT_FRAC` wins, if both halves of the series agree on what the differences are.
    """
    n_parts = min(N_PARTS, int(period_s / prepared.dt_s / MIN_PART_BINS))
    starts_s = cycles.starts_s[cycles.good]
    if n_parts < 4 or starts_s.size < 2 * MIN_REPEATS:
        return period_s
    shapes = _shapes(prepared, starts_s, period_s=period_s, n_parts=n_parts)
    least = max(EFFECT_FRAC, BIN_EFFECT * (n_parts * prepared.dt_s / period_s) ** 2)
    by_clock = np.round((starts_s - starts_s[0]) / period_s).astype(np.int64)
    by_order = np.arange(starts_s.size)
    for n_cycles in range(2, MAX_GROUP + 1):
        if starts_s.size < MIN_REPEATS * n_cycles:
            return period_s
        if _differ(shapes, by_clock % n_cycles, n_cycles=n_cycles, least=least):
            return n_cycles * period_s
        if _differ(shapes, by_order % n_cycles, n_cycles=n_cycles, least=least):
            return float(np.median(starts_s[n_cycles:] - starts_s[:-n_cycles]))
    return period_s


def _shapes(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float, n_parts: int) -> NDArray[np.float64]:
    """Return each cycle's volumes and the time to the next start, scaled alike; shape (n_cycles, n_parts + 1)."""
    volumes = _volumes(prepared, starts_s, period_s=period_s, n_parts=n_parts)
    scale = np.sqrt(np.sum((volumes.mean(axis=0) - volumes.mean()) ** 2))
    lengths = np.clip(np.diff(starts_s) / period_s, 0.0, 2.0)
    return np.column_stack([volumes, scale * np.append(lengths, np.median(lengths))])


def _volumes(
    prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float, n_parts: int
) -> NDArray[np.float64]:
    """Return the mean signal in each part of each cycle, shape (n_cycles, n_parts)."""
    edges = (starts_s[:, None] + np.linspace(0.0, period_s, n_parts + 1)) / prepared.dt_s
    total = np.concatenate(([0.0], np.cumsum(prepared.x)))
    volumes: NDArray[np.float64] = np.diff(np.interp(edges, np.arange(total.size), total), axis=1)
    return volumes * (n_parts * prepared.dt_s / period_s)


def _differ(volumes: NDArray[np.float64], classes: NDArray[np.int64], *, n_cycles: int, least: float) -> bool:
    """Return whether the classes of cycles have shapes of their own, the same in both halves of the series."""
    common = volumes.mean(axis=0)
    present = [volumes[classes == i] for i in range(n_cycles)]
    if min(len(members) for members in present) < 2:
        return False
    between = sum(len(members) * np.sum((members.mean(axis=0) - common) ** 2) for members in present)
    within = sum(np.sum((members - members.mean(axis=0)) ** 2) for members in present)
    free_between = (n_cycles - 1) * FREE_PARTS
    free_within = (len(volumes) - n_cycles) * FREE_PARTS
    ratio = (between / free_between) / max(within / free_within, np.finfo(np.float64).tiny)
    shape = len(volumes) * np.sum((common[:-1] - common[:-1].mean()) ** 2)
    if between < least * shape or f_distribution.sf(ratio, free_between, free_within) > P_CHANCE:
        return False
    early, late = (
        [half.mean(axis=0) - common for half in halves] for halves in zip(*map(_halves, present), strict=True)
    )
    return bool(np.corrcoef(np.ravel(early), np.ravel(late))[0, 1] > MIN_AGREEMENT)


def _halves(members: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    middle = len(members) // 2
    return members[:middle], members[middle:]
