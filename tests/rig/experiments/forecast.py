"""`Forecast`: what the pipeline says of jobs whose counters were measured, before anything is done to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.compat.levels import Excess
from pipeline.compat.paced import paced_shifts
from pipeline.compat.prediction import predict
from pipeline.flow import analyze
from profiler.importers.ingest import ingest
from tests.rig.errors import RigError
from tests.rig.network import SWITCHES

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.compat import JobShift
    from pipeline.compat.prediction import Prediction
    from profiler.phases import TrafficProfile

__all__ = ["TRUNK_LINK", "Forecast", "forecast"]

TRUNK_LINK = "trunk"
"""The link of the rig's cluster file on which the jobs meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Verdict, slots and simulated iteration times of the jobs on the trunk.

    ``verdicts`` maps a direction of the trunk to its verdict; the rest is told of the first of them. ``shifts`` are the
    slots to hold: those of the plan if it paces every job (``is_advised``), else those that would be held if pacing
    were advised, to check the verdict; empty, and nothing predicted, where a job has no period.
    """

    verdicts: Mapping[str, str]
    reason: str
    scores: Mapping[str, float | None]
    profiles: Mapping[str, TrafficProfile]
    shifts: tuple[JobShift, ...]
    is_advised: bool
    prediction: Prediction | None

    @property
    def verdict(self) -> str:
        """The verdict on the trunk."""
        return next(iter(self.verdicts.values()))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        slots = {shift.job: shift for shift in self.shifts}
        return {
            "verdict": self.verdict,
            "verdicts": dict(self.verdicts),
            "reason": self.reason,
            "is_pacing_advised": self.is_advised,
            **self.scores,
            "jobs": [_job_row(job, profile, slots.get(job)) for job, profile in self.profiles.items()],
        }


def forecast(counters: Path, *, cluster: Path, lake: Path, seed: int = 0) -> Forecast:
    """Profile the jobs from counters of the rig's first switch, and predict what pacing would do to them.

    Parameters
    ----------
    counters : Path
        Counters of a run of the jobs together, unmanaged.
    cluster : Path
        The rig's cluster file.
    lake : Path
        Folder for a new lake.
    seed : int
        Of the simulation.

    Raises
    ------
    RigError
        If the analysis does not see the jobs meet on the trunk.
    """
    ingest(counters, lake=lake, host=SWITCHES[0])
    analysis = analyze(lake, cluster=cluster)
    links = {link.direction: link for link in analysis.links if link.link == TRUNK_LINK}
    if not links:
        raise RigError(f"{counters}: no jobs were seen to meet on the trunk; {analysis.skipped}")
    link = next(iter(links.values()))
    shifts, is_advised = _slots(analysis, link)
    found = link.compatibility
    return Forecast(
        verdicts={direction: each.compatibility.verdict for direction, each in links.items()},
        reason=found.reason,
        scores={name: getattr(found, name) for name in ("score_now", "score_random", "score_best", "score_paced")},
        profiles=link.demands,
        shifts=shifts,
        is_advised=is_advised,
        prediction=_predicted(link, shifts, seed=seed),
    )


def _slots(analysis: Analysis, link: LinkAnalysis) -> tuple[tuple[JobShift, ...], bool]:
    """Return the slots of the link's jobs, and whether the plan holds them to these."""
    planned = tuple(shift for shift in analysis.plan.shifts if shift.job in link.demands)
    if len(planned) == len(link.demands) and all(shift.pace_period_s for shift in planned):
        return planned, True
    if any(profile.status != "periodic" for profile in link.demands.values()):
        return (), False
    excess = Excess.over(link.capacity_bps)
    return paced_shifts(link.demands, excess=excess, rng=np.random.default_rng(0)).shifts, False


def _predicted(link: LinkAnalysis, shifts: tuple[JobShift, ...], *, seed: int) -> Prediction | None:
    if not shifts:
        return None
    return predict(link.demands, shifts=shifts, free_bps=link.capacity_bps, rng=np.random.default_rng(seed))


def _job_row(job: str, profile: TrafficProfile, slot: JobShift | None) -> dict[str, Any]:
    return {
        "job": job,
        "status": profile.status,
        "period_s": profile.period_s,
        "measured_own_s": None,
        "duty_frac": profile.duty_frac,
        "jitter_frac": profile.jitter_frac,
        "pace_period_s": slot.pace_period_s if slot else None,
        "shift_s": slot.communication_s if slot else None,
        "stretch_frac": slot.stretch_frac if slot else None,
    }
