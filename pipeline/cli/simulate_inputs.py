"""What ``offbeat simulate`` is given: jobs on a link or in a lake, a plan, and a log to calibrate by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from pipeline.simulation import Calibration, Traffic
    from pipeline.simulation.plan import PlannedShift, Shift

__all__ = ["GivenJobs", "calibrated", "jobs_of_lake", "jobs_of_link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenJobs:
    """Jobs to simulate, and the shifts to follow, given or advised; None, and why in ``notes``, where none are."""

    traffic: Traffic
    shifts: Sequence[PlannedShift] | None
    notes: tuple[str, ...] = ()


def jobs_of_link(
    options: Sequence[str], *, capacity: str | None, jitter_frac: float | None, plan: Path | None
) -> GivenJobs:
    """Return the jobs of one link and the shifts of a plan, by default those that ``offbeat compat`` would advise.

    Their jitter is the given one, or else that of their profiles.

    Raises
    ------
    UsageError
        If no job or no capacity is given, or it has no meaning.
    BadInput
        If a profile or the plan cannot be read.
    """
    from pipeline.cli.job_profiles import read_job_profiles
    from pipeline.compat.solve import solve
    from pipeline.simulation import traffic_of
    from pipeline.simulation.job import MAX_JITTER_FRAC
    from profiler.units import parse_rate_bps

    if not options or capacity is None:
        raise UsageError("simulate: give --capacity and the jobs of the link as --job NAME=PROFILE, or --lake")
    capacity_bps = parse_rate_bps(capacity)
    profiles = read_job_profiles(options)
    if jitter_frac is not None:
        if not 0 <= jitter_frac <= MAX_JITTER_FRAC:
            raise UsageError(f"simulate: --jitter {jitter_frac:g}: expected 0 to {MAX_JITTER_FRAC:g} of an iteration")
        profiles = {name: replace(profile, jitter_frac=jitter_frac) for name, profile in profiles.items()}
    traffic = traffic_of(profiles, capacity_bps=capacity_bps)
    if plan is not None:
        return GivenJobs(traffic=traffic, shifts=_shifts_in(plan))
    found = solve(profiles, capacity_bps=capacity_bps)
    if found.advises_shifts:
        return GivenJobs(traffic=traffic, shifts=found.shifts)
    return GivenJobs(traffic=traffic, shifts=None, notes=(f"no plan: {found.verdict}: {found.reason}",))


def jobs_of_lake(lake: Path, *, cluster: Sequence[Path] | None, plan: Path | None) -> GivenJobs:
    """Return the jobs of a lake on all links that they share, and a plan, by default that of a new analysis.

    Raises
    ------
    UsageError
        If no two jobs share a link.
    BadInput
        If a cluster file or the plan cannot be read.
    """
    from pipeline.cli.progress import port_progress
    from pipeline.flow import analyze
    from pipeline.scratch import with_results
    from pipeline.simulation import traffic_on

    given = _shifts_in(plan) if plan is not None else None
    with port_progress() as on_port, with_results(lake) as store:
        analysis = analyze(store, cluster=cluster, on_port=on_port)
    traffic = traffic_on(analysis.links)
    if not traffic.jobs:
        raise UsageError(
            f"simulate: lake {lake}: no job with a period shares a link; see offbeat analyze --lake {lake}"
        )
    if given is not None:
        return GivenJobs(traffic=traffic, shifts=given)
    advised = [shift for shift in analysis.plan.shifts if shift.job in {job.name for job in traffic.jobs}]
    notes = () if advised else ("no plan: the analysis advises no shift; see offbeat analyze",)
    return GivenJobs(traffic=traffic, shifts=advised or None, notes=notes)


def calibrated(traffic: Traffic, *, log: Path | None) -> tuple[Traffic, Calibration | None]:
    """Return the jobs with what a log tells of them; without a log as they are.

    Raises
    ------
    BadInput
        If the file is no log.
    UsageError
        If it is of other jobs.
    """
    from pipeline.simulation import calibrate, read_log

    if log is None:
        return traffic, None
    found = calibrate(traffic, log=read_log(_document(log, what="log the iterations of each job"), place=str(log)))
    return replace(traffic, jobs=tuple(found.apply(traffic.jobs))), found


def _shifts_in(path: Path) -> tuple[Shift, ...]:
    from pipeline.simulation import read_plan

    return read_plan(_document(path, what="write a plan with offbeat analyze --plan"), place=str(path))


def _document(path: Path, *, what: str) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON ({error}); {what}") from None
    if not isinstance(document, dict):
        raise BadInput(f"{path}: expected a JSON object, found {type(document).__name__}; {what}")
    return document
