"""Families of jobs whose iterations vary in length, are few, coarsely read, or lie in noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.synth.jobs import draw_job
from profiler.synth.noise import with_noise
from profiler.synth.plan import LARGEST_N_SAMPLES, MOST_CYCLES, Plan, draw_rate_bps, log_uniform
from profiler.synth.shaped_jobs import draw_steady_job, read_regularly
from profiler.synth.shapes import WIDTH_FRAC, one_burst

if TYPE_CHECKING:
    import numpy as np

    from profiler.synth.labelled import Labelled

__all__ = ["coarse", "drift", "few_periods", "jitter", "medium_coarse", "noise_floor"]

COARSE_WIDTH_FRAC: Final = (0.25, 0.6)
"""So that a burst of three samples a period fills most of one."""
JITTERY_CYCLES: Final = 30.0
"""So that the median of lengths that vary by 10 % is known to some 2 %."""
NOISY_SAMPLES: Final = 3_000
"""So that the bursts of a recording stand out of noise twice their size: its mean over cycles shrinks by ten or so."""


def jitter(rng: np.random.Generator) -> Labelled:
    """Make iterations whose lengths vary by 5 to 10 %, so that the phase is lost after some tens of them."""
    plan = Plan.draw(rng, n_cycles=(JITTERY_CYCLES, MOST_CYCLES))
    job = draw_job(
        rng,
        period_s=plan.period_s,
        bursts=one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=WIDTH_FRAC),
        duration_s=plan.duration_s,
        jitter_frac=rng.uniform(0.05, 0.1),
    )
    return read_regularly(rng, job, plan=plan)


def drift(rng: np.random.Generator) -> Labelled:
    """Make iterations that grow longer or shorter by 1 to 4 % over the recording."""
    plan = Plan.draw(rng)
    job = draw_job(
        rng,
        period_s=plan.period_s,
        bursts=one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=WIDTH_FRAC),
        duration_s=plan.duration_s,
        jitter_frac=log_uniform(rng, (1e-3, 1e-2)),
        drift_frac=float(rng.choice([-1.0, 1.0])) * rng.uniform(0.01, 0.04),
    )
    return read_regularly(rng, job, plan=plan)


def noise_floor(rng: np.random.Generator) -> Labelled:
    """Make a burst in white noise, from a quarter of the burst's rate to twice it (a ratio of 1/2)."""
    plan = Plan.draw(rng, samples_per_period=(20.0, 100.0), n_samples=(NOISY_SAMPLES, LARGEST_N_SAMPLES))
    rate_bps = draw_rate_bps(rng)
    bursts = one_burst(rng, rate_bps=rate_bps, width_frac=WIDTH_FRAC)
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    return with_noise(rng, read_regularly(rng, job, plan=plan), noise_bps=rate_bps / log_uniform(rng, (0.5, 4.0)))


def few_periods(rng: np.random.Generator) -> Labelled:
    """Make a recording of 4 to 8 whole iterations."""
    return _one_burst(rng, Plan.draw(rng, samples_per_period=(40.0, 1000.0), n_cycles=(5.1, 8.8)))


def coarse(rng: np.random.Generator) -> Labelled:
    """Make a job that is read 3 to 5 times a period."""
    plan = Plan.draw(rng, samples_per_period=(3.0, 5.0), n_cycles=(60.0, 1000.0))
    return _one_burst(rng, plan, width_frac=COARSE_WIDTH_FRAC)


def medium_coarse(rng: np.random.Generator) -> Labelled:
    """Make a job that is read 6 to 12 times a period."""
    return _one_burst(rng, Plan.draw(rng, samples_per_period=(6.0, 12.0), n_cycles=(40.0, 600.0)))


def _one_burst(rng: np.random.Generator, plan: Plan, *, width_frac: tuple[float, float] = WIDTH_FRAC) -> Labelled:
    bursts = one_burst(rng, rate_bps=draw_rate_bps(rng), width_frac=width_frac)
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    return read_regularly(rng, job, plan=plan)
