"""From jobs and capacities to the arrays that the event loop runs on, and how long it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.simulation.records import CROSSING, JOB, LINK, RUN, STEP
from pipeline.simulation.sharing import Network
from pipeline.simulation.slots import MAX_CREDIT
from profiler.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.simulation.job import SimulatedJob

__all__ = [
    "MAX_ITERATIONS",
    "MAX_PERIOD_RATIO",
    "Extent",
    "World",
    "check_jobs",
    "draw_delays",
    "extent_of",
    "max_events",
    "most_iterations",
    "world_of",
]

MAX_ITERATIONS: Final = 4_000_000
"""Of all jobs together: what is kept of a run then takes 100 MB, and a run of two jobs a second or two."""

MAX_PERIOD_RATIO: Final = 32.0
"""Of jobs that are simulated in passing, as part of an answer: the slowest would end too few iterations while the
fastest runs thousands."""

EVENTS_A_STEP: Final = 3
"""A job computes, waits for its slot, and sends."""

EVENTS_OVER: Final = 64
MAX_EVENTS: Final = 10_000_000
"""The run ends after so many times the events that unhindered jobs have, but not after more than these on account of
it, though one job be far slower than all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much of a run is kept: ``n_iterations`` of the slowest job, ``n_kept`` of each job."""

    n_iterations: int
    n_kept: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """Where each job's iterations begin; one more than is kept, as the first one starts in the middle."""
        return _offsets(self.n_kept + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The records of a run before its first event; ``start_s``, shape (n_jobs,), is when each job is first due."""

    network: Network
    steps: NDArray[np.void]
    run: NDArray[np.void]
    start_s: NDArray[np.float64]


def check_jobs(jobs: Sequence[SimulatedJob], *, capacities: Mapping[str, float]) -> None:
    """Refuse jobs and capacities that have no meaning.

    Raises
    ------
    UsageError
        If there is no job or link, two jobs have one name, a capacity is not positive and finite, or a job crosses a
        link that is not there.
    """
    names = [job.name for job in jobs]
    if not jobs or len(set(names)) != len(names):
        raise UsageError(f"simulate: jobs {names}; give at least one, each with a name of its own")
    if not capacities:
        raise UsageError("simulate: no link; give the capacity of at least one")
    for link, bps in capacities.items():
        if not 0 < bps < float("inf"):
            raise UsageError(f"simulate: capacity of {link} is {bps!r} bit/s; must be positive and finite")
    for job in jobs:
        unknown = set(job.loads) - set(capacities)
        if unknown:
            raise UsageError(f"simulate: job {job.name} crosses {sorted(unknown)}, whose capacity is not given")


def extent_of(jobs: Sequence[SimulatedJob], *, n_iterations: int) -> Extent:
    """Return how much is kept: of faster jobs as many times more iterations as they run in the time of the slowest.

    Raises
    ------
    UsageError
        If that is more than can be kept though the slowest job ran only once.
    """
    if n_iterations < 1:
        raise UsageError(f"simulate: n_iterations {n_iterations}; must be at least 1")
    n_iterations = min(n_iterations, most_iterations(jobs))
    return Extent(n_iterations=n_iterations, n_kept=n_iterations * _times(jobs).astype(np.int64))


def most_iterations(jobs: Sequence[SimulatedJob]) -> int:
    """Return how many iterations of the slowest job can be kept, together with those of the others in that time.

    Raises
    ------
    UsageError
        If not even one.
    """
    n_most = int(MAX_ITERATIONS // _times(jobs).sum())
    if n_most < 1:
        naturals_s = np.array([job.natural_s for job in jobs])
        raise UsageError(
            f"simulate: iterations of {len(jobs)} jobs take from {naturals_s.min():.3g} s to {naturals_s.max():.3g} s; "
            f"at most {MAX_ITERATIONS} fit in a run, so simulate jobs of such different periods apart"
        )
    return n_most


def world_of(
    jobs: Sequence[SimulatedJob], *, capacities: Mapping[str, float], older_weight: float, first: NDArray[np.int64]
) -> World:
    """Return the jobs at their starts, on their links, of which ``first`` says where what is kept of each begins.

    Raises
    ------
    UsageError
        If the weight of the older flow is not positive and finite.
    """
    if not 0 < older_weight < float("inf"):
        raise UsageError(f"simulate: older_weight {older_weight!r}; must be positive and finite, 1 favours nobody")
    records = np.zeros(len(jobs), dtype=JOB)
    steps, crossings = _steps_of(jobs, records), _crossings_of(jobs, records, links=list(capacities))
    links = np.zeros(len(capacities), dtype=LINK)
    links["capacity_bps"] = list(capacities.values())
    records["weight"] = records["heft"] = [job.weight for job in jobs]
    records["first"], records["n_kept"] = first[:-1], np.diff(first)
    _lay_out_slots(jobs, records)
    run = np.zeros(1, dtype=RUN)
    run["older_weight"] = older_weight
    run["now_s"] = run["since_s"] = min(job.start_s for job in jobs)
    meets = np.zeros((0, 0), dtype=np.bool_) if older_weight == 1 else _meets(records, crossings, n_links=links.size)
    network = Network(records, links, crossings, np.zeros(len(jobs), dtype=np.int64), meets)
    return World(
        network=network, steps=steps, run=run, start_s=np.array([job.start_s for job in jobs], dtype=np.float64)
    )


def draw_delays(
    jobs: Sequence[SimulatedJob], *, first: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the jitter of every kept iteration: exponential, with mean 0."""
    spread_s = np.array([job.jitter_frac * job.natural_s for job in jobs])
    return np.asarray(np.repeat(spread_s, np.diff(first)) * (rng.exponential(size=int(first[-1])) - 1.0))


def max_events(jobs: Sequence[SimulatedJob], *, first: NDArray[np.int64]) -> int:
    """Return after how many events a run ends in any case."""
    n_events = EVENTS_A_STEP * sum(len(job.steps) * int(n) for job, n in zip(jobs, np.diff(first), strict=True))
    return min(EVENTS_OVER * n_events, 2 * n_events + MAX_EVENTS)


def _times(jobs: Sequence[SimulatedJob]) -> NDArray[np.float64]:
    """Return how often each job runs in the time in which the slowest runs once."""
    naturals_s = np.array([job.natural_s for job in jobs])
    return np.asarray(np.minimum(np.floor(naturals_s.max() / naturals_s * (1 + 1e-9)), 2.0 * MAX_ITERATIONS))


def _steps_of(jobs: Sequence[SimulatedJob], records: NDArray[np.void]) -> NDArray[np.void]:
    rows = [(step.down_s, step.volume_bits, step.max_bps) for job in jobs for step in job.steps]
    bounds = _offsets(np.array([len(job.steps) for job in jobs]))
    records["first_step"], records["end_step"] = bounds[:-1], bounds[1:]
    records["step"] = records["first_step"]
    return np.array(rows, dtype=STEP)


def _crossings_of(jobs: Sequence[SimulatedJob], records: NDArray[np.void], *, links: Sequence[str]) -> NDArray[np.void]:
    place = {link: i for i, link in enumerate(links)}
    everywhere = dict.fromkeys(links, 1.0)
    loads = [job.loads or everywhere for job in jobs]
    bounds = _offsets(np.array([len(load) for load in loads]))
    records["first_crossing"], records["end_crossing"] = bounds[:-1], bounds[1:]
    return np.array([(place[link], frac) for load in loads for link, frac in load.items()], dtype=CROSSING)


def _lay_out_slots(jobs: Sequence[SimulatedJob], records: NDArray[np.void]) -> None:
    for record, job in zip(records, jobs, strict=True):
        if job.pace is not None:
            period_s = job.pace.period_s
            record["slot_s"], record["shift_s"] = period_s, job.pace.shift_s
            record["tolerance_s"] = job.pace.tolerance_frac * period_s
    for name in ("slot", "ready_s", "retry_at", "settled_at"):
        records[name] = np.nan
    records["credit"] = MAX_CREDIT


def _meets(records: NDArray[np.void], crossings: NDArray[np.void], *, n_links: int) -> NDArray[np.bool_]:
    """Return whose traffic shares a link."""
    crosses = np.zeros((records.size, n_links))
    n_crossings = records["end_crossing"] - records["first_crossing"]
    crosses[np.repeat(np.arange(records.size), n_crossings), crossings["link"]] = 1.0
    return np.asarray(crosses @ crosses.T > 0)


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where parts of given sizes begin that lie behind each other, and where the last ends."""
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
