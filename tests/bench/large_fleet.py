"""Jobs found among thousands of ports: seconds of processor time and in all, and the most memory held.

Run alone with ``python -m tests.bench.large_fleet [N_JOBS] [DURATION_S]``.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover import find_jobs, gather
from profiler.signals import RateSeries
from tests.bench.tables import layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LargeRun", "large_table", "run_large"]

T0_NS: Final = 1_796_000_000_000_000_000
PORTS_OF_JOB: Final = 8
UPLINKS_OF_JOB: Final = 2
QUIET_OF_JOB: Final = 6
"""Of each job's rack: ports of its own, uplinks that carry it and a neighbour, and ports that move nothing."""
KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeRun:
    """What one run took, and how it fared: jobs found whole are those of which each port is in one group.

    ``gather_cpu_s`` and ``find_cpu_s`` are of all processes together, ``all_s`` the time that passed.
    """

    n_series: int
    n_jobs: int
    n_whole: int
    gather_cpu_s: float
    find_cpu_s: float
    all_s: float
    most_mib: float


def run_large(n_jobs: int, *, duration_s: int) -> LargeRun:
    """Find jobs in a fleet that is drawn as it is read, so that nothing but what discovery keeps is in memory."""
    start_s, began_s = time.perf_counter(), _processor_s()
    ports = gather(_series(n_jobs, duration_s))
    gathered_s = _processor_s()
    found = find_jobs(ports)
    ended_s = _processor_s()
    groups = {frozenset(member.device for member in job.own) for job in found.jobs}
    wanted = [frozenset(f"job{i}-p{k}" for k in range(PORTS_OF_JOB)) for i in range(n_jobs)]
    return LargeRun(
        n_series=len(ports),
        n_jobs=len(found.jobs),
        n_whole=sum(one in groups for one in wanted),
        gather_cpu_s=gathered_s - began_s,
        find_cpu_s=ended_s - gathered_s,
        all_s=time.perf_counter() - start_s,
        most_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB,
    )


def large_table(runs: list[LargeRun]) -> str:
    """Return a row a run."""
    rows = [["series", "jobs", "whole", "profiling CPU s", "comparing CPU s", "ms a series", "all s", "most MiB"]]
    rows += [
        [
            str(run.n_series),
            str(run.n_jobs),
            str(run.n_whole),
            f"{run.gather_cpu_s:.1f}",
            f"{run.find_cpu_s:.1f}",
            f"{1e3 * (run.gather_cpu_s + run.find_cpu_s) / run.n_series:.1f}",
            f"{run.all_s:.1f}",
            f"{run.most_mib:.0f}",
        ]
        for run in runs
    ]
    return layout(rows)


def _processor_s() -> float:
    """Return the processor time of this process and of those that it had."""
    each = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in each)


def _series(n_jobs: int, duration_s: int) -> Iterator[RateSeries]:
    rng = np.random.default_rng(n_jobs)
    first = before = _job(rng, duration_s)
    for i in range(n_jobs):
        job = first if i == 0 else _job(rng, duration_s)
        for k in range(PORTS_OF_JOB):
            yield _seen(rng, job * rng.uniform(0.5, 2.0), noise_bps=1e9, name=f"job{i}-p{k}")
        for k in range(UPLINKS_OF_JOB):
            yield _seen(rng, 0.2 * job + 0.2 * before, noise_bps=3e9, name=f"job{i}-up{k}")
        for k in range(QUIET_OF_JOB):
            yield _seen(rng, np.zeros(duration_s), noise_bps=0.0, name=f"job{i}-idle{k}")
        before = job


def _job(rng: np.random.Generator, duration_s: int) -> NDArray[np.float64]:
    """Return the rate of a job in each second, with a burst an iteration and a jitter of one per cent."""
    period_s = float(np.exp(rng.uniform(np.log(8.0), np.log(60.0))))
    starts_s = np.cumsum(period_s * (1 + 0.01 * rng.standard_normal(int(1.2 * duration_s / period_s) + 2)))
    knots_s = np.concatenate(np.stack([starts_s, starts_s + rng.uniform(0.2, 0.5) * period_s], axis=1))
    up_s = np.cumsum(np.append(0.0, np.where(np.arange(knots_s.size - 1) % 2 == 0, np.diff(knots_s), 0.0)))
    seconds = np.arange(duration_s + 1, dtype=np.float64)
    rate_bps: NDArray[np.float64] = 40e9 * np.diff(np.interp(seconds, knots_s, up_s))
    return rate_bps


def _seen(rng: np.random.Generator, rate_bps: NDArray[np.float64], *, noise_bps: float, name: str) -> RateSeries:
    bits = np.maximum(rate_bps + noise_bps * (3 + rng.standard_normal(rate_bps.size)), 0.0)
    edges_ns = T0_NS + np.arange(rate_bps.size + 1) * 1_000_000_000
    return RateSeries.from_deltas(edges_ns, bits / 8).named(host="sw1", device=name, direction="transmit")


if __name__ == "__main__":
    n_jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    duration_s = int(sys.argv[2]) if len(sys.argv) > 2 else 3600
    sys.stdout.write(large_table([run_large(n_jobs, duration_s=duration_s)]) + "\n")
