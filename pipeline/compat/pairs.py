"""`score_pairs`: how well each two of many jobs fit together, by the exact kernel, a million pairs a second."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.compat.board import Steps, cost_of, kinks_for, packed_of
from pipeline.compat.demand import Demand, demand_of
from pipeline.compat.levels import Excess
from pipeline.compat.pair_loop import PairArrays, PairRoom, Rhythms, fill_pairs
from pipeline.compat.relations import MAX_ORDER, beat_of, on_own_clock
from profiler.errors import UsageError
from profiler.results import Tabular, json_ready
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from profiler.phases import TrafficProfile

__all__ = ["PairScore", "PairScores", "score_chosen_pairs", "score_pairs"]

MAX_PERIOD_NS: Final = 10**15
"""Up to this sums of edges stay far from the end of a 64-bit clock."""

N_SHOWN: Final = 50
"""A notebook shows so many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """Best score of two jobs, the score by chance, and how much later the second begins for the best."""

    score_best: float
    score_random: float
    shift_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PairScores(Tabular):
    """Scores of each two jobs alone on a link: of jobs 0 and 1, 0 and 2, and so on, then 1 and 2 and so on.

    Parameters
    ----------
    jobs
        Their names.
    capacity_bps
        Of the link, in bit/s.
    first, second
        The two jobs of each pair, as an index into ``jobs``; int32, shape (n_pairs,).
    score_best, score_random
        ``1 - E/C`` at the best shift, and on average over all shifts; float64, shape (n_pairs,).
    shift_s
        How much later than the first the second begins for the best score: the middle of the widest plateau, 0 if no
        shift matters; float64, shape (n_pairs,).
    """

    jobs: tuple[str, ...]
    capacity_bps: float
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    score_best: NDArray[np.float64]
    score_random: NDArray[np.float64]
    shift_s: NDArray[np.float64]

    def __post_init__(self) -> None:
        for values in (self.first, self.second, self.score_best, self.score_random, self.shift_s):
            values.setflags(write=False)

    def __len__(self) -> int:
        return self.first.size

    def between(self, a: str, b: str) -> PairScore:
        """Return the scores of two jobs; the shift tells how much later ``b`` begins than ``a``.

        Raises
        ------
        UsageError
            If one of them is not known, or both are the same.
        """
        i, j = self._index(a), self._index(b)
        if i == j:
            raise UsageError(f"pairs: {a!r} twice; give two jobs")
        low, high = min(i, j), max(i, j)
        k = low * (2 * len(self.jobs) - low - 1) // 2 + high - low - 1
        shift_s = float(self.shift_s[k])
        return PairScore(
            score_best=float(self.score_best[k]),
            score_random=float(self.score_random[k]),
            shift_s=shift_s if i < j or shift_s == 0 else -shift_s,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all scores as a JSON-ready document, one list a column."""
        columns = {name: getattr(self, name) for name in ("first", "second", *_SCORES)}
        document: dict[str, Any] = json_ready(
            {"kind": "pairs", "version": 1, "capacity_bps": self.capacity_bps, "jobs": self.jobs, **columns}
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a pair."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def to_arrow(self) -> pa.Table:
        """Return one row a pair; the jobs' names are dictionaries."""
        import pyarrow as pa

        names = pa.array(self.jobs, pa.string())
        columns = {
            "job": pa.DictionaryArray.from_arrays(pa.array(self.first), names),
            "other": pa.DictionaryArray.from_arrays(pa.array(self.second), names),
        }
        return pa.table(columns | {name: pa.array(getattr(self, name)) for name in _SCORES})

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a pair."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def plot(self) -> alt.Chart:
        """Return the best score of each two jobs as a heat map."""
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=self.to_rows()), title="best score of two jobs on a link")
            .mark_rect()
            .encode(
                x=alt.X("other:N", title=None, sort=list(self.jobs)),
                y=alt.Y("job:N", title=None, sort=list(self.jobs)),
                color=alt.Color("score_best:Q", title="best score"),
            )
        )
        return chart

    def __repr__(self) -> str:
        return f"PairScores({len(self.jobs)} jobs, {len(self)} pairs)"

    def _repr_html_(self) -> str:
        shown = self.to_arrow().slice(0, N_SHOWN).to_pandas().to_html(index=False, border=0)
        more = "" if len(self) <= N_SHOWN else f"<p>the first {N_SHOWN} of {len(self)} pairs</p>"
        return f"{shown}{more}"

    def _index(self, job: str) -> int:
        if job not in self.jobs:
            raise UsageError(f"pairs: no job {job!r}; the jobs are {', '.join(self.jobs[:10])}")
        return self.jobs.index(job)


_SCORES: Final = ("score_best", "score_random", "shift_s")


def score_pairs(profiles: Mapping[str, TrafficProfile | Demand], *, capacity_bps: float) -> PairScores:
    """Score each two of some jobs as if they alone shared a link, whatever the ratio of their periods.

    Parameters
    ----------
    profiles
        What each job sends. Measured periods of a pair are tied as `solve` does; jobs without a period count at their
        mean rate.
    capacity_bps
        Of the link, in bit/s.

    Returns
    -------
    PairScores
        Exact; 32 bytes a pair.

    Raises
    ------
    UsageError
        If the capacity is not positive, or a profile's phases make no sense.

    Examples
    --------
    >>> from profiler.phases import TrafficProfile
    >>> vgg = TrafficProfile.from_phases(period_s=0.255, phases=[(0.0, 0.114, 400e6)])
    >>> gpt = TrafficProfile.from_phases(period_s=0.17, phases=[(0.0, 0.02, 300e6), (0.1, 0.02, 300e6)])
    >>> scores = score_pairs({"A": vgg, "B": vgg, "C": gpt}, capacity_bps=400e6)
    >>> pair = scores.between("A", "B")
    >>> pair.score_best, round(pair.score_random, 6), pair.shift_s
    (1.0, 0.800138, 0.1275)
    """
    first, second = np.triu_indices(len(profiles), k=1)
    best, random, shift_s = score_chosen_pairs(profiles, first=first, second=second, capacity_bps=capacity_bps)
    return PairScores(
        jobs=tuple(profiles),
        capacity_bps=capacity_bps,
        first=first.astype(np.int32),
        second=second.astype(np.int32),
        score_best=best,
        score_random=random,
        shift_s=shift_s,
    )


def score_chosen_pairs(
    profiles: Mapping[str, TrafficProfile | Demand], *, first: ArrayLike, second: ArrayLike, capacity_bps: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Score some pairs of jobs as `score_pairs` does all.

    Parameters
    ----------
    profiles
        What each job sends.
    first, second
        The two jobs of each pair, as places in ``profiles``, in any order and as often as wanted; a job may meet its
        like. Shape (n_pairs,).
    capacity_bps
        Of the link, in bit/s.

    Returns
    -------
    score_best, score_random, shift_s
        As of `PairScores`; shape (n_pairs,) each.

    Raises
    ------
    UsageError
        If the capacity is not positive, or a profile's phases make no sense.
    """
    if not 0 < capacity_bps < math.inf:
        raise UsageError(f"capacity_bps {capacity_bps!r}: must be positive and finite")
    pairs = (np.asarray(first, dtype=np.int32), np.asarray(second, dtype=np.int32))
    n_pairs = pairs[0].size
    demands, rhythms = _rhythms(profiles)
    out = PairArrays(least_bps=np.empty(n_pairs), mean_bps=np.empty(n_pairs), shift_ns=np.empty(n_pairs, np.int64))
    if n_pairs:
        references = [on_own_clock(d) if error else d for d, error in zip(demands, rhythms.error_s, strict=True)]
        jobs = (packed_of(demands), packed_of(references))
        fill_pairs(jobs, rhythms, pairs, _room(demands, excess=Excess.over(capacity_bps)), out)
    return 1 - out.least_bps / capacity_bps, 1 - out.mean_bps / capacity_bps, out.shift_ns / NS_PER_S


def _rhythms(profiles: Mapping[str, TrafficProfile | Demand]) -> tuple[list[Demand], Rhythms]:
    """Return the jobs' demands, and how well their periods are known."""
    demands, period_s, error_s = [], [], []
    for name, profile in profiles.items():
        demand, error = _demand_of(profile, name=name)
        if demand.period_ns > MAX_PERIOD_NS:
            raise UsageError(f"job {name}: period {demand.period_ns / NS_PER_S:g} s: must be at most 1e6 s")
        demands.append(demand)
        period_s.append(demand.period_ns / NS_PER_S if isinstance(profile, Demand) else profile.period_s or math.nan)
        error_s.append(error)
    rhythms = Rhythms(
        period_s=np.array(period_s, dtype=np.float64),
        error_s=np.array(error_s, dtype=np.float64),
        has_beat=np.array([demand.variation_bps > 0 for demand in demands], dtype=np.bool_),
        max_order=MAX_ORDER,
    )
    return demands, rhythms


def _demand_of(profile: TrafficProfile | Demand, *, name: str) -> tuple[Demand, float]:
    """Return a job's demand and the standard error of its period in seconds, 0 if it is exact."""
    if isinstance(profile, Demand):
        return profile, 0.0
    if profile.status != "periodic":
        return Demand.constant(profile.mean_bps or 0.0), 0.0
    return demand_of(profile, name=f"job {name}"), beat_of(profile, jitter_frac=0.0).error_s


def _room(demands: Sequence[Demand], *, excess: Excess) -> PairRoom:
    # One more than any job has, for an edge that scaling moves to the start.
    n_edges = 1 + max(demand.edges_ns.size for demand in demands)
    scaled = Steps(
        edges_ns=np.empty(n_edges, dtype=np.int64),
        rate_bps=np.empty(n_edges),
        turns=np.empty(n_edges, dtype=np.int8),
        period_ns=0,
    )
    return PairRoom(cost=cost_of(excess), kinks=kinks_for(n_edges, n_edges), scaled=scaled)
