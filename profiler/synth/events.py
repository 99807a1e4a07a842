"""Jobs that something interrupts now and then: checkpoints, some of them huge or long, and stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from profiler.synth.counter import Counter
from profiler.synth.iterations import draw_iterations
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import Plan, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.shapes import one_burst
from profiler.synth.traffic import Traffic

__all__ = ["EVENTS", "EventKind", "checkpoints"]

BURST_BPS: Final = (1e8, 4e9)
"""So that an event of a hundred times the rate stays within a port of 400 Gbit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """Ranges of an event's rate over that of the burst, and of its length and the delay it causes, in periods."""

    rate: tuple[float, float]
    width: tuple[float, float]
    delay: tuple[float, float]


EVENTS: Final[dict[str, EventKind]] = {
    "huge_rate": EventKind(rate=(10.0, 100.0), width=(0.05, 0.3), delay=(0.0, 0.3)),
    "huge_volume": EventKind(rate=(3.0, 10.0), width=(1.0, 4.0), delay=(1.0, 1.0)),
    "long": EventKind(rate=(0.3, 1.5), width=(0.5, 3.0), delay=(1.0, 1.0)),
    "background": EventKind(rate=(0.3, 2.0), width=(0.2, 2.0), delay=(0.0, 0.0)),
    "stall": EventKind(rate=(0.0, 0.0), width=(0.5, 5.0), delay=(1.0, 1.0)),
}
"""What may come every 10 to 50 iterations. ``delay`` is over the event's own length: 1 where training waits for it, 0
where it goes on in the background."""


def checkpoints(rng: np.random.Generator) -> Labelled:
    """Make a job that every 10 to 50 iterations writes a checkpoint or stalls; its events are the outliers.

    The bursts alone are Up; an event's traffic is that of no phase.
    """
    plan = Plan.draw(rng, samples_per_period=(25.0, 120.0), n_cycles=(60.0, 300.0))
    kind = EVENTS[str(rng.choice(sorted(EVENTS)))]
    rate_bps = log_uniform(rng, *BURST_BPS)
    bursts = one_burst(rng, rate_bps=rate_bps, width_frac=(0.12, 0.5))
    iterations = draw_iterations(
        rng, period_s=plan.period_s, duration_s=plan.duration_s, jitter_frac=log_uniform(rng, 1e-3, 2e-2)
    )
    every = int(rng.integers(10, 1 + min(50, int(plan.duration_s / plan.period_s / 2.5))))
    disturbed = np.arange(int(rng.integers(2, every)), iterations.starts_s.size, every)
    widths_s = plan.period_s * rng.uniform(*kind.width, disturbed.size)
    iterations = iterations.delayed(disturbed, by_s=widths_s * rng.uniform(*kind.delay, disturbed.size))
    starts_s = iterations.bursts_from_s[disturbed] + plan.period_s * bursts[-1].end_frac
    events = Traffic(
        edges_s=np.stack([starts_s, starts_s + widths_s], axis=1),
        rate_bps=rate_bps * rng.uniform(*kind.rate, disturbed.size),
    )
    beat = iterations.traffic(bursts).within(plan.duration_s)
    reads = Counter().read(beat.plus(events), regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s))
    return label(
        reads.to_series(),
        reads=reads,
        status="periodic",
        periods_s=[iterations.median_s(plan.duration_s)],
        bursts_s=[beat.edges_s],
        outliers_s=starts_s,
    )
