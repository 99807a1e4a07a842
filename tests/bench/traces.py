"""The traces that all methods are judged on: 82 periodic ones a seed, 20 that have no period, 2 that are aliased."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.bench.families import ALIASED, NON_PERIODIC, PERIODIC
from tests.bench.masks import up_windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from profiler.signals import RateSeries
    from profiler.synth import Labelled

__all__ = ["FAMILIES", "HELD_OUT", "TWO_JOBS", "Trace", "TraceKey", "make_trace", "trace_keys"]

HELD_OUT: Final = (9001, 9002, 9003, 9004, 9005)
"""Seeds for reporting. Nothing is ever tuned on them: `tests.bench.score` refuses them."""

N_PERIODIC: Final = 82
N_TWO_JOBS: Final = 15
N_NON_PERIODIC: Final = 20
N_ALIASED: Final = 2
TWO_JOBS: Final = "two_jobs"

FAMILIES: Final[dict[str, Callable[[np.random.Generator], Labelled]]] = {**PERIODIC, **NON_PERIODIC, **ALIASED}


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
    """A series and its truth: all periods on the counter (none if there is none), and which windows are Up."""

    key: TraceKey
    series: RateSeries
    periods_s: tuple[float, ...]
    up: NDArray[np.bool_]

    @property
    def is_aliased(self) -> bool:
        """Whether the period is there but too short to be told from its aliases."""
        return self.key.family in ALIASED


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
    periods_s = (made.period_s,) if made.period_s is not None else ()
    return Trace(key=key, series=made.series, periods_s=periods_s, up=up_windows(made.series, made.up_s))


def _counts() -> dict[str, int]:
    """Return how many traces a seed each family has."""
    others = [family for family in PERIODIC if family != TWO_JOBS]
    return {
        **_spread(N_PERIODIC - N_TWO_JOBS, others),
        TWO_JOBS: N_TWO_JOBS,
        **_spread(N_NON_PERIODIC, list(NON_PERIODIC)),
        **_spread(N_ALIASED, list(ALIASED)),
    }


def _spread(n_traces: int, families: Sequence[str]) -> dict[str, int]:
    """Return near-equal counts for families, the first ones taking what is left over."""
    each, left = divmod(n_traces, len(families))
    return {family: each + (i < left) for i, family in enumerate(families)}
