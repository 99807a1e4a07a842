"""Seeded, labelled traffic: generators that return a series together with its truth.

Every generator takes a `numpy.random.Generator`, so that equal seeds give equal traffic, and returns `Labelled`. A
series is made as a real one is: bursts in continuous time (`Traffic`) are counted in whole bytes by a `Counter`, which
is polled; the `Reads` become a `profiler.signals.RateSeries`.

::

    Burst -> Iterations -> Traffic -> Counter -> Reads -> Labelled

`FAMILIES` names every kind of traffic that detectors are compared on: those of `PERIODIC` have a period that they
should find, those of `UNDERSAMPLED` one that they cannot, those of `NON_PERIODIC` and `IDLE` none. `HARD` are further
ones: several jobs on one counter that are hard to part (`SHARED`), bursts that recur with no one period (`RECURRENT`).
`draw_trace` draws one trace; `training_job` makes a job
of given parameters.

Examples
--------
>>> from profiler.synth import Burst, Counter, Traffic, draw_iterations, draw_trace, exponential_polls, stale
>>> trace = draw_trace("two_jobs", seed=3)
>>> trace.status, len(trace.periods_s), trace.up_mask().size == trace.series.n_samples
('periodic', 2, True)

A job of one's own, on a narrow counter that is read at random instants and sometimes stale:

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> bursts = [Burst(0.3, 0.2, 8e9), Burst(0.6, 0.1, 2e9)]
>>> traffic = draw_iterations(rng, period_s=0.5, duration_s=60.0, jitter_frac=0.02).traffic(bursts)
>>> polls_s = exponential_polls(rng, duration_s=60.0, dt_s=0.01)
>>> reads = stale(rng, Counter(width_bits=32).read(traffic, polls_s), stale_frac=0.1)
>>> reads.to_series(width_bits=32).delta_bytes.sum() == reads.total_bytes
np.True_
"""

from profiler.synth.bursts import Burst
from profiler.synth.counter import Counter
from profiler.synth.families import (
    FAMILIES,
    HARD,
    IDLE,
    NON_PERIODIC,
    PERIODIC,
    RECURRENT,
    SHARED,
    UNDERSAMPLED,
    Family,
    draw_trace,
)
from profiler.synth.iterations import Iterations, draw_iterations
from profiler.synth.jobs import training_job
from profiler.synth.labelled import Labelled, TrueStatus
from profiler.synth.noise import with_noise
from profiler.synth.polls import (
    draw_holes,
    draw_repeating_holes,
    exponential_polls,
    jittered_polls,
    regular_polls,
    repeating_polls,
    without,
)
from profiler.synth.random_transfers import (
    heavy_tailed,
    poisson_transfers,
    poll_artefacts,
    random_bursts,
    single_event,
    telegraph,
    three_lengths,
)
from profiler.synth.reads import T0_NS, Reads, duplicated, late, lost, stale
from profiler.synth.steady_loads import (
    autoregressive,
    constant,
    diurnal,
    idle_keepalives,
    ramp,
    random_walk,
    serving,
    steps,
)
from profiler.synth.traffic import Traffic

__all__ = [
    "FAMILIES",
    "HARD",
    "IDLE",
    "NON_PERIODIC",
    "PERIODIC",
    "RECURRENT",
    "SHARED",
    "T0_NS",
    "UNDERSAMPLED",
    "Burst",
    "Counter",
    "Family",
    "Iterations",
    "Labelled",
    "Reads",
    "Traffic",
    "TrueStatus",
    "autoregressive",
    "constant",
    "diurnal",
    "draw_holes",
    "draw_iterations",
    "draw_repeating_holes",
    "draw_trace",
    "duplicated",
    "exponential_polls",
    "heavy_tailed",
    "idle_keepalives",
    "jittered_polls",
    "late",
    "lost",
    "poisson_transfers",
    "poll_artefacts",
    "ramp",
    "random_bursts",
    "random_walk",
    "regular_polls",
    "repeating_polls",
    "serving",
    "single_event",
    "stale",
    "steps",
    "telegraph",
    "three_lengths",
    "training_job",
    "with_noise",
    "without",
]
