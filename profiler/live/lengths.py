"""The lengths of followed iterations, and whether the newest ones differ from those before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.live.ring import Ring

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Change", "Lengths"]

N_KEPT: Final = 1024
WINDOWS: Final = (3, 4, 5, 8, 16, 32, 64, 128, 256)
"""Newest iterations that are looked at together: few for a change that is plain, many for a slight one."""
MIN_BEFORE: Final = 8
"""Iterations needed to know how much they vary."""
SIGMAS: Final = 5.0
"""In 7,200 iterations (half an hour of 250 ms) normal jitter reaches this once in some hundred runs."""
MIN_CHANGE_FRAC: Final = 0.03
"""Smaller changes are drift: the phase follows them, and no event tells."""
MIN_SPREAD_FRAC: Final = 0.005
"""An iteration's start is not known better than this fraction of the period."""
FEW: Final = 5
SIDE_FRAC: Final = 0.4
"""A length is on the side of the change if it makes at least this part of the way there."""
MOST_FRAC: Final = 0.6
ALIKE_FRAC: Final = 0.05
ALIKE_SIGMAS: Final = 2.5
"""A few lengths are alike if they spread by no more than this part, or than the job's usual jitter makes likely."""
LATE_FRAC: Final = 0.35
MIN_LATE: Final = 4
"""Lengths so much greater come of bursts that were late, by chance three times in a row: one more is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Another length of iterations, and for how many seconds it has lasted."""

    length_s: float
    lasted_s: float


class Lengths:
    """Lengths of iterations in the order in which they were followed, the newest thousand."""

    def __init__(self) -> None:
        self._ring = Ring(N_KEPT, [np.float64, np.bool_])

    def add(self, length_s: float, *, is_regular: bool) -> None:
        """Take the next length; one that came late or after a gap is not regular and tells nothing of jitter."""
        self._ring.extend(np.array([length_s]), np.array([is_regular]))

    def changed(self) -> Change | None:
        """Return the change if the newest iterations agree on another one than those before, else None.

        Notes
        -----
        The mean of the newest m of relative deviations from the mean before is held against `SIGMAS` standard
        errors, ``sigma sqrt(1/m + 1/n)``; for a few iterations each must be on the side of the change and like the
        others, so that neither one stall nor three different ones are a change.
        """
        lengths_s, is_regular = self._ring.columns()
        for n_newest in WINDOWS:
            before_s = lengths_s[:-n_newest][is_regular[:-n_newest]]
            if before_s.size < MIN_BEFORE:
                return None
            usual_s = float(before_s.mean())
            spread = max(MIN_SPREAD_FRAC, float(before_s.std()) / usual_s)
            off = lengths_s[-n_newest:] / usual_s - 1
            if _is_change(off, spread=spread, n_before=before_s.size):
                return _change(lengths_s, new_s=float(np.median(lengths_s[-n_newest:])), usual_s=usual_s)
        return None

    def forget_irregular(self) -> None:
        """Forget the lengths of iterations that came late."""
        lengths_s, is_regular = self._ring.columns()
        self._keep(lengths_s[is_regular], is_regular[is_regular])

    def forget_newest(self, n_newest: int) -> None:
        """Forget the newest lengths."""
        lengths_s, is_regular = self._ring.columns()
        self._keep(lengths_s[:-n_newest], is_regular[:-n_newest])

    def mean_s(self) -> float | None:
        """Return the mean of regular lengths; None if there are too few."""
        lengths_s, is_regular = self._ring.columns()
        return float(lengths_s[is_regular].mean()) if np.count_nonzero(is_regular) >= MIN_BEFORE else None

    def spread_s(self) -> float | None:
        """Return the standard deviation of regular lengths; None if there are too few."""
        lengths_s, is_regular = self._ring.columns()
        return float(lengths_s[is_regular].std()) if np.count_nonzero(is_regular) >= MIN_BEFORE else None

    def _keep(self, lengths_s: NDArray[np.float64], is_regular: NDArray[np.bool_]) -> None:
        self._ring = Ring(N_KEPT, [np.float64, np.bool_])
        self._ring.extend(lengths_s, is_regular)


def _change(lengths_s: NDArray[np.float64], *, new_s: float, usual_s: float) -> Change:
    """Return the change that began with the first of the newest iterations on the new length's side."""
    on_side = (lengths_s > 0.5 * (new_s + usual_s)) == (new_s > usual_s)
    others = np.flatnonzero(~on_side)
    first = int(others[-1]) + 1 if others.size else 0
    return Change(length_s=new_s, lasted_s=float(lengths_s[first:].sum()))


def _is_change(off: NDArray[np.float64], *, spread: float, n_before: int) -> bool:
    mean = float(off.mean())
    chance = SIGMAS * spread * np.sqrt(1 / off.size + 1 / n_before)
    if abs(mean) < max(MIN_CHANGE_FRAC, chance) or (mean > LATE_FRAC and off.size < MIN_LATE):
        return False
    share = np.mean(off * np.sign(mean) >= SIDE_FRAC * abs(mean))
    if off.size > FEW:
        return bool(share >= MOST_FRAC)
    return bool(share == 1 and off.std() <= (1 + abs(mean)) * max(ALIKE_FRAC, ALIKE_SIGMAS * spread))
