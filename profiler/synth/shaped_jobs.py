"""Families of jobs that differ in the shape of an iteration; each draws all else itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from profiler.synth.counter import Counter
from profiler.synth.jobs import Job, draw_job
from profiler.synth.plan import Plan, draw_rate_bps, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.shapes import accumulation_bursts, gpt_bursts, nested_bursts, one_burst, two_level_bursts
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np

    from profiler.synth.bursts import Burst
    from profiler.synth.labelled import Labelled

__all__ = [
    "FINE_SAMPLES",
    "STEADY_JITTER",
    "accumulation",
    "draw_steady_job",
    "gpt",
    "nested",
    "read_regularly",
    "square",
    "two_level",
    "vgg",
    "with_background",
]

STEADY_JITTER: Final = (1e-3, 2e-2)
"""Jitter of an iteration that nothing disturbs, over its length."""
BACKGROUND: Final = (1e-4, 5e-2)
"""Rate of other traffic on the counter over that of the bursts."""
FINE_SAMPLES: Final = (60.0, 300.0)
"""Samples a period that show fine bursts one by one."""
LIVE: Final = Counter()
"""A counter without faults."""


def square(rng: np.random.Generator) -> Labelled:
    """Make a plain square wave: one burst, about as long as the pause."""
    return _regular_job(rng, one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=(0.3, 0.7)), Plan.draw(rng))


def vgg(rng: np.random.Generator) -> Labelled:
    """Make one burst an iteration, short or long, as data-parallel VGG training sends it."""
    return _regular_job(rng, one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=(0.08, 0.6)), Plan.draw(rng))


def gpt(rng: np.random.Generator) -> Labelled:
    """Make several bursts an iteration, evenly spaced or not, of different sizes."""
    bursts = gpt_bursts(rng, rate_bps=draw_rate_bps(rng))
    return _regular_job(rng, bursts, Plan.draw(rng, samples_per_period=FINE_SAMPLES))


def nested(rng: np.random.Generator) -> Labelled:
    """Make bursts of fine bursts, whose harmonics outdo the fundamental."""
    bursts = nested_bursts(rng, rate_bps=draw_rate_bps(rng))
    return _regular_job(rng, bursts, Plan.draw(rng, samples_per_period=FINE_SAMPLES))


def two_level(rng: np.random.Generator) -> Labelled:
    """Make a burst of two rates."""
    return _regular_job(rng, two_level_bursts(rng, rate_bps=draw_rate_bps(rng)), Plan.draw(rng))


def accumulation(rng: np.random.Generator) -> Labelled:
    """Make gradient accumulation: several small bursts and a large one."""
    bursts = accumulation_bursts(rng, rate_bps=draw_rate_bps(rng))
    return _regular_job(rng, bursts, Plan.draw(rng, samples_per_period=FINE_SAMPLES))


def draw_steady_job(rng: np.random.Generator, bursts: Sequence[Burst], *, duration_s: float, period_s: float) -> Job:
    """Draw a job whose iterations jitter by no more than a sound cluster's do."""
    jitter_frac = log_uniform(rng, STEADY_JITTER)
    return draw_job(rng, period_s=period_s, bursts=bursts, duration_s=duration_s, jitter_frac=jitter_frac)


def with_background(rng: np.random.Generator, traffic: Traffic, *, duration_s: float) -> Traffic:
    """Add a steady stream of other traffic, small beside the bursts, to every other recording."""
    rate_bps = float(traffic.rate_bps.max(initial=0.0)) * log_uniform(rng, BACKGROUND)
    steady = Traffic.steady(rate_bps, duration_s=duration_s)
    return traffic.plus(steady) if rng.random() < 0.5 else traffic


def read_regularly(rng: np.random.Generator, job: Job, *, plan: Plan, counter: Counter = LIVE) -> Labelled:
    """Read a job's counter every ``plan.dt_s``."""
    traffic = with_background(rng, job.traffic, duration_s=plan.duration_s)
    return job.labelled(counter.read(traffic, regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s)))


def _regular_job(rng: np.random.Generator, bursts: Sequence[Burst], plan: Plan) -> Labelled:
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    return read_regularly(rng, job, plan=plan)
