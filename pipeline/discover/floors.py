"""`swing_of`: how much of what a job's ports move comes in its bursts, told from what they move between bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Swing", "swing_of"]

FAR_TICKS: Final = 2
"""So many ticks off a burst nothing of it is left: ports tick at other times, and are interpolated."""
NEAR_TICKS: Final = 1
"""Of bursts that come too soon for that, so many ticks off most is gone."""
MIN_QUIET_FRAC: Final = 0.1
"""A mean of fewer ticks, each beside a burst, is not that of the others."""
LOW_QUANTILE: Final = 0.05
"""Where bursts leave no tick far from them, what is between them may be as low as this; lower is noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """The mean rate of what comes in bursts, and between which bounds it is, in bit/s."""

    mean_bps: float
    low_bps: float
    high_bps: float


def swing_of(rates_bps: NDArray[np.float64], *, known: NDArray[np.bool_]) -> Swing:
    """Return the mean rate of a job's ports above what they move between bursts.

    Parameters
    ----------
    rates_bps
        Of each port, moved to where they burst at once, shape (n_ports, n_ticks).
    known
        Ticks that all ports have, shape (n_ticks,).

    Notes
    -----
    Other traffic of a port between bursts is not the job's, be it steady or noise. The lowest ticks of a port are those
    where its noise is lowest: they would give the rest of it to the job. Hence quiet ticks of a port are told from what
    all others of the job do then, whose noise is not its own: two levels that part their rates best [1]_.

    References
    ----------
    .. [1] N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
       Cybernetics 9 (1979).
    """
    known = known if known.any() else np.ones_like(known)
    floors = np.array(
        [_floors(rate, gate, known=known) for rate, gate in zip(rates_bps, _gates(rates_bps), strict=True)]
    )
    mean_bps, (told, low, high) = float(rates_bps.mean()), np.maximum(0.0, floors.mean(axis=0))
    # Where ticks are interpolated the rate swings below 0; no port moves less than nothing.
    return Swing(mean_bps=mean_bps - float(told), low_bps=mean_bps - float(high), high_bps=mean_bps - float(low))


def _gates(rates_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean rate of all other ports for each, shape (n_ports, n_ticks)."""
    if len(rates_bps) == 1:
        return rates_bps
    gates: NDArray[np.float64] = (rates_bps.sum(axis=0) - rates_bps) / (len(rates_bps) - 1)
    return gates


def _floors(
    rate_bps: NDArray[np.float64], gate_bps: NDArray[np.float64], *, known: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return what a port moves between bursts, and the least and the most that it may be."""
    is_down = gate_bps <= _parting(gate_bps[known])
    far, near = (rate_bps[known & _off(is_down, n_ticks=n)] for n in (FAR_TICKS, NEAR_TICKS))
    n_least = MIN_QUIET_FRAC * np.count_nonzero(known)
    if far.size >= n_least:
        told = float(far.mean())
        error = float(2 * far.std() / np.sqrt(far.size))
        around = (told - error, told + error, float(np.median(near)))
        return told, min(around), max(around)
    quiet = near if near.size >= n_least else rate_bps[known & is_down]
    told = float(np.median(quiet))
    return told, min(told, float(np.quantile(rate_bps[known], LOW_QUANTILE))), max(told, float(quiet.mean()))


def _off(is_down: NDArray[np.bool_], *, n_ticks: int) -> NDArray[np.bool_]:
    """Return the ticks with so many quiet ones to each side."""
    off = is_down.copy()
    for by in range(1, n_ticks + 1):
        off &= np.roll(is_down, by) & np.roll(is_down, -by)
    return off


def _parting(values: NDArray[np.float64]) -> float:
    """Return the highest of the lower of two classes into which values fall, with the least spread within them."""
    ordered = np.sort(values)
    if ordered.size < 2 or ordered[0] == ordered[-1]:
        return float(ordered[-1])
    total, n_low = np.cumsum(ordered), np.arange(1, ordered.size)
    n_high = ordered.size - n_low
    apart = (total[-1] - total[:-1]) / n_high - total[:-1] / n_low
    return float(ordered[np.argmax(n_low * n_high * apart**2)])
