"""`Deadline`: how long an answer may take. Numerics ask whether it is over, and never read a clock themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from profiler.errors import UsageError

__all__ = ["NEVER", "Deadline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """An instant on a clock, after which the best answer so far is to be given.

    Parameters
    ----------
    start_s, end_s
        When the work began and when it should end, on the clock.
    clock_s
        Returns the present time in seconds; never goes back.
    """

    start_s: float
    end_s: float
    clock_s: Callable[[], float]

    @classmethod
    def after(cls, budget_s: float | None, *, clock_s: Callable[[], float] = time.monotonic) -> Self:
        """Return the deadline that far from now, or one that never comes if no budget is given.

        Raises
        ------
        UsageError
            If the budget is not positive.

        Examples
        --------
        >>> Deadline.after(2.0, clock_s=lambda: 5.0).is_over()
        False
        """
        if budget_s is not None and not budget_s > 0:
            raise UsageError(f"budget_s {budget_s!r}: must be positive; give seconds, or none for no limit")
        start_s = clock_s()
        return cls(start_s=start_s, end_s=math.inf if budget_s is None else start_s + budget_s, clock_s=clock_s)

    @property
    def is_finite(self) -> bool:
        """Whether it ever comes."""
        return self.end_s < math.inf

    def is_over(self) -> bool:
        """Return whether the time is up."""
        return self.is_finite and self.clock_s() >= self.end_s

    def elapsed_s(self) -> float:
        """Return the time since the work began, in seconds."""
        return self.clock_s() - self.start_s


NEVER: Final = Deadline(start_s=0.0, end_s=math.inf, clock_s=lambda: 0.0)
"""For work that ends by itself."""
