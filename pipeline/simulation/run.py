"""`simulate`: iteration times of jobs that share links, with or without a pacer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.simulation.engine import Iterations, run_jobs
from pipeline.simulation.plan import follow_plan
from pipeline.simulation.result import JobRun, Simulation
from pipeline.simulation.traffic import traffic_of
from pipeline.simulation.workload import MAX_ITERATIONS, check_jobs, draw_delays, extent_of, max_events, world_of
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.simulation.job import SimulatedJob
    from pipeline.simulation.plan import PlannedShift
    from pipeline.simulation.traffic import Traffic
    from pipeline.simulation.workload import World
    from profiler.phases import TrafficProfile

__all__ = ["N_ITERATIONS", "run_traffic", "simulate", "source_of", "tell_short"]

N_ITERATIONS: Final = 1000


def simulate(
    jobs: Sequence[SimulatedJob] | Mapping[str, TrafficProfile],
    *,
    capacity_bps: float | Mapping[str, float],
    plan: Iterable[PlannedShift] | None = None,
    n_iterations: int = N_ITERATIONS,
    older_weight: float = 1.0,
    rng: np.random.Generator | int | None = None,
) -> Simulation:
    """Run jobs on shared links and return their iteration times.

    Parameters
    ----------
    jobs
        The jobs, with their starts, jitter and pacers; or the profile of each, which then starts at its time zero.
        Profiles without a period take their mean rate off every link.
    capacity_bps
        Capacity of each link in bit/s, or of the one link that all jobs cross.
    plan
        Shifts and slots to follow, such as the ``shifts`` of a compatibility or of a plan.
    n_iterations
        Iterations to return of the slowest job; one that is m times as fast returns m times as many. The first one,
        which starts in the middle, is left out.
    older_weight
        Weight of the older of two flows that send at one time against the younger one; see `calibrate`.
    rng
        Source of the jitter, or its seed; by default always the same.

    Returns
    -------
    Simulation
        Samples of each job's iteration time.

    Raises
    ------
    UsageError
        If there is no job, two have one name, a capacity is not positive, a job crosses an unknown link, other traffic
        leaves nothing of a link, the plan is for other jobs, or a job is so slow that it ends no iteration.

    Notes
    -----
    Fluid model: rates are weighted max-min fair at every instant, so that overlap stretches phases but neither grows
    nor shrinks by itself, unless older flows weigh more. Jitter is a delay before an iteration's first Up phase,
    exponential (delays have a long tail to one side) with mean 0 and standard deviation ``jitter_frac`` of the natural
    iteration time; it shortens a Down phase to nothing at most. Cost: O(n_jobs) an event, two events a step.

    Examples
    --------
    >>> from pipeline.simulation.job import SimulatedJob, Step
    >>> vgg = Step(down_s=0.141, volume_bits=0.114 * 400e6, max_bps=400e6)
    >>> jobs = [SimulatedJob(name="A", steps=(vgg,)), SimulatedJob(name="B", steps=(vgg,), start_s=0.1275)]
    >>> simulate(jobs, capacity_bps=400e6)
    Simulation(A p50 0.255 s, p90 0.255 s, B p50 0.255 s, p90 0.255 s)
    """
    traffic = traffic_of(jobs, capacity_bps=capacity_bps)
    found = run_traffic(
        traffic if plan is None else replace(traffic, jobs=tuple(follow_plan(traffic.jobs, plan))),
        n_iterations=n_iterations,
        older_weight=older_weight,
        rng=source_of(rng),
    )
    return tell_short(found, n_wanted=n_iterations)


def run_traffic(traffic: Traffic, *, n_iterations: int, older_weight: float, rng: np.random.Generator) -> Simulation:
    """Run the jobs of some traffic as they are; see `simulate`. Whether they ran for as long as asked is not told."""
    jobs = traffic.jobs
    check_jobs(jobs, capacities=traffic.free_bps)
    extent = extent_of(jobs, n_iterations=n_iterations)
    first = extent.first
    world = world_of(jobs, capacities=traffic.free_bps, older_weight=older_weight, first=first)
    world.network.jobs["n_wanted"] = extent.n_iterations + 1
    kept = Iterations(draw_delays(jobs, first=first, rng=rng), np.zeros(0), np.zeros(first[-1]), np.zeros(first[-1]))
    run_jobs(world.network, world.steps, world.start_s, kept, world.run, max_events(jobs, first=first))
    return _simulation(traffic, world, kept)


def tell_short(found: Simulation, *, n_wanted: int) -> Simulation:
    """Return a simulation that warns of each job that ended fewer iterations than were asked for."""
    told = [
        f"job {run.job}: only {run.iteration_s.size} of {n_wanted} iterations: at most {MAX_ITERATIONS} of all jobs "
        "are simulated, and a run ends though a job is much slower than the others"
        for run in found.runs
        if run.iteration_s.size < n_wanted
    ]
    return replace(found, warnings=(*found.warnings, *told))


def source_of(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a source of randomness, that of its seed, or without either always the same.

    Raises
    ------
    UsageError
        If the seed is negative.
    """
    if isinstance(rng, int) and rng < 0:
        raise UsageError(f"simulate: seed {rng}; must not be negative")
    return np.random.default_rng(0 if rng is None else rng)


def _simulation(traffic: Traffic, world: World, kept: Iterations) -> Simulation:
    records, run = world.network.jobs, world.run[0]
    for job, record in zip(traffic.jobs, records, strict=True):
        if record["n_done"] < 2:
            raise UsageError(
                f"simulate: job {job.name} ({job.natural_s:.3g} s an iteration, from {job.start_s:.3g} s on) ended "
                "none while others ran theirs; let jobs start at about one time, simulate such different periods apart"
            )
    span_s = float(run["now_s"]) - min(job.start_s for job in traffic.jobs)
    full_s = world.network.links["full_s"]
    return Simulation(
        runs=tuple(
            _job_run(job, record, kept, until_s=float(run["now_s"]), of_s=span_s)
            for job, record in zip(traffic.jobs, records, strict=True)
        ),
        congested_frac=float(run["congested_s"]) / span_s,
        full_frac={link: float(link_s) / span_s for link, link_s in zip(traffic.free_bps, full_s, strict=True)},
        span_s=span_s,
        older_weight=float(run["older_weight"]),
        warnings=traffic.warnings,
    )


def _job_run(job: SimulatedJob, record: np.void, kept: Iterations, *, until_s: float, of_s: float) -> JobRun:
    first, n_done = int(record["first"]), min(int(record["n_done"]), int(record["n_kept"]))
    bursts_s = np.stack((kept.up_s[first : first + n_done], kept.end_s[first : first + n_done]), axis=1)
    return JobRun(
        job=job.name,
        iteration_s=np.diff(bursts_s[:, 1]),
        bursts_s=bursts_s,
        n_adjustments=int(record["n_adjustments"]),
        n_let_go=int(record["n_let_go"]),
        span_s=until_s - job.start_s,
        hindered_frac=float(record["hindered_s"]) / of_s,
    )
