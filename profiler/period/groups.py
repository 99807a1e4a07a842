"""Several bursts that are nearly alike, or one iteration each? What differs between them, again and again, tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from profiler.period.medians import median

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiler.period.cycles import Cycles
    from profiler.period.prepare import Prepared

__all__ = ["Group", "group_order"]

ORDERS: Final = range(2, 7)
MIN_KNOWN_FRAC: Final = 0.9
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """So many cycles that make one iteration, and how long it takes."""

    order: int
    period_s: float


def group_order(prepared: Prepared, cycles: Cycles, *, period_s: float, orders: Iterable[int] = ORDERS) -> Group:
    """Return the smallest group of cycles that differ in turn, or a group of one if none do.

    Parameters
    ----------
    prepared
        The series.
    cycles
        Its cycles, as they were followed with ``period_s``.
    period_s
        Their period in seconds.
    orders
        Sizes of groups to try, increasing.

    Notes
    -----
    Each cycle is cut into equal parts, whose volumes are interpolated from the cumulative signal, so that a start may
    fall within a bin; the time to the next start counts as one more part. For groups of m, the cycles are m classes in
    turn, by the clock or, where bursts are not evenly spaced, by their order; an F test compares the variance between
    the classes' mean shapes with that within them. The smallest m whose chance is under `P_CHANCE` and whose effect is
    above `EFFECT_FRAC` wins, if both halves of the series agree on what the differences are.
    """
    n_parts = min(N_PARTS, int(period_s / prepared.dt_s / MIN_PART_BINS))
    starts_s = cycles.starts_s[_is_known(prepared, cycles.starts_s, period_s=period_s)]
    one = Group(order=1, period_s=period_s)
    if n_parts < 4 or starts_s.size < 2 * MIN_REPEATS:
        return one
    shapes = _shapes(prepared, starts_s, period_s=period_s, n_parts=n_parts)
    least = max(EFFECT_FRAC, BIN_EFFECT * (n_parts * prepared.dt_s / period_s) ** 2)
    by_clock = np.round((starts_s - starts_s[0]) / period_s).astype(np.int64)
    by_order = np.arange(starts_s.size)
    for order in orders:
        if starts_s.size < MIN_REPEATS * order:
            return one
        if _differ(shapes, by_clock % order, n_cycles=order, least=least):
            return Group(order=order, period_s=order * period_s)
        if _differ(shapes, by_order % order, n_cycles=order, least=least):
            return Group(order=order, period_s=median(starts_s[order:] - starts_s[:-order]))
    return one


def _is_known(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float) -> NDArray[np.bool_]:
    """Return which cycles have nearly all their bins known; bool, shape (n_starts,)."""
    total = np.concatenate(([0.0], np.cumsum(prepared.weight)))
    first = np.clip((starts_s / prepared.dt_s).astype(np.int64), 0, prepared.n_bins)
    end = np.clip(((starts_s + period_s) / prepared.dt_s).astype(np.int64), 0, prepared.n_bins)
    known: NDArray[np.bool_] = total[end] - total[first] >= MIN_KNOWN_FRAC * (end - first)
    return known


def _shapes(prepared: Prepared, starts_s: NDArray[np.float64], *, period_s: float, n_parts: int) -> NDArray[np.float64]:
    """Return each cycle's volumes and the time to the next start, scaled alike; shape (n_cycles, n_parts + 1)."""
    volumes = _volumes(prepared, starts_s, period_s=period_s, n_parts=n_parts)
    scale = np.sqrt(np.sum((volumes.mean(axis=0) - volumes.mean()) ** 2))
    lengths = np.clip(np.diff(starts_s) / period_s, 0.0, 2.0)
    return np.column_stack([volumes, scale * np.append(lengths, median(lengths))])


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
    if between < least * shape or fdtrc(free_between, free_within, ratio) > P_CHANCE:
        return False
    early, late = (
        [half.mean(axis=0) - common for half in halves] for halves in zip(*map(_halves, present), strict=True)
    )
    return bool(np.corrcoef(np.ravel(early), np.ravel(late))[0, 1] > MIN_AGREEMENT)


def _halves(members: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    middle = len(members) // 2
    return members[:middle], members[middle:]
