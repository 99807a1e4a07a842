"""Two jobs on one counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth.counter import Counter
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import LONGEST_PERIOD_S, SHORTEST_PERIOD_S, Plan, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.shaped_jobs import draw_steady_job, with_background
from profiler.synth.shapes import gpt_bursts, one_burst

if TYPE_CHECKING:
    from profiler.synth.bursts import Burst

__all__ = ["two_jobs"]

SMALL_RATIOS: Final = tuple(p / q for q in range(1, 6) for p in range(1, q + 1))
"""Ratios of two periods whose common multiple is short, so that one period would explain both jobs."""
NEAR_RATIO: Final = 0.03
"""How near to one of them is too near; such jobs keep their places for about as many iterations as its inverse."""
SHORTEST_RATIO: Final = 0.28
WIDTH_FRAC: Final = (0.12, 0.45)
MEAN_BPS: Final = (5e7, 5e10)
"""Mean rate of both jobs together."""


def two_jobs(rng: np.random.Generator) -> Labelled:
    """Make two jobs of comparable volume on one counter, whose periods are in no small whole ratio."""
    slow_s = (SHORTEST_PERIOD_S / SHORTEST_RATIO, LONGEST_PERIOD_S)
    plan = Plan.draw(rng, period_s=slow_s, samples_per_period=(60.0, 160.0), n_cycles=(30.0, 100.0))
    mean_bps = log_uniform(rng, *MEAN_BPS)
    share = rng.uniform(0.4, 0.6)
    jobs = [
        draw_steady_job(
            rng,
            _of_mean(_draw_bursts(rng), mean_bps=mean_bps * part),
            duration_s=plan.duration_s,
            period_s=period_s,
        )
        for period_s, part in ((plan.period_s, share), (plan.period_s * _uneven_ratio(rng), 1 - share))
    ]
    traffic = with_background(rng, jobs[0].traffic.plus(jobs[1].traffic), duration_s=plan.duration_s)
    reads = Counter().read(traffic, regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s))
    larger_first = jobs if share >= 0.5 else jobs[::-1]
    return label(
        reads.to_series(),
        reads=reads,
        status="periodic",
        periods_s=[job.period_s for job in larger_first],
        bursts_s=[job.traffic.edges_s for job in larger_first],
    )


def _draw_bursts(rng: np.random.Generator) -> list[Burst]:
    return one_burst(rng, rate_bps=1.0, width_frac=WIDTH_FRAC) if rng.random() < 0.6 else gpt_bursts(rng, rate_bps=1.0)


def _of_mean(bursts: Sequence[Burst], *, mean_bps: float) -> list[Burst]:
    """Return the bursts at rates that give this mean over an iteration."""
    scale = mean_bps / sum(burst.width_frac * burst.rate_bps for burst in bursts)
    return [replace(burst, rate_bps=burst.rate_bps * scale) for burst in bursts]


def _uneven_ratio(rng: np.random.Generator) -> float:
    """Draw a ratio below 1 that is near no small whole ratio."""
    ratios = np.linspace(SHORTEST_RATIO, 1.0, 1000)
    distances = np.abs(ratios[:, None] / np.array(SMALL_RATIOS)[None] - 1).min(axis=1)
    return float(rng.choice(ratios[distances > NEAR_RATIO]))
