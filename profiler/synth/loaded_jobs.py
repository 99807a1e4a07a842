"""Families of jobs beside another load on the same counter, whose level changes under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth.counter import Counter
from profiler.synth.plan import Plan, draw_rate_bps
from profiler.synth.polls import regular_polls
from profiler.synth.shaped_jobs import FINE_SAMPLES, draw_steady_job
from profiler.synth.shapes import WIDTH_FRAC, gpt_bursts, one_burst
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    from profiler.synth.labelled import Labelled

__all__ = ["stepping_base"]

N_CHANGES: Final = (1, 5)
"""Fewest changes of the base load in a recording, and one more than the most."""
BASE_LEVELS: Final = (0.0, 1.5)
"""Level of the base load over the rate of the job's largest burst: a copy of a data set may outdo the job."""


def stepping_base(rng: np.random.Generator) -> Labelled:
    """Make a job under which a base load steps up and down one to four times."""
    plan = Plan.draw(rng, samples_per_period=FINE_SAMPLES)
    rate_bps = draw_rate_bps(rng)
    shape = one_burst(rng, rate_bps=rate_bps, width_frac=WIDTH_FRAC)
    bursts = shape if rng.random() < 0.5 else gpt_bursts(rng, rate_bps=rate_bps)
    job = draw_steady_job(rng, bursts, duration_s=plan.duration_s, period_s=plan.period_s)
    base = _steps(rng, rate_bps=rate_bps, duration_s=plan.duration_s)
    polls_s = regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s)
    return job.labelled(Counter().read(job.traffic.plus(base), polls_s))


def _steps(rng: np.random.Generator, *, rate_bps: float, duration_s: float) -> Traffic:
    """Draw a load that changes its level at random instants."""
    changes_s = np.sort(rng.uniform(0, duration_s, int(rng.integers(*N_CHANGES))))
    edges_s = np.concatenate(([0.0], changes_s, [duration_s]))
    levels_bps = rate_bps * rng.uniform(*BASE_LEVELS, edges_s.size - 1)
    return Traffic(edges_s=np.stack([edges_s[:-1], edges_s[1:]], axis=1), rate_bps=levels_bps)
