"""The traces that all methods are judged on: 82 periodic ones a seed, 20 that have no period, 2 that are aliased."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth import FAMILIES, IDLE, NON_PERIODIC, PERIODIC, UNDERSAMPLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["HELD_OUT", "TWO_JOBS", "Trace", "TraceKey", "make_trace", "trace_keys"]

HELD_OUT: Final = (9001, 9002, 9003, 9004, 9005)
"""Seeds for reporting. Nothing is ever tuned on them: `tests.bench.score` refuses them."""

N_PERIODIC: Final = 82
N_TWO_JOBS: Final = 15
N_NON_PERIODIC: Final = 20
N_UNDERSAMPLED: Final = 2
TWO_JOBS: Final = "two_jobs"


@dataclass(frozen=True, slots=True, order=True)
class TraceKey:
    """Which trace: equal keys give equal traces."""

    seed: int
    family: str
    i_trace: int

    def __str__(self) -> str:
        return f"{self.seed}/{self.family}/{self.i_trace}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """A series and its truth: each job's period, the largest job first, and the windows in which any is Up."""

    key: TraceKey
    series: RateSeries
    periods_s: tuple[float, ...]
    up: NDArray[np.bool_]


def trace_keys(seeds: Sequence[int], *, families: Collection[str] = tuple(FAMILIES)) -> Iterator[TraceKey]:
    """Yield the keys of all traces of some families; the others keep theirs when some are left out."""
    counts = _counts()
    for seed in seeds:
        for family in FAMILIES:
            if family in families:
                yield from (TraceKey(seed, family, i_trace) for i_trace in range(counts[family]))


def make_trace(key: TraceKey) -> Trace:
    """Make the trace of a key."""
    rng = np.random.default_rng([key.seed, zlib.crc32(key.family.encode()), key.i_trace])
    made = FAMILIES[key.family](rng)
    return Trace(key=key, series=made.series, periods_s=made.periods_s, up=made.up_mask())


def _counts() -> dict[str, int]:
    """Return how many traces a seed each family has."""
    others = [family for family in PERIODIC if family != TWO_JOBS]
    return {
        **_spread(N_PERIODIC - N_TWO_JOBS, others),
        TWO_JOBS: N_TWO_JOBS,
        **_spread(N_NON_PERIODIC, [*NON_PERIODIC, *IDLE]),
        **_spread(N_UNDERSAMPLED, list(UNDERSAMPLED)),
    }


def _spread(n_traces: int, families: Sequence[str]) -> dict[str, int]:
    """Return near-equal counts for families, the first ones taking what is left over."""
    each, left = divmod(n_traces, len(families))
    return {family: each + (i < left) for i, family in enumerate(families)}
