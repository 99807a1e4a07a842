"""Every family of traffic by name: what a detector is tested and measured on."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import numpy as np

from profiler.errors import UsageError
from profiler.synth.congested_jobs import congested
from profiler.synth.counted_jobs import refreshed, resets, wrap
from profiler.synth.events import checkpoints
from profiler.synth.labelled import Labelled
from profiler.synth.pairs import two_jobs
from profiler.synth.plan import log_uniform
from profiler.synth.random_transfers import (
    heavy_tailed,
    poisson_transfers,
    poll_artefacts,
    random_bursts,
    single_event,
    telegraph,
)
from profiler.synth.sampled_jobs import aliased, holes, irregular, missing, stale_reads
from profiler.synth.shaped_jobs import accumulation, gpt, nested, square, two_level, vgg
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
from profiler.synth.timed_jobs import coarse, drift, few_periods, jitter, medium_coarse, noise_floor

__all__ = ["FAMILIES", "IDLE", "NON_PERIODIC", "PERIODIC", "UNDERSAMPLED", "Family", "draw_trace"]

Family = Callable[[np.random.Generator], Labelled]
"""Makes a trace of at most 10^4 samples whose parameters it draws itself."""

DT_S: Final = (1e-3, 1.0)
N_SAMPLES: Final = (500.0, 8000.0)
RATE_BPS: Final = (1e8, 1e11)
"""So that the sum of several flows stays within a port of 400 Gbit/s, but for rare peaks."""
EVENT_SAMPLES: Final = (5.0, 100.0)
"""Windows that the mean event of random traffic takes: below, it cannot be told from noise."""

PERIODIC: Final[dict[str, Family]] = {
    "accumulation": accumulation,
    "checkpoints": checkpoints,
    "coarse": coarse,
    "congested": congested,
    "drift": drift,
    "few_periods": few_periods,
    "gpt": gpt,
    "holes": holes,
    "irregular": irregular,
    "jitter": jitter,
    "medium_coarse": medium_coarse,
    "missing": missing,
    "nested": nested,
    "noise_floor": noise_floor,
    "refreshed": refreshed,
    "resets": resets,
    "square": square,
    "stale": stale_reads,
    "two_jobs": two_jobs,
    "two_level": two_level,
    "vgg": vgg,
    "wrap": wrap,
}
"""Families of training jobs, whose period a detector should find."""

UNDERSAMPLED: Final[dict[str, Family]] = {"aliased": aliased}
"""Families of training jobs whose reads cannot show their period."""

NON_PERIODIC: Final[dict[str, Callable[..., Labelled]]] = {
    "autoregressive": autoregressive,
    "constant": constant,
    "diurnal": diurnal,
    "heavy_tailed": heavy_tailed,
    "poisson_transfers": poisson_transfers,
    "poll_artefacts": poll_artefacts,
    "ramp": ramp,
    "random_bursts": random_bursts,
    "random_walk": random_walk,
    "serving": serving,
    "single_event": single_event,
    "steps": steps,
    "telegraph": telegraph,
}
"""Generators of traffic that has no period; each takes ``rng``, ``duration_s`` and ``dt_s``."""

IDLE: Final[dict[str, Callable[..., Labelled]]] = {"idle_keepalives": idle_keepalives}
"""Generators of what passes where nothing is done; each takes ``rng``, ``duration_s`` and ``dt_s``."""

_EVENT_LENGTHS: Final = {"poisson_transfers": "mean_gap_s", "telegraph": "mean_hold_s"}
_AT_SAMPLING: Final = NON_PERIODIC | IDLE


def draw_trace(family: str, *, seed: int) -> Labelled:
    """Draw a trace of a family of `FAMILIES`, whose randomness no other family shares at the same seed.

    Raises
    ------
    UsageError
        If there is no such family.

    Examples
    --------
    >>> trace = draw_trace("vgg", seed=1)
    >>> trace.status, trace.period_s == draw_trace("vgg", seed=1).period_s
    ('periodic', True)
    """
    if family not in FAMILIES:
        raise UsageError(f"family {family!r}: there is none of this name; choose one of {', '.join(sorted(FAMILIES))}")
    return FAMILIES[family](np.random.default_rng([seed, zlib.crc32(family.encode())]))


def _family(name: str) -> Family:
    """Return a family of traffic without a period that draws its sampling, its rate and the length of its events."""

    def draw(rng: np.random.Generator) -> Labelled:
        dt_s = log_uniform(rng, *DT_S)
        drawn = {"duration_s": dt_s * round(log_uniform(rng, *N_SAMPLES)), "dt_s": dt_s}
        if name in _EVENT_LENGTHS:
            drawn[_EVENT_LENGTHS[name]] = dt_s * log_uniform(rng, *EVENT_SAMPLES)
        if name not in IDLE:
            drawn["rate_bps"] = log_uniform(rng, *RATE_BPS)
        return _AT_SAMPLING[name](rng, **drawn)

    return draw


FAMILIES: Final[dict[str, Family]] = PERIODIC | UNDERSAMPLED | {name: _family(name) for name in _AT_SAMPLING}
"""All families. The truth of each trace is in its `Labelled`."""
