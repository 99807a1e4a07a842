"""Compiled: the kinks of the excess against a shift, by the formula of `pipeline.compat.kernel`, and its plateaus."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pipeline.compat.board import FALLS, RISES, Cost, Kinks, Steps

__all__ = ["FLAT_FRAC", "ZERO_FRAC", "best_shift", "cost_at", "fill_kinks", "least", "step_width"]

FLAT_FRAC: Final = 1e-12
"""Values that differ by less than this fraction of the curve's scale are one value: rounding, not a slope."""

ZERO_FRAC: Final = 1e-13
"""Nor is an excess of less than this fraction one."""

FEW: Final = 48
"""Up to so many kinks are sorted by insertion, which needs no room."""


@njit(cache=True, nogil=True, inline="always")
def cost_at(rate_bps: float, cost: Cost) -> float:
    """Return what a rate costs."""
    if cost.knots_bps.size == 1:
        return float(max(0.0, rate_bps - cost.knots_bps[0]))
    below = np.searchsorted(cost.knots_bps, rate_bps)
    return float(max(0.0, cost.slope[below] * rate_bps - cost.offset_bps[below]))


@njit(cache=True, nogil=True)
def fill_kinks(fixed: Steps, moving: Steps, common_ns: tuple[int, float, bool], cost: Cost, out: Kinks) -> int:
    """Fill the kinks of the mean excess against the shift of ``moving`` and return how many there are, at least one.

    Parameters
    ----------
    fixed, moving
        What stands still and what is shifted.
    common_ns
        Greatest common divisor and least common multiple of their periods (after which shifts and times repeat), and
        whether ``fixed`` is a window, outside of which nothing costs.
    cost
        What a rate costs.
    out
        Filled with each kink's shift, increasing, its excess, and whether an edge that rises meets one that falls
        there; such meetings are listed even if the curve does not bend at them.
    """
    n, mean_bps = _meet(fixed, moving, common_ns, cost, out)
    modulus_ns, lcm_ns, _ = common_ns
    if n == 0:
        out.shift_ns[0], out.excess_bps[0], out.faces[0] = 0, 0.0, 0
        n = 1
    _sort(out, n)
    n = _merge(out, n)
    _integrate(out.shift_ns[:n], out.excess_bps[:n], modulus_ns, lcm_ns, mean_bps)
    nothing_bps = ZERO_FRAC * (fixed.rate_bps.max() + moving.rate_bps.max())
    for k in range(n):
        if out.excess_bps[k] < nothing_bps:
            out.excess_bps[k] = 0.0
    return n


@njit(cache=True, nogil=True)
def _meet(fixed: Steps, moving: Steps, common_ns: tuple[int, float, bool], cost: Cost, out: Kinks) -> tuple[int, float]:
    """List each meeting of edges with its bend (in ``excess_bps``); return how many, and the mean over all shifts."""
    is_window = common_ns[2]
    n_fixed = fixed.edges_ns.size
    n, total = 0, 0.0
    for k in range(moving.edges_ns.size):
        before_bps = 0.0 if is_window else cost_at(fixed.rate_bps[n_fixed - 1] + moving.rate_bps[k], cost)
        out.before_bps[k] = before_bps
    for i in range(n_fixed):
        total += _cost_row(fixed.rate_bps[i], moving, cost, out.after_bps) * step_width(fixed, i)
        if is_window or fixed.rate_bps[i] != fixed.rate_bps[i - 1] or fixed.turns[i] != 0:
            n = _meet_edge(fixed.edges_ns[i], fixed.turns[i], moving, common_ns[0], out, n)
        out.before_bps[:] = out.after_bps
    if is_window:
        out.after_bps[:] = 0.0
        n = _meet_edge(fixed.period_ns, 0, moving, common_ns[0], out, n)
    return n, total / fixed.period_ns / moving.period_ns


@njit(cache=True, nogil=True, inline="always")
def step_width(steps: Steps, i: int) -> int:
    """Return the time from one edge to the next, in ns."""
    if i + 1 < steps.edges_ns.size:
        return int(steps.edges_ns[i + 1] - steps.edges_ns[i])
    return int(steps.edges_ns[0] + steps.period_ns - steps.edges_ns[i])


@njit(cache=True, nogil=True, inline="always")
def _cost_row(rate_bps: float, moving: Steps, cost: Cost, row_bps: NDArray[np.float64]) -> float:
    """Fill the cost of a rate beside each of the moving demand's; return its integral over their widths."""
    total = 0.0
    for k in range(moving.edges_ns.size):
        row_bps[k] = cost_at(rate_bps + moving.rate_bps[k], cost)
        total += row_bps[k] * step_width(moving, k)
    return total


@njit(cache=True, nogil=True)
def _meet_edge(at_ns: int, turns: int, moving: Steps, modulus_ns: int, out: Kinks, n: int) -> int:
    """List the meetings of one fixed edge with those of the moving demand, whose costs before and after are known."""
    last = moving.edges_ns.size - 1
    for k in range(last + 1):
        j = k - 1 if k else last
        bend = out.before_bps[k] - out.before_bps[j] + out.after_bps[j] - out.after_bps[k]
        faces = (turns & RISES and moving.turns[k] & FALLS) or (turns & FALLS and moving.turns[k] & RISES)
        if bend != 0.0 or faces:
            shift_ns = at_ns - moving.edges_ns[k]
            if shift_ns < 0 or shift_ns >= modulus_ns:
                shift_ns %= modulus_ns
            out.shift_ns[n], out.excess_bps[n], out.faces[n] = shift_ns, bend, 1 if faces else 0
            n += 1
    return n


@njit(cache=True, nogil=True)
def _sort(out: Kinks, n: int) -> None:
    if n > FEW:
        order = np.argsort(out.shift_ns[:n])
        out.shift_ns[:n] = out.shift_ns[order]
        out.excess_bps[:n] = out.excess_bps[order]
        out.faces[:n] = out.faces[order]
        return
    for i in range(1, n):
        shift_ns, bend, faces = out.shift_ns[i], out.excess_bps[i], out.faces[i]
        k = i
        while k > 0 and out.shift_ns[k - 1] > shift_ns:
            out.shift_ns[k], out.excess_bps[k], out.faces[k] = (
                out.shift_ns[k - 1],
                out.excess_bps[k - 1],
                out.faces[k - 1],
            )
            k -= 1
        out.shift_ns[k], out.excess_bps[k], out.faces[k] = shift_ns, bend, faces


@njit(cache=True, nogil=True)
def _merge(out: Kinks, n: int) -> int:
    """Make one kink of those at the same shift; return how many remain."""
    last = 0
    for k in range(1, n):
        if out.shift_ns[k] == out.shift_ns[last]:
            out.excess_bps[last] += out.excess_bps[k]
            out.faces[last] |= out.faces[k]
        else:
            last += 1
            out.shift_ns[last], out.excess_bps[last], out.faces[last] = (
                out.shift_ns[k],
                out.excess_bps[k],
                out.faces[k],
            )
    return last + 1


@njit(cache=True, nogil=True)
def _integrate(
    shift_ns: NDArray[np.int64], bend: NDArray[np.float64], modulus_ns: int, lcm_ns: float, mean_bps: float
) -> None:
    """Turn the bend at each kink into the value there, given the mean over all shifts."""
    n = shift_ns.size
    turned, area = 0.0, 0.0
    for k in range(n):
        width_ns = (shift_ns[k + 1] if k + 1 < n else shift_ns[0] + modulus_ns) - shift_ns[k]
        turned += bend[k]
        area += turned * width_ns
    level = area / modulus_ns
    turned, value, area = 0.0, 0.0, 0.0
    for k in range(n):
        width_ns = (shift_ns[k + 1] if k + 1 < n else shift_ns[0] + modulus_ns) - shift_ns[k]
        turned += bend[k]
        rise = (turned - level) * width_ns / lcm_ns
        bend[k] = value
        area += (value + rise / 2) * width_ns
        value += rise
    bend += mean_bps - area / modulus_ns


@njit(cache=True, nogil=True, inline="always")
def least(values: NDArray[np.float64], n: int) -> float:
    """Return the least of the first n values."""
    low = values[0]
    for k in range(1, n):
        low = min(low, values[k])
    return float(low)


@njit(cache=True, nogil=True)
def best_shift(kinks: Kinks, n: int, modulus_ns: int, flat_bps: float) -> tuple[int, int]:
    """Return start and width of the widest plateau of minima; the first of equally wide ones.

    Parameters
    ----------
    kinks, n
        As filled by `fill_kinks`.
    modulus_ns
        After which the curve repeats.
    flat_bps
        Values so little above the least are as good.
    """
    limit_bps = least(kinks.excess_bps, n) + flat_bps
    start = 0
    while start < n and kinks.excess_bps[start] <= limit_bps:
        start += 1
    if start == n:
        return 0, modulus_ns
    best_ns, best_width_ns = 0, -1
    k = 1
    while k <= n:
        first = (start + k) % n
        if kinks.excess_bps[first] > limit_bps:
            k += 1
            continue
        while k < n and kinks.excess_bps[(start + k + 1) % n] <= limit_bps:
            k += 1
        last = (start + k) % n
        from_ns = kinks.shift_ns[first] - _reach(kinks, n, first, -1, modulus_ns, limit_bps)
        width_ns = (kinks.shift_ns[last] + _reach(kinks, n, last, 1, modulus_ns, limit_bps) - from_ns) % modulus_ns
        from_ns %= modulus_ns
        if width_ns > best_width_ns or (width_ns == best_width_ns and from_ns < best_ns):
            best_ns, best_width_ns = from_ns, width_ns
        k += 1
    return best_ns, best_width_ns


@njit(cache=True, nogil=True, inline="always")
def _reach(kinks: Kinks, n: int, k: int, towards: int, modulus_ns: int, limit_bps: float) -> int:
    """Return how far from a kink, towards its neighbour, the excess stays within the limit."""
    neighbour = (k + towards) % n
    gap_ns = (towards * (kinks.shift_ns[neighbour] - kinks.shift_ns[k])) % modulus_ns
    rise_bps = kinks.excess_bps[neighbour] - kinks.excess_bps[k]
    return int(gap_ns * (limit_bps - kinks.excess_bps[k]) / rise_bps)
