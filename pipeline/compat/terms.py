"""`Terms`: what is asked of an answer about a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.compat.plateaus import TOLERANCE_FRAC
from pipeline.compat.robust import JITTER_FRAC
from profiler.errors import UsageError

__all__ = ["Terms"]

HORIZONS_S: Final = (1e-6, 1e9)
"""Shortest and longest that can be answered on a clock of whole nanoseconds."""

MAX_JITTER_FRAC: Final = 0.5
"""An error of half a period to both sides is any phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is asked of an answer.

    Parameters
    ----------
    capacity_bps
        Of the link.
    horizon_s
        Time over which shifts are to be the best; None for as long as they can be.
    jitter_frac
        By how much of its period each job may be off its shift, for the robust scores.
    tolerance_frac
        Share of the capacity by which a good shift may score lower than the best.

    Raises
    ------
    UsageError
        If any of them is out of range.
    """

    capacity_bps: float
    horizon_s: float | None = None
    jitter_frac: float = JITTER_FRAC
    tolerance_frac: float = TOLERANCE_FRAC

    def __post_init__(self) -> None:
        if not 0 < self.capacity_bps < float("inf"):
            raise UsageError(f"compat: capacity_bps {self.capacity_bps!r}: must be positive and finite")
        if self.horizon_s is not None and not HORIZONS_S[0] <= self.horizon_s <= HORIZONS_S[1]:
            raise UsageError(
                f"compat: horizon_s {self.horizon_s!r}: must lie in 1 µs to 1e9 s; for ever needs no horizon"
            )
        if not 0 <= self.jitter_frac <= MAX_JITTER_FRAC:
            raise UsageError(
                f"compat: jitter_frac {self.jitter_frac!r}: must lie in 0 to {MAX_JITTER_FRAC} of a period"
            )
        if not 0 <= self.tolerance_frac <= 1:
            raise UsageError(f"compat: tolerance_frac {self.tolerance_frac!r}: must lie in 0 to 1 of the capacity")
