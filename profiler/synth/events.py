"""Jobs that something interrupts now and then: checkpoints, some of them huge or long, and stalls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth.counter import Counter
from profiler.synth.iterations import Iterations, draw_iterations
from profiler.synth.labelled import Labelled, label
from profiler.synth.plan import Plan, log_uniform
from profiler.synth.polls import regular_polls
from profiler.synth.shaped_jobs import STEADY_JITTER
from profiler.synth.shapes import WIDTH_FRAC, one_burst
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    from profiler.synth.bursts import Burst

__all__ = ["EVENTS", "EventKind", "checkpoints"]

BURST_BPS: Final = (1e8, 4e9)
"""So that an event of a hundred times the rate stays within a port of 400 Gbit/s."""
LEAST_EVERY: Final = 10
MOST_EVERY: Final = 50
"""Iterations from one event to the next."""
EVENTS_SEEN: Final = 2.5
"""Intervals between events that a recording holds at the least."""


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
    (burst,) = one_burst(rng, rate_bps=log_uniform(rng, BURST_BPS), width_frac=WIDTH_FRAC)
    undisturbed = draw_iterations(
        rng, period_s=plan.period_s, duration_s=plan.duration_s, jitter_frac=log_uniform(rng, STEADY_JITTER)
    )
    iterations, events = _disturbed(rng, undisturbed, burst, n_cycles=plan.duration_s / plan.period_s)
    beat = iterations.traffic([burst]).within(plan.duration_s)
    reads = Counter().read(beat.plus(events), regular_polls(duration_s=plan.duration_s, dt_s=plan.dt_s))
    return label(
        reads.to_series(),
        reads=reads,
        status="periodic",
        periods_s=[iterations.median_s(plan.duration_s)],
        bursts_s=[beat.edges_s],
        outliers_s=events.edges_s[:, 0],
    )


def _disturbed(
    rng: np.random.Generator, iterations: Iterations, burst: Burst, *, n_cycles: float
) -> tuple[Iterations, Traffic]:
    """Draw events of one kind that follow the bursts of some iterations; return the iterations so delayed, and them."""
    kind = EVENTS[str(rng.choice(sorted(EVENTS)))]
    every = int(rng.integers(LEAST_EVERY, 1 + min(MOST_EVERY, int(n_cycles / EVENTS_SEEN))))
    i_disturbed = np.arange(int(rng.integers(2, every)), iterations.starts_s.size, every)
    widths_s = iterations.period_s * rng.uniform(*kind.width, i_disturbed.size)
    delayed = iterations.delayed(i_disturbed, by_s=widths_s * rng.uniform(*kind.delay, i_disturbed.size))
    starts_s = delayed.bursts_from_s[i_disturbed] + iterations.period_s * burst.end_frac
    rates_bps = burst.rate_bps * rng.uniform(*kind.rate, i_disturbed.size)
    return delayed, Traffic(edges_s=np.stack([starts_s, starts_s + widths_s], axis=1), rate_bps=rates_bps)
