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
from profiler.synth.loaded_jobs import stepping_base
from profiler.synth.pairs import near_pairs, ratio_pairs, three_jobs, two_jobs
from profiler.synth.plan import log_uniform
from profiler.synth.random_transfers import (
    heavy_tailed,
    poisson_transfers,
    poll_artefacts,
    random_bursts,
    single_event,
    telegraph,
    three_lengths,
)
from profiler.synth.sampled_jobs import aliased, holes, irregular, missing, repeating_holes, stale_reads
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

__all__ = [
    "FAMILIES",
    "HARD",
    "IDLE",
    "NON_PERIODIC",
    "PERIODIC",
    "RECURRENT",
    "SHARED",
    "UNDERSAMPLED",
    "Family",
    "draw_trace",
]

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
    "repeating_holes": repeating_holes,
    "resets": resets,
    "square": square,
    "stale": stale_reads,
    "stepping_base": stepping_base,
    "two_jobs": two_jobs,
    "two_level": two_level,
    "vgg": vgg,
    "wrap": wrap,
}
"""Families of training jobs, whose period a detector should find."""

SHARED: Final[dict[str, Family]] = {
    "near_pairs": near_pairs,
    "ratio_pairs": ratio_pairs,
    "three_jobs": three_jobs,
}
"""Families of several jobs on one counter that are hard to part: any of their periods is right, and no other."""

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

RECURRENT: Final[dict[str, Callable[..., Labelled]]] = {"three_lengths": three_lengths}
"""Generators of equal bursts that recur, but with no one period: the hardest of what has none; each takes ``rng``,
``duration_s`` and ``dt_s``."""

IDLE: Final[dict[str, Callable[..., Labelled]]] = {"idle_keepalives": idle_keepalives}
"""Generators of what passes where nothing is done; each takes ``rng``, ``duration_s`` and ``dt_s``."""

_EVENT_LENGTHS: Final = {"poisson_transfers": "mean_gap_s", "telegraph": "mean_hold_s"}
_AT_SAMPLING: Final = NON_PERIODIC | RECURRENT | IDLE


def draw_trace(family: str, *, seed: int) -> Labelled:
    """Draw a trace of a family of `FAMILIES` or `HARD`, whose randomness no other family shares at the same seed.

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
    known = FAMILIES | HARD
    if family not in known:
        raise UsageError(f"family {family!r}: there is none of this name; choose one of {', '.join(sorted(known))}")
    return known[family](np.random.default_rng([seed, zlib.crc32(family.encode())]))


def _family(name: str) -> Family:
    """Return a family of traffic without a period that draws its sampling, its rate and the length of its events."""

    def draw(rng: np.random.Generator) -> Labelled:
        dt_s = log_uniform(rng, DT_S)
        drawn = {"duration_s": dt_s * round(log_uniform(rng, N_SAMPLES)), "dt_s": dt_s}
        if name in _EVENT_LENGTHS:
            drawn[_EVENT_LENGTHS[name]] = dt_s * log_uniform(rng, EVENT_SAMPLES)
        if name not in IDLE:
            drawn["rate_bps"] = log_uniform(rng, RATE_BPS)
        return _AT_SAMPLING[name](rng, **drawn)

    return draw


FAMILIES: Final[dict[str, Family]] = PERIODIC | UNDERSAMPLED | {name: _family(name) for name in NON_PERIODIC | IDLE}
"""The families that detectors are compared on. The truth of each trace is in its `Labelled`."""

HARD: Final[dict[str, Family]] = SHARED | {name: _family(name) for name in RECURRENT}
"""The families of `SHARED` and `RECURRENT`, on which no period but a true one should be given."""
