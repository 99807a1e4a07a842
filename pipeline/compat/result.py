"""`Compatibility`: how well the jobs of one link fit together, and the shifts that make them fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from profiler.results import Tabular, json_ready

__all__ = ["VERDICTS", "Compatibility", "JobShift", "Verdict"]

Verdict = Literal["uncontended", "compatible", "paced", "futile", "overloaded", "unknown"]
VERDICTS: Final[tuple[Verdict, ...]] = ("uncontended", "compatible", "paced", "futile", "overloaded", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShift:
    """Advice for one job: begin the first Up phase ``shift_s`` after the common anchor.

    ``pace_period_s`` is the slot period to hold (None: do not pace) and ``stretch_frac`` what that adds to the job's
    own period, as a fraction of it.
    """

    job: str
    shift_s: float
    pace_period_s: float | None = None
    stretch_frac: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility(Tabular):
    """Scores, verdict and shifts of the jobs on one link.

    Scores are ``1 - E/C`` with E the mean excess of demand over the capacity C (DESIGN section 5); None where a score
    cannot be said. ``gap`` certifies ``score_best``: no shifts score more than ``score_best + gap``. ``horizon_s``
    and ``hold_s`` are infinite where a shift lasts for ever.
    """

    capacity_bps: float
    verdict: Verdict
    jobs: tuple[str, ...]
    shifts: tuple[JobShift, ...]
    score_best: float | None
    score_random: float | None
    score_now: float | None = None
    score_cassini: float | None = None
    score_paced: float | None = None
    score_robust: float | None = None
    gap: float | None = None
    horizon_s: float | None = None
    hold_s: float | None = None
    link: str | None = None
    direction: str | None = None
    predicted: Mapping[str, float] = field(default_factory=dict)
    """What the simulator says, such as ``{"p90_now_s": …, "p90_paced_s": …, "speedup_p90": …}``."""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    method: str = ""

    @property
    def shifts_s(self) -> dict[str, float]:
        """Shift of each job in seconds."""
        return {shift.job: shift.shift_s for shift in self.shifts}

    def to_dict(self) -> dict[str, Any]:
        """Return the ``compat`` document of DESIGN section 6."""
        raise NotImplementedError

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        raise NotImplementedError
