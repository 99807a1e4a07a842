"""The claim of the field, measured: iteration times of the same jobs unmanaged and paced, rounds interleaved."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from profiler.errors import BadInput
from profiler.pacer import PlanError
from profiler.units import parse_duration_s
from tests.rig.spec import Pace
from tests.rig.truth import Truth, require_iterations, summary_s, write_truth

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rig.rig import Rig
    from tests.rig.spec import JobSpec

__all__ = [
    "Claim",
    "Mode",
    "Round",
    "Runs",
    "draw_jobs",
    "measure",
    "measure_claim",
    "paces_from_plan",
    "paces_from_slots",
]

Mode = Literal["unmanaged", "paced"]
PACER_COUNTS: Final = ("n_adjustments", "adjustments_per_min", "n_let_go", "own_iteration_s")
"""What is told of a pacer's statistics."""
_SETTLE_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How the two modes are compared.

    ``seconds`` is the length of a run; two more at its start are not counted. Jobs start at offsets drawn from
    [0, ``offset_spread_s``): about a period, so that chance decides how they meet. ``keep`` is a folder that gets the
    counters and truth of each run.
    """

    n_rounds: int
    seconds: float
    offset_spread_s: float = 0.25
    seed: int = 0
    keep: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One run of all jobs: what each job's iterations took in seconds, and its pacer's statistics at the end."""

    i_round: int
    mode: Mode
    durations_s: Mapping[str, list[float]]
    pacers: Mapping[str, Mapping[str, Any]]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job."""
        head = {"round": self.i_round, "mode": self.mode}
        return [
            {**head, "job": job, **summary_s(durations_s), **{name: self.pacers[job][name] for name in PACER_COUNTS}}
            for job, durations_s in self.durations_s.items()
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """All rounds, and the two modes compared."""

    rounds: tuple[Round, ...]

    def pooled_s(self, mode: Mode, job: str | None = None) -> dict[str, float]:
        """Return count, p50, p90 and mean of a mode's iterations over all rounds, of one job or of all."""
        return summary_s(
            [
                duration_s
                for run in self.rounds
                if run.mode == mode
                for name, durations_s in run.durations_s.items()
                if job in (None, name)
                for duration_s in durations_s
            ]
        )

    def speedup(self, job: str | None = None) -> dict[str, float]:
        """Return unmanaged over paced iteration time: above one, pacing helps."""
        unmanaged, paced = self.pooled_s("unmanaged", job), self.pooled_s("paced", job)
        return {key.removesuffix("_s"): unmanaged[key] / paced[key] for key in ("p50_s", "p90_s", "mean_s")}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a round, mode and job."""
        return [row for run in self.rounds for row in run.to_rows()]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        jobs = list(self.rounds[0].durations_s)
        pooled = [
            {"job": job, "mode": mode, **self.pooled_s(mode, job)} for job in (*jobs, None) for mode in get_args(Mode)
        ]
        speedups = [{"job": job, **self.speedup(job)} for job in (*jobs, None)]
        return {"kind": "claim", "version": 1, "rounds": self.to_rows(), "pooled": pooled, "speedup": speedups}


def paces_from_plan(plan: Path, jobs: Iterable[str]) -> dict[str, Pace]:
    """Return the pace of each job in a plan file.

    Raises
    ------
    BadInput
        If the plan cannot be followed, or leaves a job unpaced, so that there is nothing to compare.
    """
    paces = {job: Pace(plan=str(plan.resolve())) for job in jobs}
    for job, pace in paces.items():
        try:
            is_on = pace.to_pacer(job).is_on
        except PlanError as error:
            raise BadInput(str(error)) from error
        if not is_on:
            raise BadInput(f"{plan}: does not pace job {job}; there is nothing to compare")
    return paces


def paces_from_slots(period_s: float, shifts: Iterable[str], jobs: Iterable[str]) -> dict[str, Pace]:
    """Return paces of one period, the shifts given as ``JOB=DURATION``; other jobs have no shift.

    Raises
    ------
    BadInput
        If a shift is not of that form, or of no job.
    """
    paces = {job: Pace(period_s=period_s) for job in jobs}
    for text in shifts:
        job, _, duration = text.partition("=")
        if job not in paces or not duration:
            raise BadInput(f"shift {text!r}: expected JOB=DURATION with a job of {', '.join(paces)}, such as B=133ms")
        paces[job] = Pace(period_s=period_s, shift_s=parse_duration_s(duration))
    return paces


def measure_claim(rig: Rig, paces: Mapping[str, Pace], runs: Runs) -> Iterator[Round]:
    """Run the rig's jobs unmanaged and paced by turns, and yield each run as it ends.

    Parameters
    ----------
    rig : Rig
        A rig that stands.
    paces : mapping of str to Pace
        How each job is paced in the paced runs.
    runs : Runs
        How many, how long.

    Notes
    -----
    Both runs of a round have the same start offsets and jitter, drawn anew for each round. Every other round begins
    with the paced run, so that slow drifts of the machine cancel.
    """
    draws = random.Random(runs.seed)  # noqa: S311 - not cryptography
    for i_round in range(runs.n_rounds):
        jobs = draw_jobs(rig.spec.jobs, draws, i_round=i_round, spread_s=runs.offset_spread_s)
        for mode in get_args(Mode) if i_round % 2 == 0 else get_args(Mode)[::-1]:
            stem = runs.keep / f"round{i_round}_{mode}" if runs.keep else None
            held = paces if mode == "paced" else {}
            yield measure(rig, jobs, held, i_round=i_round, seconds=runs.seconds, stem=stem)


def draw_jobs(jobs: Iterable[JobSpec], draws: random.Random, *, i_round: int, spread_s: float) -> list[JobSpec]:
    """Return jobs with the start offsets and the jitter of a round."""
    return [replace(job, offset_s=draws.uniform(0, spread_s), seed=i_round) for job in jobs]


def measure(
    rig: Rig,
    jobs: Iterable[JobSpec],
    paces: Mapping[str, Pace],
    *,
    i_round: int,
    seconds: float,
    stem: Path | None = None,
) -> Round:
    """Run jobs for a time, paced as given or unmanaged if no pace is, and return what their iterations took.

    Parameters
    ----------
    rig : Rig
        A rig that stands.
    jobs : iterable of JobSpec
        What to run.
    paces : mapping of str to Pace
        How each job is paced.
    i_round : int
        Number of the round, for the answer.
    seconds : float
        Length of what is measured, after two seconds more.
    stem : Path or None
        Where to keep the counters (``.csv.gz``) and truth (``.truth.json``); None samples no counters.

    Raises
    ------
    RigError
        If a job makes fewer than two iterations.
    """
    held = [replace(job, pace=paces.get(job.name)) for job in jobs]
    mode: Mode = "paced" if paces else "unmanaged"
    return _round(_run(rig, held, seconds=seconds, stem=stem), i_round=i_round, mode=mode)


def _run(rig: Rig, jobs: list[JobSpec], *, seconds: float, stem: Path | None) -> Truth:
    rig.start(jobs)
    time.sleep(_SETTLE_S)
    if stem is None:
        from_ns = time.time_ns()
        time.sleep(seconds)
        covered_ns = from_ns, time.time_ns()
    else:
        covered_ns = rig.sample(seconds, stem.with_suffix(".csv.gz"))
    truth = {job: told.between(*covered_ns) for job, told in rig.stop().items()}
    if stem is not None:
        write_truth(stem.with_suffix(".truth.json"), truth)
    return truth


def _round(truth: Truth, *, i_round: int, mode: Mode) -> Round:
    require_iterations(truth, f"round {i_round}, {mode}")
    return Round(
        i_round=i_round,
        mode=mode,
        durations_s={job: told.durations_s() for job, told in truth.items()},
        pacers={job: told.pacer for job, told in truth.items()},
    )
