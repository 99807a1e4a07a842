"""`losses`: the jobs that a plan makes slower than they are when nobody manages them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.compat.prediction import Prediction
    from pipeline.compat.result import JobShift
    from pipeline.simulation import JobRun

__all__ = ["MAX_LOSS_FRAC", "MAX_STRETCH_FRAC", "MIN_SPEEDUP_P90", "Loss", "losses"]

MAX_LOSS_FRAC: Final = 0.01
"""A job that runs longer by less than this is as fast as before: so exact is the simulation."""

MAX_STRETCH_FRAC: Final = 0.15
"""A slot may be longer than the job's own period by more than this only where the job gains by it all the same."""

MIN_SPEEDUP_P90: Final = 1.03
"""What a pacer must bring to be worth its running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A job and its iterations: unmanaged, and as a plan would have them, with the stretch of its slot."""

    now: JobRun
    planned: JobRun
    stretch_frac: float

    @property
    def is_one(self) -> bool:
        """Whether the job is slower in the mean or at the 90th percentile, or stretched for nothing."""
        longest_frac = 1 + MAX_LOSS_FRAC
        if self.planned.mean_s > self.now.mean_s * longest_frac or self.planned.p90_s > self.now.p90_s * longest_frac:
            return True
        return self.stretch_frac > MAX_STRETCH_FRAC and self.now.p90_s < MIN_SPEEDUP_P90 * self.planned.p90_s


def losses(prediction: Prediction, shifts: Sequence[JobShift]) -> list[Loss]:
    """Return the jobs that lose by a plan, the worst in the mean first."""
    stretch_frac = {shift.job: shift.stretch_frac or 0.0 for shift in shifts}
    runs = zip(prediction.now, prediction.planned, strict=True)
    each = [Loss(now=now, planned=planned, stretch_frac=stretch_frac.get(now.job, 0.0)) for now, planned in runs]
    return sorted(
        filter(lambda loss: loss.is_one, each),
        key=lambda loss: (-loss.planned.mean_s / loss.now.mean_s, loss.now.job),
    )
