"""Two or three jobs on one counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.synth.counter import Counter
from profiler.synth.jobs import draw_job
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import LARGEST_N_SAMPLES, LONGEST_PERIOD_S, SHORTEST_PERIOD_S, Plan, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.shaped_jobs import STEADY_JITTER, draw_steady_job, with_background
from profiler.synth.shapes import gpt_bursts, one_burst
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    from profiler.synth.bursts import Burst
    from profiler.synth.jobs import Job

__all__ = ["near_pairs", "ratio_pairs", "three_jobs", "two_jobs"]

SMALL_RATIOS: Final = tuple(p / q for q in range(1, 6) for p in range(1, q + 1))
"""Ratios of two periods whose common multiple is short, so that one period would explain both jobs."""
NEAR_RATIO: Final = 0.03
"""How near to one of them is too near; such jobs keep their places for about as many iterations as its inverse."""
SHORTEST_RATIO: Final = 0.28
WIDTH_FRAC: Final = (0.12, 0.45)
MEAN_BPS: Final = (5e7, 5e10)
"""Mean rate of all jobs together."""
SHARE: Final = (0.4, 0.6)
"""Part of the volume that is the first of two jobs'."""
NEAR_FRAC: Final = (0.015, 0.05)
"""By how much the periods of near pairs differ."""
N_BEATS: Final = (2.5, 6.0)
"""How often near pairs run through each other in a recording; less than twice, they are one line."""
NEAR_SAMPLES: Final = (20.0, 60.0)
RATIOS: Final = (3 / 2, 4 / 3, 2.0)
OFF_FRAC: Final = 0.01
"""How far from such a ratio two periods may be."""
PAIR_JITTER: Final = (5e-3, 1.5e-2)
THREE_CYCLES: Final = (40.0, 120.0)
PART: Final = (0.8, 1.25)
"""Volume of one of three jobs over that of another that has 1."""


def two_jobs(rng: np.random.Generator) -> Labelled:
    """Make two jobs of comparable volume on one counter, whose periods are in no small whole ratio."""
    slow_s = (SHORTEST_PERIOD_S / SHORTEST_RATIO, LONGEST_PERIOD_S)
    plan = Plan.draw(rng, period_s=slow_s, samples_per_period=(60.0, 160.0), n_cycles=(30.0, 100.0))
    mean_bps = log_uniform(rng, MEAN_BPS)
    share = rng.uniform(*SHARE)
    jobs = [
        draw_steady_job(
            rng,
            _of_mean(_draw_bursts(rng), mean_bps=mean_bps * part),
            duration_s=plan.duration_s,
            period_s=period_s,
        )
        for period_s, part in ((plan.period_s, share), (plan.period_s * _uneven_ratio(rng), 1 - share))
    ]
    return _on_one_counter(rng, jobs if share >= 0.5 else jobs[::-1], plan=plan)


def near_pairs(rng: np.random.Generator) -> Labelled:
    """Make two jobs whose periods differ by 1.5 to 5 %, recorded until they ran through each other a few times."""
    near = rng.uniform(*NEAR_FRAC)
    n_cycles = log_uniform(rng, N_BEATS) / near
    most_samples = min(NEAR_SAMPLES[1], LARGEST_N_SAMPLES / n_cycles)
    plan = Plan.draw(rng, samples_per_period=(NEAR_SAMPLES[0], most_samples), n_cycles=(n_cycles, n_cycles))
    return _pair(rng, plan, ratio=1 / (1 + near), jitter=STEADY_JITTER)


def ratio_pairs(rng: np.random.Generator) -> Labelled:
    """Make two jobs whose periods are near 3:2, 4:3 or 2:1, each with a jitter of its own of 0.5 to 1.5 %."""
    ratio = float(rng.choice(RATIOS)) * (1 + rng.uniform(-OFF_FRAC, OFF_FRAC))
    slow_s = (ratio * SHORTEST_PERIOD_S, LONGEST_PERIOD_S)
    plan = Plan.draw(rng, period_s=slow_s, samples_per_period=(60.0, 160.0), n_cycles=(30.0, 100.0))
    return _pair(rng, plan, ratio=1 / ratio, jitter=PAIR_JITTER)


def three_jobs(rng: np.random.Generator) -> Labelled:
    """Make three jobs of comparable volume on one counter, no two of whose periods are in a small whole ratio."""
    slow_s = (SHORTEST_PERIOD_S / SHORTEST_RATIO, LONGEST_PERIOD_S)
    plan = Plan.draw(rng, period_s=slow_s, samples_per_period=(60.0, 160.0), n_cycles=THREE_CYCLES)
    first, second = _uneven_ratio(rng), _uneven_ratio(rng)
    while not _is_uneven(min(first, second) / max(first, second)):
        second = _uneven_ratio(rng)
    parts = np.array([log_uniform(rng, PART) for _ in range(3)])
    means_bps = log_uniform(rng, MEAN_BPS) * parts / parts.sum()
    jobs = [
        draw_steady_job(
            rng, _of_mean(_draw_bursts(rng), mean_bps=mean_bps), duration_s=plan.duration_s, period_s=period_s
        )
        for mean_bps, period_s in zip(means_bps, plan.period_s * np.array([1.0, first, second]), strict=True)
    ]
    return _on_one_counter(rng, [jobs[i] for i in np.argsort(-parts)], plan=plan)


def _pair(rng: np.random.Generator, plan: Plan, *, ratio: float, jitter: tuple[float, float]) -> Labelled:
    """Draw a job of the plan's period and one of ``ratio`` times that, on one counter."""
    mean_bps = log_uniform(rng, MEAN_BPS)
    share = rng.uniform(*SHARE)
    jobs = [
        draw_job(
            rng,
            period_s=period_s,
            bursts=_of_mean(_draw_bursts(rng), mean_bps=mean_bps * part),
            duration_s=plan.duration_s,
            jitter_frac=log_uniform(rng, jitter),
        )
        for period_s, part in ((plan.period_s, share), (plan.period_s * ratio, 1 - share))
    ]
    return _on_one_counter(rng, jobs if share >= 0.5 else jobs[::-1], plan=plan)


def _on_one_counter(rng: np.random.Generator, larger_first: Sequence[Job], *, plan: Plan) -> Labelled:
    """Read jobs, the largest first, and perhaps a little other traffic, from one counter."""
    first, *others = (job.traffic for job in larger_first)
    traffic = with_background(rng, reduce(Traffic.plus, others, first), duration_s=plan.duration_s)
    reads = Counter().read(traffic, regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s))
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
    return float(rng.choice(ratios[_is_uneven(ratios)]))


def _is_uneven(ratios: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    """Return whether ratios of at most 1 are near no small whole one, shape of ``ratios``."""
    distances = np.abs(np.asarray(ratios)[..., None] / np.array(SMALL_RATIOS) - 1).min(axis=-1)
    uneven: NDArray[np.bool_] = distances > NEAR_RATIO
    return uneven
