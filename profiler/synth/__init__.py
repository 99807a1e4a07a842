"""Seeded, labelled traffic: generators that return a series together with its truth.

Every generator takes a `numpy.random.Generator`, so that equal seeds give equal traffic, and returns `Labelled`. A
series is made as a real one is: bursts in continuous time (`Traffic`) are counted in whole bytes by a `Counter`, which
is polled; the `Reads` become a `profiler.signals.RateSeries`.

::

    Burst -> Iterations -> Traffic -> Counter -> Reads -> Labelled

`FAMILIES` names every kind of traffic that the detector is measured on; `training_job` makes one job to measure.
"""

from profiler.synth.bursts import Burst
from profiler.synth.counter import Counter
from profiler.synth.families import FAMILIES, IDLE, NON_PERIODIC, PERIODIC, UNDERSAMPLED, Family, draw_trace
from profiler.synth.iterations import Iterations, draw_iterations
from profiler.synth.jobs import training_job
from profiler.synth.labelled import Labelled, TrueStatus
from profiler.synth.noise import with_noise
from profiler.synth.random_transfers import (
    heavy_tailed,
    poisson_transfers,
    poll_artefacts,
    random_bursts,
    single_event,
    telegraph,
)
from profiler.synth.reads import T0_NS, Reads
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
    "IDLE",
    "NON_PERIODIC",
    "PERIODIC",
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
    "draw_iterations",
    "draw_trace",
    "heavy_tailed",
    "idle_keepalives",
    "poisson_transfers",
    "poll_artefacts",
    "ramp",
    "random_bursts",
    "random_walk",
    "serving",
    "single_event",
    "steps",
    "telegraph",
    "training_job",
    "with_noise",
]
