"""Compiled: the kinks of the excess against a shift, by the formula of `pipeline.compat.kernel`, and its plateaus."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.board import FALLS, RISES, Cost, Kinks, Steps
from pipeline.compat.compiled import entry, inner

__all__ = ["FLAT_FRAC", "ZERO_FRAC", "best_shift", "cost_at", "fill_kinks", "highest", "least", "step_width"]

FLAT_FRAC: Final = 1e-12
"""Values that differ by less than this fraction of the curve's scale are one value: rounding, not a slope."""

ZERO_FRAC: Final = 1e-13
"""Nor is an excess of less than this fraction one."""

FEW: Final = 32
"""Up to so many kinks are sorted by insertion."""


@inner
def cost_at(rate_bps: float, cost: Cost) -> float:
    """Return what a rate costs."""
    if cost.knots_bps.size == 1:
        return float(max(0.0, rate_bps - cost.knots_bps[0]))
    below, above = 0, cost.knots_bps.size
    while below < above:
        middle = (below + above) // 2
        if cost.knots_bps[middle] < rate_bps:
            below = middle + 1
        else:
            above = middle
    return float(max(0.0, cost.slope[below] * rate_bps - cost.offset_bps[below]))


@entry
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
    _integrate(out, n, (modulus_ns, lcm_ns), mean_bps)
    nothing_bps = ZERO_FRAC * (highest(fixed.rate_bps) + highest(moving.rate_bps))
    for k in range(n):
        if out.excess_bps[k] < nothing_bps:
            out.excess_bps[k] = 0.0
    return n


@inner
def _meet(fixed: Steps, moving: Steps, common_ns: tuple[int, float, bool], cost: Cost, out: Kinks) -> tuple[int, float]:
    """List each meeting of edges with its bend (in ``excess_bps``); return how many, and the mean over all shifts."""
    is_window = common_ns[2]
    # A plain 0 would have `_meet_edge` compiled once more, for that constant.
    none, n, total = np.int8(0), np.int64(0), 0.0
    n_fixed = fixed.edges_ns.size
    for k in range(moving.edges_ns.size):
        out.before_bps[k] = 0.0 if is_window else cost_at(fixed.rate_bps[n_fixed - 1] + moving.rate_bps[k], cost)
    for i in range(n_fixed):
        total += _cost_row(fixed.rate_bps[i], moving, cost, out.after_bps) * step_width(fixed, i)
        if is_window or fixed.rate_bps[i] != fixed.rate_bps[i - 1] or fixed.turns[i] != 0:
            n = _meet_edge(fixed.edges_ns[i], fixed.turns[i], moving, common_ns[0], out, n)
        for k in range(moving.edges_ns.size):
            out.before_bps[k], out.after_bps[k] = out.after_bps[k], 0.0
    if is_window:
        n = _meet_edge(fixed.period_ns, none, moving, common_ns[0], out, n)
    return int(n), total / fixed.period_ns / moving.period_ns


@inner
def step_width(steps: Steps, i: int) -> int:
    """Return the time from one edge to the next, in ns."""
    if i + 1 < steps.edges_ns.size:
        return int(steps.edges_ns[i + 1] - steps.edges_ns[i])
    return int(steps.edges_ns[0] + steps.period_ns - steps.edges_ns[i])


@inner
def _cost_row(rate_bps: float, moving: Steps, cost: Cost, row_bps: NDArray[np.float64]) -> float:
    """Fill the cost of a rate beside each of the moving demand's; return its integral over their widths."""
    total = 0.0
    for k in range(moving.edges_ns.size):
        row_bps[k] = cost_at(rate_bps + moving.rate_bps[k], cost)
        total += row_bps[k] * step_width(moving, k)
    return total


@inner
def _meet_edge(at_ns: int, turns: np.int8, moving: Steps, modulus_ns: int, out: Kinks, n: np.int64) -> np.int64:
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


@inner
def _sort(out: Kinks, n: int) -> None:
    """Sort the first n kinks by their shift: many by quicksort, and what is nearly sorted by insertion."""
    if n > FEW:
        _part(out, n)
    for i in range(1, n):
        shift_ns, bend, faces = out.shift_ns[i], out.excess_bps[i], out.faces[i]
        k = i
        while k > 0 and out.shift_ns[k - 1] > shift_ns:
            _copy(out, k - 1, k)
            k -= 1
        out.shift_ns[k], out.excess_bps[k], out.faces[k] = shift_ns, bend, faces


@inner
def _part(out: Kinks, n: int) -> None:
    """Part the first n kinks into stretches of at most `FEW`, each of them later than all before."""
    # The shorter part is done first, so that each that waits is less than half of the one before.
    waiting = np.empty((64, 2), np.int64)
    low, high, n_waiting = 0, n - 1, 0
    while True:
        if high - low < FEW:
            if n_waiting == 0:
                return
            n_waiting -= 1
            low, high = waiting[n_waiting, 0], waiting[n_waiting, 1]
            continue
        last = _partition(out, low, high)
        if last - low > high - last:
            waiting[n_waiting, 0], waiting[n_waiting, 1], low = low, last, last + 1
        else:
            waiting[n_waiting, 0], waiting[n_waiting, 1], high = last + 1, high, last
        n_waiting += 1


@inner
def _partition(out: Kinks, low: int, high: int) -> int:
    """Move early kinks between two places before late ones, and return the last place of an early one (Hoare)."""
    first, middle, last = out.shift_ns[low], out.shift_ns[(low + high) // 2], out.shift_ns[high]
    pivot_ns = max(min(first, middle), min(max(first, middle), last))
    i, k = low - 1, high + 1
    while True:
        i += 1
        while out.shift_ns[i] < pivot_ns:
            i += 1
        k -= 1
        while out.shift_ns[k] > pivot_ns:
            k -= 1
        if i >= k:
            return k
        shift_ns, bend, faces = out.shift_ns[i], out.excess_bps[i], out.faces[i]
        _copy(out, k, i)
        out.shift_ns[k], out.excess_bps[k], out.faces[k] = shift_ns, bend, faces


@inner
def _copy(out: Kinks, source: int, target: int) -> None:
    out.shift_ns[target], out.excess_bps[target] = out.shift_ns[source], out.excess_bps[source]
    out.faces[target] = out.faces[source]


@inner
def _merge(out: Kinks, n: int) -> int:
    """Make one kink of those at the same shift; return how many remain."""
    last = 0
    for k in range(1, n):
        if out.shift_ns[k] == out.shift_ns[last]:
            out.excess_bps[last] += out.excess_bps[k]
            out.faces[last] |= out.faces[k]
        else:
            last += 1
            _copy(out, k, last)
    return last + 1


@inner
def _integrate(out: Kinks, n: int, repeats_ns: tuple[int, float], mean_bps: float) -> None:
    """Turn the bend at each of n kinks into the value there, given the mean over all shifts."""
    modulus_ns, lcm_ns = repeats_ns
    turned, area = 0.0, 0.0
    for k in range(n):
        turned += out.excess_bps[k]
        area += turned * _gap(out, n, k, modulus_ns)
    level = area / modulus_ns
    turned, value, area = 0.0, 0.0, 0.0
    for k in range(n):
        turned += out.excess_bps[k]
        width_ns = _gap(out, n, k, modulus_ns)
        rise = (turned - level) * width_ns / lcm_ns
        out.excess_bps[k] = value
        area += (value + rise / 2) * width_ns
        value += rise
    offset_bps = mean_bps - area / modulus_ns
    for k in range(n):
        out.excess_bps[k] += offset_bps


@inner
def _gap(out: Kinks, n: int, k: int, modulus_ns: int) -> int:
    """Return the shift from one of n kinks to the next."""
    next_ns = out.shift_ns[k + 1] if k + 1 < n else out.shift_ns[0] + modulus_ns
    return int(next_ns - out.shift_ns[k])


@inner
def highest(values: NDArray[np.float64]) -> float:
    """Return the highest of some values."""
    high = values[0]
    for value in values:
        high = max(high, value)
    return float(high)


@inner
def least(values: NDArray[np.float64], n: int) -> float:
    """Return the least of the first n values."""
    low = values[0]
    for k in range(1, n):
        low = min(low, values[k])
    return float(low)


@inner
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


@inner
def _reach(kinks: Kinks, n: int, k: int, towards: int, modulus_ns: int, limit_bps: float) -> int:
    """Return how far from a kink, towards its neighbour, the excess stays within the limit."""
    neighbour = (k + towards) % n
    gap_ns = (towards * (kinks.shift_ns[neighbour] - kinks.shift_ns[k])) % modulus_ns
    rise_bps = kinks.excess_bps[neighbour] - kinks.excess_bps[k]
    return int(gap_ns * (limit_bps - kinks.excess_bps[k]) / rise_bps)
