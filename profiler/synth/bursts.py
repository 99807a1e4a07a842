"""`Burst`: one Up phase of an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from profiler.errors import UsageError

__all__ = ["Burst"]

ROUNDING: Final = 1e-9
"""Fractions that should add up to one may exceed it by this."""


@dataclass(frozen=True, slots=True)
class Burst:
    """One Up phase of an iteration, as fractions of its nominal period, and its rate in bit/s.

    Raises
    ------
    UsageError
        If it does not lie within its iteration, has no width, or its rate is negative.
    """

    start_frac: float
    width_frac: float
    rate_bps: float

    def __post_init__(self) -> None:
        if not (self.start_frac >= 0 and self.width_frac > 0 and self.end_frac <= 1 + ROUNDING):
            raise UsageError(
                f"Burst({self.start_frac}, {self.width_frac}): must have a width and lie within its iteration, 0 to 1"
            )
        if not 0 <= self.rate_bps < float("inf"):
            raise UsageError(f"Burst: rate_bps {self.rate_bps} must be finite and not negative")

    @property
    def end_frac(self) -> float:
        """Where it ends, as a fraction of the nominal period."""
        return self.start_frac + self.width_frac
