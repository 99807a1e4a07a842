"""`Tally`: what a plan costs every link, and the least that any plan could cost it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.options import Objective

__all__ = ["ROUNDING", "Tally"]

ROUNDING: Final = 1e-12
"""Scores that differ by less are one, and links that lose less together lose nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """Links and what they lose; every array is float64, shape (n_links,).

    Parameters
    ----------
    weight
        What each link counts in the mean.
    excess, bound
        Mean excess of demand with the plan, and the least that any shifts could have on that link alone, as fractions
        of its capacity.
    score_random
        Score of each link if nobody is shifted; NaN where it was not told.
    """

    weight: NDArray[np.float64]
    excess: NDArray[np.float64]
    bound: NDArray[np.float64]
    score_random: NDArray[np.float64]

    @classmethod
    def of_all(cls, parts: Iterable[Tally]) -> Self:
        """Return one tally of the links of several."""
        rows = [np.stack([part.weight, part.excess, part.bound, part.score_random]) for part in parts]
        weight, excess, bound, score_random = np.concatenate([np.zeros((4, 0)), *rows], axis=1)
        return cls(weight=weight, excess=excess, bound=bound, score_random=score_random)

    @property
    def lost(self) -> NDArray[np.float64]:
        """How far each link may lie below its own best."""
        return np.maximum(0.0, self.excess - self.bound)

    def score(self, objective: Objective) -> float:
        """Return the weighted mean of the links' scores, or the worst of them; 1 where there is no link."""
        return self._value(1 - self.excess, objective)

    def best_score(self, objective: Objective) -> float:
        """Return a score that no shifts can exceed."""
        return self._value(1 - np.minimum(self.bound, self.excess), objective)

    def random_score(self, objective: Objective) -> float | None:
        """Return the score if nobody is shifted; None where that of some link was not told."""
        value = self._value(self.score_random, objective)
        return None if np.isnan(value) else value

    def costs_less(self, than: Tally, objective: Objective) -> bool:
        """Return whether these shifts serve the objective better than others, by more than rounding.

        Where the worst link is served alike, the mean decides.
        """
        gain = self.score(objective) - than.score(objective)
        if objective == "worst" and abs(gain) <= ROUNDING:
            gain = self.score("mean") - than.score("mean")
        return gain > ROUNDING

    def _value(self, scores: NDArray[np.float64], objective: Objective) -> float:
        if not scores.size:
            return 1.0
        return float(scores.min()) if objective == "worst" else float(scores @ self.weight / self.weight.sum())
