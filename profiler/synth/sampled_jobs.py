"""Families of jobs whose counter is read badly: at odd times, too seldom, with holes, with lost or stale reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from numpy.typing import NDArray

from profiler.synth.counter import Counter
from profiler.synth.jobs import Job, draw_job
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import SHORTEST_PERIOD_S, Plan, draw_rate_bps, log_uniform
from profiler.synth.polls import (
    draw_holes,
    draw_repeating_holes,
    exponential_polls,
    jittered_polls,
    regular_polls,
    without,
)
from profiler.synth.reads import duplicated, late, lost, stale
from profiler.synth.shaped_jobs import draw_steady_job, with_background
from profiler.synth.shapes import WIDTH_FRAC, one_burst

if TYPE_CHECKING:
    import numpy as np

    from profiler.synth.traffic import Traffic

__all__ = ["WiredJob", "aliased", "holes", "irregular", "missing", "repeating_holes", "stale_reads"]

LOST_FRAC: Final = 0.05
N_MISLAID: Final = 5
"""Reads that come late, and reads that come twice."""
UNTORN_SAMPLES: Final = (50.0, 200.0)
"""Samples a period of jobs of at most `UNTORN_PERIOD_S`, so that polls are at least twice a second, and a hole of
seconds misses ten of them."""
UNTORN_PERIOD_S: Final = (SHORTEST_PERIOD_S, 25.0)
SPARE_SAMPLES: Final = 9_500
"""Mean number of random reads that stays below 10^4."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WiredJob:
    """A job of one burst, and all the traffic on its wire."""

    job: Job
    traffic: Traffic
    plan: Plan

    @classmethod
    def draw(cls, rng: np.random.Generator, plan: Plan) -> Self:
        """Draw a job that fits a plan, and the traffic beside it."""
        bursts = one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=WIDTH_FRAC)
        job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
        return cls(job=job, traffic=with_background(rng, job.traffic, duration_s=plan.duration_s), plan=plan)

    def polls_s(self) -> NDArray[np.float64]:
        """Return regular polls of the whole recording."""
        return regular_polls(duration_s=self.plan.duration_s, dt_s=self.plan.dt_s)


def missing(rng: np.random.Generator) -> Labelled:
    """Make a job of whose reads 5 % are missing, and a few come late or twice."""
    wired = WiredJob.draw(rng, Plan.draw(rng))
    reads = lost(rng, Counter().read(wired.traffic, wired.polls_s()), lost_frac=LOST_FRAC)
    return wired.job.labelled(late(rng, duplicated(rng, reads, n_reads=N_MISLAID), n_reads=N_MISLAID))


def irregular(rng: np.random.Generator) -> Labelled:
    """Make a job that is read at jittered or at random instants."""
    plan = Plan.draw(rng, n_samples=(0, SPARE_SAMPLES))
    wired = WiredJob.draw(rng, plan)
    if rng.random() < 0.5:
        polls_s = exponential_polls(rng, duration_s=plan.duration_s, dt_s=plan.dt_s)
    else:
        jitter_frac = rng.uniform(0.2, 0.9)
        polls_s = jittered_polls(rng, duration_s=plan.duration_s, dt_s=plan.dt_s, jitter_frac=jitter_frac)
    return wired.job.labelled(Counter().read(wired.traffic, polls_s))


def stale_reads(rng: np.random.Generator) -> Labelled:
    """Make a job of whose reads 5 to 30 % see what the read before saw."""
    wired = WiredJob.draw(rng, Plan.draw(rng))
    reads = Counter().read(wired.traffic, wired.polls_s())
    return wired.job.labelled(stale(rng, reads, stale_frac=rng.uniform(0.05, 0.3)))


def holes(rng: np.random.Generator) -> Labelled:
    """Make a job in whose recording one to four holes lie, together up to half of it."""
    wired = WiredJob.draw(rng, Plan.draw(rng, n_cycles=(25.0, 300.0)))
    gaps_s = draw_holes(rng, duration_s=wired.plan.duration_s, dt_s=wired.plan.dt_s)
    return wired.job.labelled(Counter().read(wired.traffic, without(wired.polls_s(), gaps_s)))


def repeating_holes(rng: np.random.Generator) -> Labelled:
    """Make a job in whose recording holes of one length come at an interval of their own, up to six tenths of it."""
    plan = Plan.draw(rng, period_s=UNTORN_PERIOD_S, samples_per_period=UNTORN_SAMPLES, n_cycles=(40.0, 200.0))
    wired = WiredJob.draw(rng, plan)
    gaps_s = draw_repeating_holes(rng, duration_s=plan.duration_s, dt_s=plan.dt_s)
    return wired.job.labelled(Counter().read(wired.traffic, without(wired.polls_s(), gaps_s)))


def aliased(rng: np.random.Generator) -> Labelled:
    """Make a job that is read fewer than twice a period: what its reads show is an alias of the truth."""
    samples = ((0.55, 0.95), (1.05, 1.9))[int(rng.integers(2))]
    plan = Plan.draw(rng, samples_per_period=samples, n_cycles=(300.0, 4000.0))
    bursts = one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=WIDTH_FRAC)
    # Only a job that hardly jitters still has a line above the rate of its reads.
    jitter_frac = log_uniform(rng, (1e-5, 1e-3))
    job = draw_job(rng, period_s=plan.period_s, bursts=bursts, duration_s=plan.duration_s, jitter_frac=jitter_frac)
    reads = Counter().read(job.traffic, regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s))
    return label(
        reads.to_series(),
        reads=reads,
        status="undersampled",
        periods_s=[job.period_s],
        bursts_s=[job.traffic.edges_s],
    )
