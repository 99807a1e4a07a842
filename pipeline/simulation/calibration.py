"""`calibrate`: what a run that jobs logged tells of their jitter, and of how the link favours older flows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.simulation.iteration_log import check_log
from pipeline.simulation.older_weight import NEUTRAL, WEIGHTS, WeightFit, fit_weight
from pipeline.simulation.replay import replay_sending
from pipeline.simulation.run import source_of
from pipeline.simulation.traffic import traffic_of
from profiler.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.simulation.job import SimulatedJob
    from pipeline.simulation.traffic import Traffic
    from profiler.phases import TrafficProfile

__all__ = ["Calibration", "Habits", "calibrate"]

MAX_ITERATIONS: Final = 2000
"""Of a job that are looked at: the weight is then known to a per cent or two."""

MAX_JITTER_FRAC: Final = 0.99
"""What a simulated job may have."""

HINDERED: Final = 1.001
"""An iteration that sends longer than it would alone by this factor met another one."""

MIN_ALONE: Final = 10
"""Iterations that met no other one, from which what a job does alone can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How a job's iterations alone differ from what its steps say: ``stray_s`` longer in the mean, and by how much.

    ``jitter_frac`` is their standard deviation as a fraction of the natural iteration, the stray time included;
    ``n_alone`` says how many of the ``n_iterations`` met no other job.
    """

    job: str
    jitter_frac: float
    stray_s: float
    n_alone: int
    n_iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The habits of jobs, and how the link favours the older of two flows."""

    habits: tuple[Habits, ...]
    fit: WeightFit
    warnings: tuple[str, ...] = ()

    @property
    def older_weight(self) -> float:
        """Weight of the older of two flows; 1 where the run does not tell it from 1."""
        return self.fit.weight

    def apply(self, jobs: Sequence[SimulatedJob]) -> list[SimulatedJob]:
        """Return jobs with the jitter and the mean delay that were measured of them."""
        habits = {one.job: one for one in self.habits}
        return [_with_habits(job, habits[job.name]) if job.name in habits else job for job in jobs]

    def to_dict(self) -> dict[str, Any]:
        """Return what a document says of the calibration."""
        return {
            "older_weight": self.fit.weight,
            "older_weight_low": self.fit.low,
            "older_weight_high": self.fit.high,
            "error_s": self.fit.error_s,
            "neutral_error_s": self.fit.neutral_error_s,
            "n_meetings": self.fit.n_meetings,
            "jobs": [asdict(one) for one in self.habits],
        }


def calibrate(
    jobs: Traffic | Sequence[SimulatedJob] | Mapping[str, TrafficProfile],
    *,
    log: Mapping[str, NDArray[np.float64]],
    capacity_bps: float | Mapping[str, float] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Calibration:
    """Tell the jitter of jobs and the weight of older flows from a run in which nobody was paced.

    Parameters
    ----------
    jobs
        The jobs as they are alone, or the profile of each; or the traffic of links, which knows its capacities.
    log
        When each iteration of each job began, first sent, and ended, in seconds on one clock, shape (n_iterations, 3);
        see `read_log`.
    capacity_bps
        Capacity of each link in bit/s, or of the one link that all jobs cross.
    rng
        Source of the resamples, or its seed; by default always the same.

    Raises
    ------
    BadInput
        If the log has too few iterations of a job, or its times go back.
    UsageError
        If the log is of other jobs, or a job is paced: what it waits for is then no jitter.

    Notes
    -----
    Each iteration is sent once more by the model, from the moment at which it was sent, for each of many weights. The
    weight is that whose sending times are nearest to the log's in iterations that met another one (`fit_weight`).
    Jitter and mean delay are those of computing, and of sending where nobody was met. Cost: a replay a weight.
    """
    traffic = traffic_of(jobs, capacity_bps=capacity_bps)
    check_log(log)
    _check_jobs(traffic.jobs, log=log)
    used = {job: times_s[:MAX_ITERATIONS] for job, times_s in log.items()}
    sent_s = [
        replay_sending(traffic.jobs, log=used, free_bps=traffic.free_bps, older_weight=weight) for weight in WEIGHTS
    ]
    errors = [_errors(job, used, sent_s) for job in traffic.jobs]
    fit = fit_weight([one.off_s[:, one.is_met] for one in errors], rng=source_of(rng))
    habits = tuple(
        _habits(job, used[job.name], one, i_weight=WEIGHTS.index(fit.weight))
        for job, one in zip(traffic.jobs, errors, strict=True)
    )
    told = (fit.warning,) if fit.warning else ()
    return Calibration(habits=habits, fit=fit, warnings=(*traffic.warnings, *told, *_warnings(habits)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Errors:
    """How much longer the model sends than was measured, shape (n_weights, n_used), and which met another job."""

    off_s: NDArray[np.float64]
    is_met: NDArray[np.bool_]


def _check_jobs(jobs: Sequence[SimulatedJob], *, log: Mapping[str, NDArray[np.float64]]) -> None:
    names = {job.name for job in jobs}
    if names != log.keys():
        raise UsageError(
            f"calibrate: the log is of {', '.join(sorted(log))}, the jobs are {', '.join(sorted(names)) or 'none'}; "
            "give the log of these jobs, with all that share the links"
        )
    for job in jobs:
        if job.pace is not None:
            raise UsageError(f"calibrate: job {job.name} is paced; give the log of a run without pacers")


def _errors(
    job: SimulatedJob, log: Mapping[str, NDArray[np.float64]], sent_s: Sequence[Mapping[str, NDArray[np.float64]]]
) -> _Errors:
    """Compare over the time in which all jobs were logged: what others did before and after is not known."""
    times_s = log[job.name]
    began_s, ended_s = max(one[0, 0] for one in log.values()), min(one[-1, 2] for one in log.values())
    is_used = (times_s[:, 1] >= began_s) & (times_s[:, 2] <= ended_s)
    measured_s = (times_s[:, 2] - times_s[:, 1])[is_used]
    modelled_s = np.array([one[job.name][is_used] for one in sent_s])
    alone_s = job.natural_s - job.steps[0].down_s
    return _Errors(off_s=modelled_s - measured_s, is_met=modelled_s[NEUTRAL] > alone_s * HINDERED)


def _habits(job: SimulatedJob, times_s: NDArray[np.float64], errors: _Errors, *, i_weight: int) -> Habits:
    computed_s = times_s[1:, 1] - times_s[:-1, 2]
    n_alone = int(np.count_nonzero(~errors.is_met))
    late_s = -errors.off_s[i_weight, ~errors.is_met if n_alone >= MIN_ALONE else slice(None)]
    if not late_s.size:
        late_s = np.zeros(1)
    stray_s = float(computed_s.mean()) - float(job.steps[0].down_s) + float(late_s.mean())
    spread_s = math.hypot(float(computed_s.std()), float(late_s.std()))
    return Habits(
        job=job.name,
        jitter_frac=spread_s / float(_strayed(job, stray_s).natural_s),
        stray_s=stray_s,
        n_alone=n_alone,
        n_iterations=errors.is_met.size,
    )


def _warnings(habits: Sequence[Habits]) -> Iterator[str]:
    for one in habits:
        if one.n_alone < MIN_ALONE:
            yield (
                f"job {one.job}: only {one.n_alone} of {one.n_iterations} iterations met no other job, so that its "
                "jitter holds what the model gets wrong of meetings too; log the job alone to know it"
            )


def _with_habits(job: SimulatedJob, habits: Habits) -> SimulatedJob:
    return replace(_strayed(job, habits.stray_s), jitter_frac=min(habits.jitter_frac, MAX_JITTER_FRAC))


def _strayed(job: SimulatedJob, stray_s: float) -> SimulatedJob:
    first, *others = job.steps
    return replace(job, steps=(replace(first, down_s=max(0.0, first.down_s + stray_s)), *others))
