"""The typical iteration, and how well a stretch of traffic matches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from profiler.period.bursts import runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FLAT_FRAC", "LEAD_FRAC", "Shape", "fold"]

LEAD_FRAC: Final = 0.25
"""Part of the iteration's last Down stretch that stands before its first burst, so that the onset is in the shape."""
FLAT_FRAC: Final = 0.04
"""A stretch with a smaller part of the shape's variance is no burst, however well it correlates."""
LOW_FRAC: Final = 0.1
"""A tenth of the iteration at least is Down."""
SLACK_FRAC: Final = 0.12
"""Iterations are sought so far from an even beat: jitter of 5 % adds up to that in the four and more of a piece."""
PIECE_PERIODS: Final = 4
N_SLACK: Final = 3
"""Steps of that search on either side: a twenty-fifth of a period off costs bursts little of their fit."""
GAIN: Final = 0.1
"""Weight of the newest iteration in the shape: it follows what changes over some ten iterations."""


class Shape:
    """The rate of a typical iteration, from a quarter of a period before its first burst on.

    Parameters
    ----------
    rate_bps
        Rates over one period, starting with the first burst, shape (n_bins,); at least four bins.

    Attributes
    ----------
    rate_bps
        Rates over one period, from a quarter of a period before the first burst on.
    low_bps
        Rate of the Down phases.
    excess_bps
        Mean rate above that.
    variance
        Variance of the rate over an iteration.
    """

    def __init__(self, rate_bps: NDArray[np.float64]) -> None:
        self.n_bins = rate_bps.size
        self.lead = round(LEAD_FRAC * self.n_bins)
        self._set(np.roll(rate_bps, self.lead))

    def match(self, rate_bps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the correlation (-1 to 1) of the shape with the rates from each bin on, where a period is left.

        Stretches with unknown rates (NaN) match nothing, -1.
        """
        windows = sliding_window_view(rate_bps, self.n_bins)
        variance = np.maximum(windows.var(axis=1), FLAT_FRAC * self.variance)
        products = windows @ self._centred / self.n_bins
        correlation: NDArray[np.float64] = products / np.sqrt(variance * max(self.variance, np.finfo(float).tiny))
        return np.nan_to_num(np.clip(correlation, -1.0, 1.0), nan=-1.0)

    def likeness_to_part(self, n_parts: int) -> float:
        """Return the correlation of the shape with itself a whole part of the period later: 1 if the part repeats."""
        turned = np.roll(self._centred, round(self.n_bins / n_parts))
        return float(self._centred @ turned) / self.n_bins / max(self.variance, np.finfo(float).tiny)

    def part_in(self, rate_bps: NDArray[np.float64], *, start: float, length: float) -> tuple[float, float]:
        """Return how much of the shape is in traffic at an even beat, whatever else is there.

        Parameters
        ----------
        rate_bps
            Rates of bins that follow one another; unknown ones are NaN, and not all of them; shape (n_bins,).
        start
            Where an iteration begins with its first burst, in bins from the first rate on; may be negative.
        length
            Bins from one iteration to the next.

        Returns
        -------
        part
            Mean coefficient of least-squares fits of the repeated shape to pieces of a few iterations: 1 if all of it
            is there.
        off
            How much later than an even beat from ``start`` on the last piece has it, in bins.
        """
        n_pieces = max(1, round(rate_bps.size / (PIECE_PERIODS * length)))
        pieces, parts, off = np.array_split(np.arange(rate_bps.size), n_pieces), [], 0.0
        for piece in pieces:
            # Each goes on from where the one before was: jitter adds up.
            part, later = self._part_in_piece(rate_bps[piece], start=start + off - piece[0], length=length)
            parts.append(part)
            off += later
        return float(np.mean(parts)), off

    def follow(self, rate_bps: NDArray[np.float64]) -> None:
        """Take an iteration, from a quarter of a period before its first burst on, into the mean."""
        self._set((1 - GAIN) * self.rate_bps + GAIN * rate_bps)

    def _set(self, mean_bps: NDArray[np.float64]) -> None:
        self.rate_bps = mean_bps
        level_bps = float(mean_bps.mean())
        self._centred = mean_bps - level_bps
        self.variance = float(mean_bps.var())
        self.low_bps = float(np.sort(mean_bps)[int(LOW_FRAC * mean_bps.size)])
        self.excess_bps = level_bps - self.low_bps

    def _part_in_piece(self, rate_bps: NDArray[np.float64], *, start: float, length: float) -> tuple[float, float]:
        rate_bps = np.nan_to_num(rate_bps - np.nanmean(rate_bps))
        repeated = np.concatenate((self.rate_bps[-1:], self.rate_bps, self.rate_bps[:1]))
        places = np.arange(rate_bps.size) + self.lead - start
        best = (-np.inf, 0.0)
        for off in np.arange(-SLACK_FRAC, SLACK_FRAC + 1e-9, SLACK_FRAC / N_SLACK) * length:
            shape_bps = np.interp((places - off) / length % 1 * self.n_bins, np.arange(self.n_bins + 2) - 1, repeated)
            shape_bps -= shape_bps.mean()
            part = float(rate_bps @ shape_bps) / max(float(shape_bps @ shape_bps), np.finfo(float).tiny)
            best = max(best, (part, float(off)))
        return best


def fold(rate_bps: NDArray[np.float64], *, n_bins: int) -> tuple[NDArray[np.float64], int]:
    """Return the mean of iterations of ``n_bins`` bins that follow one another, turned so that a burst comes first.

    Returns
    -------
    rate_bps
        Mean rates over one period, from the first burst after the longest Down stretch on, shape (n_bins,).
    turned
        Bins from the start of the given rates to the first such burst.
    """
    n_cycles = rate_bps.size // n_bins
    mean_bps = rate_bps[: n_cycles * n_bins].reshape(n_cycles, n_bins).mean(axis=0)
    turned = _first_burst(mean_bps > 0.5 * (mean_bps.min() + mean_bps.max()))
    return np.roll(mean_bps, -turned), turned


def _first_burst(up: NDArray[np.bool_]) -> int:
    """Return the bin after the longest Down stretch of a circular mask; 0 if there is none."""
    if up.all() or not up.any():
        return 0
    first = int(np.argmax(up))
    down = runs(~np.roll(up, -first))
    longest = int(np.argmax(down[:, 1] - down[:, 0]))
    return (first + int(down[longest, 1])) % up.size
