"""Jobs that another one slows now and then: bursts that take longer, and with them their iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth.counter import Counter
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import LARGEST_N_SAMPLES, Plan, draw_rate_bps, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["congested"]

DUTY_FRAC: Final = (0.15, 0.5)
MOST_STRETCH: Final = (1.2, 2.0)
"""A burst that shares the link evenly takes twice as long."""
COMPUTE_JITTER: Final = (2e-3, 2e-2)
"""Standard deviation of the compute time, over the undisturbed period."""
LEAST_CYCLES: Final = 30.0
LONGEST_FRAC: Final = 0.66
"""Part of the samples that an undisturbed job fills, so that the disturbed one fits."""
SHARE_DISTURBED: Final = (0.1, 0.5)
BEAT_CYCLES: Final = (5.0, 40.0)


def congested(rng: np.random.Generator) -> Labelled:
    """Make a job whose bursts stretch where another one's meet them: some of them, at the beat of the two, or any.

    Bursts keep their bytes and compute its time, so that a burst that takes longer makes a longer iteration.
    """
    plan = Plan.draw(
        rng,
        samples_per_period=(40.0, 250.0),
        n_cycles=(LEAST_CYCLES, 250.0),
        n_samples=(0, round(LONGEST_FRAC * LARGEST_N_SAMPLES)),
    )
    duty_frac = rng.uniform(*DUTY_FRAC)
    n_cycles = round(plan.duration_s / plan.period_s) + 1
    widths_s = duty_frac * plan.period_s * _stretches(rng, n_cycles)
    jitter_s = log_uniform(rng, COMPUTE_JITTER) * plan.period_s * np.clip(rng.standard_normal(n_cycles), -2.5, 2.5)
    compute_s = (1 - duty_frac) * plan.period_s + jitter_s
    lengths_s = widths_s + compute_s
    starts_s = rng.uniform(0, plan.period_s) + np.concatenate(([0.0], np.cumsum(lengths_s)[:-1]))
    bits = draw_rate_bps(rng) * duty_frac * plan.period_s
    bursts = Traffic(edges_s=np.stack([starts_s, starts_s + widths_s], axis=1), rate_bps=bits / widths_s)
    end_s = float(starts_s[-1])
    reads = Counter().read(bursts.within(end_s), regular_polls(duration_s=end_s, dt_s=plan.dt_s))
    return label(
        reads.to_series(),
        reads=reads,
        status="periodic",
        periods_s=[float(np.median(lengths_s[:-1]))],
        bursts_s=[bursts.within(end_s).edges_s],
    )


def _stretches(rng: np.random.Generator, n_cycles: int) -> NDArray[np.float64]:
    """Return how many times as long as undisturbed each burst takes, shape (n_cycles,)."""
    most = rng.uniform(*MOST_STRETCH)
    kind = rng.choice(["some", "beat", "any"])
    if kind == "some":
        some: NDArray[np.float64] = np.where(rng.random(n_cycles) < rng.uniform(*SHARE_DISTURBED), most, 1.0)
        return some
    if kind == "beat":
        phase = 2 * np.pi * np.arange(n_cycles) / rng.uniform(*BEAT_CYCLES) + rng.uniform(0, 2 * np.pi)
        return np.asarray(1 + (most - 1) * np.maximum(0.0, np.sin(phase)), dtype=np.float64)
    return np.asarray(1 + (most - 1) * rng.random(n_cycles) ** 2, dtype=np.float64)
