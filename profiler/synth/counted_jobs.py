"""Families of jobs on a bad counter: one that wraps, that is reset, or that a clock of its own refreshes."""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.synth.bursts import Burst
from profiler.synth.counter import Counter
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import HIGHEST_RATE_BPS, LOWEST_RATE_BPS, Plan, draw_rate_bps, log_uniform
from profiler.synth.refreshing import MOST_TICKS, at_own_ticks, read_refreshed
from profiler.synth.sampled_jobs import WiredJob
from profiler.synth.shaped_jobs import draw_steady_job, read_regularly
from profiler.synth.shapes import WIDTH_FRAC, gpt_bursts, one_burst
from profiler.synth.traffic import Traffic
from profiler.units import BITS_PER_BYTE

__all__ = ["refreshed", "resets", "wrap"]

WRAP_BITS: Final = 32
FEWEST_WRAPS: Final = 2.0
MOST_WRAPS: Final = 100.0
CLEAR_RANGE: Final = 0.25
"""Most of its range that a counter may go through in one window: half of it could as well be a step back."""
FEWEST_TICKS: Final = 1_000
"""A telemetry system records for a quarter of an hour at the least; too few ticks do not show a counter's clock."""
CHATTER: Final = (1e-4, 5e-2)
"""Rate of other traffic over that of the bursts; a port in service is never silent."""


def resets(rng: np.random.Generator) -> Labelled:
    """Make a job whose counter starts again at 0 one to four times, as after a driver's reload."""
    wired = WiredJob.draw(rng, Plan.draw(rng))
    resets_s = np.sort(rng.uniform(0.0, wired.plan.duration_s, int(rng.integers(1, 5))))
    counter = Counter(start_bytes=int(rng.integers(2**40)), resets_s=tuple(resets_s.tolist()))
    return wired.job.labelled(counter.read(wired.traffic, wired.polls_s()))


def wrap(rng: np.random.Generator) -> Labelled:
    """Make a job on a 32-bit counter whose width nobody tells: the series takes it to have 64 bits."""
    plan = Plan.draw(rng, period_s=(0.2, 125.0), samples_per_period=(20.0, 100.0), n_cycles=(20.0, 300.0))
    (burst,) = one_burst(rng, rate_bps=1.0, width_frac=WIDTH_FRAC)
    one_wrap_bps = 2**WRAP_BITS * BITS_PER_BYTE / (burst.width_frac * plan.duration_s)
    most = min(MOST_WRAPS, CLEAR_RANGE * burst.width_frac * plan.duration_s / plan.dt_s)
    rate_bps = float(np.clip(one_wrap_bps * log_uniform(rng, (FEWEST_WRAPS, most)), LOWEST_RATE_BPS, HIGHEST_RATE_BPS))
    bursts = [Burst(burst.start_frac, burst.width_frac, rate_bps)]
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    counter = Counter(width_bits=WRAP_BITS, start_bytes=int(rng.integers(2**WRAP_BITS)))
    return read_regularly(rng, job, plan=plan, counter=counter)


def refreshed(rng: np.random.Generator) -> Labelled:
    """Make a job on a switch's counter, copied at an interval and phase of its own, polled about twice as often.

    The polls' gaps repeat, and there may be holes. The series is at the counter's own ticks where these can be found.
    """
    ticks = (FEWEST_TICKS, MOST_TICKS)
    plan = Plan.draw(rng, period_s=(1.0, 125.0), samples_per_period=(5.0, 80.0), n_samples=ticks)
    rate_bps = draw_rate_bps(rng)
    shape = one_burst(rng, rate_bps=rate_bps, width_frac=WIDTH_FRAC)
    bursts = shape if rng.random() < 0.5 else gpt_bursts(rng, rate_bps=rate_bps)
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    chatter = Traffic.steady(rate_bps * log_uniform(rng, CHATTER), duration_s=plan.duration_s)
    reads = read_refreshed(rng, job.traffic.plus(chatter), duration_s=plan.duration_s, refresh_s=plan.dt_s)
    return label(
        at_own_ticks(reads), reads=reads, status="periodic", periods_s=[job.period_s], bursts_s=[job.traffic.edges_s]
    )
