"""`Occupancy`: for how much of the time which bursts of some jobs are on the link together.

Exact for jobs at their shifts: of two, whatever their periods, by counting at which offsets bursts meet; of more, by
laying out their common circle or a window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.explanation.bursts import Part

__all__ = ["Occupancy", "beside", "together"]

MAX_CODE: Final = 2**62
"""Largest number that tells one set of bursts from another."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Occupancy:
    """Sets of bursts and their shares of the time.

    Parameters
    ----------
    parts
        The jobs.
    numbers
        The burst that each job is in, 0 for none; int64, shape (n_sets, n_jobs).
    share
        Fraction of the time with exactly these; float64, shape (n_sets,), sums to 1.
    """

    parts: tuple[Part, ...]
    numbers: NDArray[np.int64]
    share: NDArray[np.float64]

    @property
    def rate_bps(self) -> NDArray[np.float64]:
        """Rate of all bursts of each set together; float64, shape (n_sets,)."""
        rates_bps: NDArray[np.float64] = np.zeros(self.share.size)
        for column, part in enumerate(self.parts):
            rates_bps = rates_bps + part.rate_of[self.numbers[:, column]]
        return rates_bps

    @property
    def variance(self) -> float:
        """Variance of the rate over time, in (bit/s)²."""
        rates_bps = self.rate_bps
        return float(self.share @ (rates_bps - self.share @ rates_bps) ** 2)


def together(parts: Sequence[Part], *, length_ns: int | None) -> Occupancy:
    """Return the occupancy by jobs that keep their phases.

    Parameters
    ----------
    parts
        The jobs at their shifts.
    length_ns
        Of the window that counts; None for ever.
    """
    if length_ns is None and len(parts) <= 2:
        return _alone(parts[0]) if len(parts) == 1 else _pair(*parts)
    circle_ns = math.lcm(*(part.demand.period_ns for part in parts))
    if length_ns is None or length_ns <= circle_ns:
        return _laid_out(parts, length_ns=length_ns or circle_ns)
    rest_ns = length_ns % circle_ns
    circles = together(parts, length_ns=None)
    if not rest_ns:
        return circles
    rest = _laid_out(parts, length_ns=rest_ns)
    share = np.concatenate([circles.share * (1 - rest_ns / length_ns), rest.share * (rest_ns / length_ns)])
    return _merged(parts, np.vstack([circles.numbers, rest.numbers]), weight=share)


def beside(first: Occupancy, second: Occupancy) -> Occupancy:
    """Return the occupancy by two groups of jobs whose phases have nothing to do with each other."""
    n_first, n_second = first.share.size, second.share.size
    numbers = np.hstack([np.repeat(first.numbers, n_second, axis=0), np.tile(second.numbers, (n_first, 1))])
    share = np.outer(first.share, second.share).ravel()
    return Occupancy(parts=(*first.parts, *second.parts), numbers=numbers, share=share)


def _alone(part: Part) -> Occupancy:
    width_ns = np.bincount(part.number, weights=part.demand.widths_ns, minlength=len(part.bursts) + 1)
    numbers = np.arange(width_ns.size, dtype=np.int64)[:, None]
    return Occupancy(parts=(part,), numbers=numbers, share=width_ns / float(part.demand.period_ns))


def _pair(first: Part, second: Part) -> Occupancy:
    """Return the occupancy by two jobs of any periods.

    Notes
    -----
    Within ``lcm(T1, T2)`` the starts of a stretch of the one and of a stretch of the other are apart by each offset
    ``d = d0 + k gcd(T1, T2)`` once. Stretches of widths v, w overlap for ``r(d + w) - r(d) - r(d + w - v) + r(d - v)``
    with ``r(y) = max(0, y)``, and the sum over all k of each term is an arithmetic series.
    """
    one, other = first.demand, second.demand
    common_ns = math.gcd(one.period_ns, other.period_ns)
    wide_ns, reach_ns = one.widths_ns[:, None], other.widths_ns[None, :]
    apart_ns = (other.edges_ns + second.shift_ns)[None, :] - (one.edges_ns + first.shift_ns)[:, None]
    beyond_ns = wide_ns + (apart_ns - wide_ns) % common_ns
    terms_ns = (
        _series(beyond_ns + reach_ns, common_ns)
        - _series(beyond_ns, common_ns)
        - _series(beyond_ns + reach_ns - wide_ns, common_ns)
        + _series(beyond_ns - wide_ns, common_ns)
    )
    share = np.maximum(0.0, terms_ns) / (one.period_ns / common_ns * other.period_ns)
    n_first, n_second = len(first.bursts) + 1, len(second.bursts) + 1
    code = first.number[:, None] * n_second + second.number[None, :]
    merged = np.bincount(code.ravel(), weights=share.ravel(), minlength=n_first * n_second).astype(np.float64)
    numbers = np.stack(np.divmod(np.arange(merged.size, dtype=np.int64), n_second), axis=1)
    return Occupancy(parts=(first, second), numbers=numbers, share=merged)


def _series(y_ns: NDArray[np.int64], step_ns: int) -> NDArray[np.float64]:
    """Return the sum over k >= 0 of ``max(0, y - k step)``."""
    n_steps = np.maximum(-1, y_ns // step_ns).astype(np.float64)
    total: NDArray[np.float64] = (n_steps + 1) * (y_ns - step_ns * n_steps / 2)
    return total


def _laid_out(parts: Sequence[Part], *, length_ns: int) -> Occupancy:
    """Return the occupancy of [0, length_ns)."""
    edges = [part.demand.edges_within(length_ns, shift_ns=part.shift_ns) for part in parts]
    edges_ns = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *edges]))
    numbers = np.stack([_numbers_at(part, edges_ns) for part in parts], axis=1)
    return _merged(parts, numbers, weight=np.diff(edges_ns, append=length_ns) / length_ns)


def _merged(parts: Sequence[Part], numbers: NDArray[np.int64], *, weight: NDArray[np.float64]) -> Occupancy:
    """Return the occupancy of rows of which several may be of one set."""
    columns = ((numbers[:, i], len(part.bursts) + 1) for i, part in enumerate(parts))
    code, _ = reduce(_coded, columns, (np.zeros(weight.size, dtype=np.int64), 1))
    _, firsts, place = np.unique(code, return_index=True, return_inverse=True)
    share = np.bincount(place, weights=weight).astype(np.float64)
    return Occupancy(parts=tuple(parts), numbers=numbers[firsts], share=share)


def _coded(so_far: tuple[NDArray[np.int64], int], then: tuple[NDArray[np.int64], int]) -> tuple[NDArray[np.int64], int]:
    """Return numbers that tell rows apart by one more column; codes that grow too large are counted through anew."""
    (code, n_codes), (column, n_values) = so_far, then
    if n_codes * n_values >= MAX_CODE:
        known, code = np.unique(code, return_inverse=True)
        n_codes = known.size
    return code * n_values + column, n_codes * n_values


def _numbers_at(part: Part, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    into_ns = (t_ns - part.shift_ns) % part.demand.period_ns
    return part.number[np.searchsorted(part.demand.edges_ns, into_ns, side="right") - 1]
