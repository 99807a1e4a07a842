"""Compiled: the exact kernel on each two of many jobs, measured periods tied as `tie_periods` ties those of two."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.board import Cost, Kinks, Packed, Steps
from pipeline.compat.compiled import entry, inner
from pipeline.compat.kinks import FLAT_FRAC, best_shift, fill_kinks, highest, least
from pipeline.compat.layout import job_steps

__all__ = ["PairArrays", "PairRoom", "Rhythms", "fill_pairs"]


class Rhythms(NamedTuple):
    """How well the period of each job is known.

    Parameters
    ----------
    period_s, error_s
        Period and its standard error, 0 if it is exact.
    has_beat
        Whether there is a phase at all.
    max_order
        Two measured periods are tied if one is p/q of the other with q of at most this.
    """

    period_s: NDArray[np.float64]
    error_s: NDArray[np.float64]
    has_beat: NDArray[np.bool_]
    max_order: int


class PairRoom(NamedTuple):
    """What a rate costs, and room to work in: the kinks of the largest two jobs, and the edges of the largest."""

    cost: Cost
    kinks: Kinks
    scaled: Steps


class PairArrays(NamedTuple):
    """What is filled: least and mean excess of each two jobs, and the shift of the second; shape (n_pairs,)."""

    least_bps: NDArray[np.float64]
    mean_bps: NDArray[np.float64]
    shift_ns: NDArray[np.int64]


@entry
def fill_pairs(
    jobs: tuple[Packed, Packed],
    rhythms: Rhythms,
    pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
    room: PairRoom,
    out: PairArrays,
) -> None:
    """Fill the best shift of the second job of each pair beside the first.

    Parameters
    ----------
    jobs
        The demands, and the same on the clocks that they have as a reference.
    rhythms
        Whose phases may be related.
    pairs
        First and second job of each pair, shape (n_pairs,) each.
    room
        What a rate costs, and room to work in.
    out
        Filled in order of pairs.
    """
    first, second = pairs
    for n in range(first.size):
        out.least_bps[n], out.mean_bps[n], out.shift_ns[n] = _pair(jobs, rhythms, (first[n], second[n]), room)


@inner
def _pair(
    jobs: tuple[Packed, Packed], rhythms: Rhythms, pair: tuple[int, int], room: PairRoom
) -> tuple[float, float, int]:
    """Return the least and the mean excess of two jobs, and the best shift of the second."""
    i, j = pair
    first, second = job_steps(jobs[1], i), job_steps(jobs[1], j)
    # Without a phase in common every shift is one of the same whole nanosecond.
    common_ns = 1
    if rhythms.has_beat[i] and rhythms.has_beat[j]:
        if rhythms.error_s[i] == 0.0 and rhythms.error_s[j] == 0.0:
            common_ns = _gcd(first.period_ns, second.period_ns)
        elif _is_reference(rhythms, i, j):
            period_ns = _tied_period(rhythms, first.period_ns, i, j)
            if period_ns > 0:
                second = _scaled(job_steps(jobs[0], j), period_ns, room.scaled)
                common_ns = _gcd(first.period_ns, period_ns)
        else:
            period_ns = _tied_period(rhythms, second.period_ns, j, i)
            if period_ns > 0:
                first = _scaled(job_steps(jobs[0], i), period_ns, room.scaled)
                common_ns = _gcd(period_ns, second.period_ns)
    return _best(first, second, common_ns, room)


@inner
def _best(first: Steps, second: Steps, common_ns: int, room: PairRoom) -> tuple[float, float, int]:
    """Return the least and the mean excess of two demands, and the middle of the widest plateau of best shifts."""
    kinks = room.kinks
    repeats_ns = (common_ns, first.period_ns / common_ns * second.period_ns, False)
    n = fill_kinks(first, second, repeats_ns, room.cost, kinks)
    flat_bps = FLAT_FRAC * (highest(first.rate_bps) + highest(second.rate_bps))
    start_ns, width_ns = best_shift(kinks, n, common_ns, flat_bps)
    shift_ns = 0 if width_ns == common_ns else (start_ns + width_ns // 2) % common_ns
    return least(kinks.excess_bps, n), _mean(kinks, n, common_ns), shift_ns


@inner
def _gcd(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a


@inner
def _is_reference(rhythms: Rhythms, i: int, j: int) -> bool:
    """Return whether the first job's period is known as well as the second's."""
    return bool(rhythms.error_s[i] / rhythms.period_s[i] <= rhythms.error_s[j] / rhythms.period_s[j])


@inner
def _tied_period(rhythms: Rhythms, reference_ns: int, i: int, j: int) -> int:
    """Return the period that is related exactly to a reference, 0 if there is none (see `relation_between`)."""
    a_s, b_s = rhythms.period_s[i], rhythms.period_s[j]
    long_s, short_s = max(a_s, b_s), min(a_s, b_s)
    p, q = _ratio(long_s / short_s, rhythms.max_order)
    if a_s < b_s:
        p, q = q, p
    error_hz = math.hypot(p * rhythms.error_s[i] / a_s**2, q * rhythms.error_s[j] / b_s**2)
    if abs(p / a_s - q / b_s) > 2 * error_hz or reference_ns * q % p != 0:
        return 0
    return reference_ns * q // p


@inner
def _ratio(value: float, max_order: int) -> tuple[int, int]:
    """Return the fraction nearest to a value of at least 1, its denominator at most so large."""
    best_p, best_q, best_error = int(np.rint(value)), 1, abs(value - np.rint(value))
    for q in range(2, max_order + 1):
        p = int(np.rint(value * q))
        error = abs(value - p / q)
        if error < best_error:
            best_p, best_q, best_error = p, q, error
    return best_p, best_q


@inner
def _scaled(steps: Steps, period_ns: int, out: Steps) -> Steps:
    """Return a demand with its time axis stretched to another period, as `Demand.scaled` does."""
    n, last = 0, steps.edges_ns.size - 1
    factor = period_ns / steps.period_ns
    if int(np.rint(steps.edges_ns[last] * factor)) == period_ns and steps.edges_ns[0] > 0:
        out.edges_ns[0], out.rate_bps[0], out.turns[0] = 0, steps.rate_bps[last], steps.turns[last]
        n = 1
    for k in range(last + 1):
        edge_ns = int(np.rint(steps.edges_ns[k] * factor))
        if edge_ns < period_ns and (n == 0 or edge_ns > out.edges_ns[n - 1]):
            out.edges_ns[n], out.rate_bps[n], out.turns[n] = edge_ns, steps.rate_bps[k], steps.turns[k]
            n += 1
    return Steps(out.edges_ns[:n], out.rate_bps[:n], out.turns[:n], period_ns)


@inner
def _mean(kinks: Kinks, n: int, modulus_ns: int) -> float:
    """Return the mean of a curve over all shifts."""
    area = 0.0
    for k in range(n - 1):
        area += (kinks.excess_bps[k] + kinks.excess_bps[k + 1]) * (kinks.shift_ns[k + 1] - kinks.shift_ns[k])
    closing_ns = modulus_ns - kinks.shift_ns[n - 1] + kinks.shift_ns[0]
    area += (kinks.excess_bps[n - 1] + kinks.excess_bps[0]) * closing_ns
    return float(area / 2 / modulus_ns)
