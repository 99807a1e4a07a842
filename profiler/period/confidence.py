"""How sure an answer is: the chance that its period is right within 2 %.

A logistic model of what the answer rests on, fitted to labelled traffic of every family of `profiler.synth`, periodic
or not (`tests/bench` draws its reliability on seeds that it was not fitted on).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from profiler.period.choice import Choice

__all__ = ["CONFIDENCE_ACCEPT", "EVIDENCE_ALONE", "Z_ALONE", "confidence", "is_enough"]

CONFIDENCE_ACCEPT: Final = 0.6
"""An answer less sure than this is none."""
EVIDENCE_ALONE: Final = 8.0
Z_ALONE: Final = 30.0
"""A comb of this evidence is enough without any repetition, a repetition of this z without a comb, and so much of one
as the other lacks: of random traffic, hardly one trace in a thousand has it."""
BIAS: Final = 0.1
COEFFICIENTS: Final = (0.345, -1.76, 3.37)
"""Of log (1 + z), of whether iterations are clocked, and of the log margin."""
MARGINS: Final = (0.3, 4.0)
NO_RIVAL: Final = 3.0
MOST: Final = 0.999
BEYOND_DOUBT: Final = 0.995
"""Of combs so clear that no repetition was looked for, so many are right."""


def is_enough(choice: Choice) -> bool:
    """Return whether a choice has more for it than random traffic does."""
    return choice.evidence / EVIDENCE_ALONE + max(choice.z, 0.0) / Z_ALONE >= 1.0


def confidence(choice: Choice, *, clocked: bool) -> float:
    """Return the chance (0 to 1) that an answer's period is right within 2 %.

    Parameters
    ----------
    choice
        The period as it was chosen, with its evidence.
    clocked
        Whether iterations were taken from the clock, since they could not be told one by one.
    """
    if choice.beyond_doubt:
        return BEYOND_DOUBT
    margin = choice.margin if np.isfinite(choice.margin) else NO_RIVAL
    log_margin = np.log(np.clip(margin, *MARGINS)) if choice.comb else 0.0
    features = (np.log1p(max(choice.z, 0.0)), float(clocked), log_margin)
    log_odds = BIAS + float(np.dot(COEFFICIENTS, features))
    return float(min(MOST, 1 / (1 + np.exp(-log_odds))))
