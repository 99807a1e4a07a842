"""`drifts_between`: how fast the phases of jobs move against each other, of all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.relations import MAX_ORDER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.relations import Beat

__all__ = ["Drifts", "drifts_between"]

ROUNDING: Final = 1e-12
"""Periods that are whole multiples drift by this much a second when their ratio is computed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drifts:
    """Drift of the phase of each job against each other's, in seconds a second; float64, shape (n_jobs, n_jobs).

    Parameters
    ----------
    nominal
        If the periods are what they are said to be.
    fastest
        Not exceeded with two standard errors of certainty; 0 between exact periods, which are taken at their word.
    unforeseen
        By the errors of the periods alone.
    unforeseen_hz
        The same, in rounds a second of the whole numbers of iterations after which the two jobs meet again.
    fastest_hz
        What is not exceeded with two standard errors of certainty, also between exact periods, in such rounds.
    """

    nominal: NDArray[np.float64]
    fastest: NDArray[np.float64]
    unforeseen: NDArray[np.float64]
    unforeseen_hz: NDArray[np.float64]
    fastest_hz: NDArray[np.float64]


def drifts_between(beats: Sequence[Beat]) -> Drifts:
    """Return the drifts of all pairs of jobs, by the relation of small whole numbers nearest to their periods' ratio.

    Notes
    -----
    The relations are those of `relation_between`; O(n²) numbers instead of as many fractions.
    """
    period_s = np.array([beat.period_s for beat in beats])
    error_s = np.array([beat.error_s for beat in beats])
    own, other = _nearest(period_s[:, None], period_s[None, :])
    turns_hz, others_hz = own / period_s[:, None], other / period_s[None, :]
    spread_hz = np.hypot(
        turns_hz * (error_s / period_s)[:, None],
        others_hz * (error_s / period_s)[None, :],
    )
    np.fill_diagonal(spread_hz, 0.0)
    apart_hz = np.abs(turns_hz - others_hz)
    nominal, unforeseen = apart_hz / turns_hz, 2 * spread_hz / turns_hz
    is_exact = (error_s == 0)[:, None] & (error_s == 0)[None, :]
    return Drifts(
        nominal=np.where(nominal > ROUNDING, nominal, 0.0),
        fastest=np.where(is_exact, 0.0, nominal + unforeseen),
        unforeseen=unforeseen,
        unforeseen_hz=2 * spread_hz,
        fastest_hz=apart_hz + 2 * spread_hz,
    )


def _nearest(
    first_s: NDArray[np.float64], second_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the whole numbers p, q with p/q nearest to first/second, at most ``MAX_ORDER`` for the faster one."""
    slow_s, fast_s = np.maximum(first_s, second_s), np.minimum(first_s, second_s)
    ratio = slow_s / fast_s
    order = np.arange(1.0, MAX_ORDER + 1)
    whole = np.rint(ratio[..., None] * order)
    best = np.abs(whole / order - ratio[..., None]).argmin(axis=-1)
    of_slow = np.take_along_axis(whole, best[..., None], axis=-1)[..., 0]
    of_fast = order[best]
    is_slow = first_s >= second_s
    return np.where(is_slow, of_slow, of_fast), np.where(is_slow, of_fast, of_slow)
