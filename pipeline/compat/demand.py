"""`Demand`: a job's traffic as a periodic, piecewise-constant rate on an integer clock, and sums of such rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from profiler.errors import UsageError
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases import TrafficProfile

__all__ = ["Demand", "demand_of", "superpose"]

_SNAP_NS: Final = 1
"""Phases that meet in seconds may miss each other by this much when rounded to nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """A rate that repeats every ``period_ns``.

    Parameters
    ----------
    period_ns
        Period in integer nanoseconds, so that common periods are exact.
    edges_ns
        Times at which the rate may change, strictly increasing in [0, period_ns); int64, shape (n_edges,).
    rate_bps
        Rate from each edge to the next, the last one cyclic; float64, shape (n_edges,).
    """

    period_ns: int
    edges_ns: NDArray[np.int64]
    rate_bps: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.period_ns < 1:
            raise UsageError(f"period {self.period_ns} ns: must be at least 1 ns")
        edges_ns, rate_bps = self.edges_ns, self.rate_bps
        if edges_ns.ndim != 1 or not edges_ns.size or edges_ns.shape != rate_bps.shape:
            raise UsageError(f"demand: {edges_ns.shape} edges and {rate_bps.shape} rates; give one rate an edge")
        if edges_ns[0] < 0 or edges_ns[-1] >= self.period_ns or np.any(np.diff(edges_ns) <= 0):
            raise UsageError(f"demand: edges must increase within [0, {self.period_ns}) ns")
        bad = ~((rate_bps >= 0) & (rate_bps < math.inf))
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise UsageError(f"demand: rate {rate_bps[place]} at {edges_ns[place]} ns; rates are finite, not negative")
        edges_ns.setflags(write=False)
        rate_bps.setflags(write=False)

    @classmethod
    def constant(cls, rate_bps: float) -> Self:
        """Return a demand that never changes."""
        return cls(period_ns=1, edges_ns=np.zeros(1, dtype=np.int64), rate_bps=np.array([rate_bps], dtype=np.float64))

    @property
    def widths_ns(self) -> NDArray[np.int64]:
        """Time from each edge to the next; int64, shape (n_edges,), sums to the period."""
        return np.diff(self.edges_ns, append=self.edges_ns[0] + self.period_ns)

    @property
    def mean_bps(self) -> float:
        """Mean rate over a period."""
        return float(self.widths_ns @ self.rate_bps) / self.period_ns

    @property
    def peak_bps(self) -> float:
        """Highest rate."""
        return float(self.rate_bps.max())

    @property
    def variation_bps(self) -> float:
        """Sum of all steps of the rate in a period, up and down."""
        return float(np.abs(np.diff(self.rate_bps, prepend=self.rate_bps[-1])).sum())

    def at(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rate at each time, that after the edge where a time falls on an edge."""
        place = np.searchsorted(self.edges_ns, t_ns % self.period_ns, side="right") - 1
        return self.rate_bps[place]

    def edges_within(self, length_ns: int, *, shift_ns: int = 0) -> NDArray[np.int64]:
        """Return every edge of the demand, begun ``shift_ns`` later, that falls into [0, length_ns)."""
        first_ns = np.sort((self.edges_ns + shift_ns) % self.period_ns)
        n_periods = -(-length_ns // self.period_ns)
        starts_ns = np.arange(n_periods, dtype=np.int64) * self.period_ns
        edges_ns = (starts_ns[:, None] + first_ns[None, :]).ravel()
        return edges_ns[edges_ns < length_ns]

    def scaled(self, period_ns: int) -> Demand:
        """Return the demand with its time axis stretched to another period; the mean rate stays."""
        edges_ns = np.rint(self.edges_ns * (period_ns / self.period_ns)).astype(np.int64) % period_ns
        edges_ns, place = np.unique(edges_ns, return_index=True)
        return Demand(period_ns=period_ns, edges_ns=edges_ns, rate_bps=self.rate_bps[place])


def demand_of(profile: TrafficProfile, *, name: str = "profile") -> Demand:
    """Return the demand of a periodic profile, its time zero that of the profile.

    Parameters
    ----------
    profile
        A profile with a period and phases; time outside its phases has rate 0.
    name
        How an error calls the profile.

    Raises
    ------
    UsageError
        If the profile has no period or no phase as long as a nanosecond, a phase is longer than the period, phases
        overlap, or a rate is negative or not known.
    """
    if profile.period_s is None or not profile.phases:
        raise UsageError(f"{name}: status {profile.status}, so there is no period to shift; give a periodic profile")
    unknown = next((phase for phase in profile.phases if math.isnan(phase.rate_bps)), None)
    if unknown is not None:
        raise UsageError(
            f"{name}: phase at {unknown.start_s} s: its rate is not known (rate_bps null); profile the counters of the "
            "job's ports, or write the rate into the profile"
        )
    period_ns = max(1, round(profile.period_s * NS_PER_S))
    spans = _spans(profile, period_ns=period_ns, name=name)
    rate_at_edge: dict[int, float] = {}
    for _, end_ns, _ in spans:
        rate_at_edge[end_ns % period_ns] = 0.0
    for start_ns, _, rate_bps in spans:
        rate_at_edge[start_ns % period_ns] = rate_bps
    edges_ns = sorted(rate_at_edge)
    try:
        return Demand(
            period_ns=period_ns,
            edges_ns=np.array(edges_ns, dtype=np.int64),
            rate_bps=np.array([rate_at_edge[edge_ns] for edge_ns in edges_ns], dtype=np.float64),
        )
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def superpose(demands: Sequence[Demand], *, shifts_ns: Sequence[int], length_ns: int) -> Demand:
    """Return the sum of demands, each begun its shift later, over [0, length_ns).

    Parameters
    ----------
    demands, shifts_ns
        The demands and by how much each is delayed.
    length_ns
        Length of the result; a multiple of every period makes the result periodic, another cuts it off.

    Notes
    -----
    Cost grows with the number of edges within ``length_ns``.
    """
    if not demands:
        return Demand(period_ns=length_ns, edges_ns=np.zeros(1, dtype=np.int64), rate_bps=np.zeros(1))
    edges = [d.edges_within(length_ns, shift_ns=s) for d, s in zip(demands, shifts_ns, strict=True)]
    edges_ns = np.sort(np.concatenate([np.zeros(1, dtype=np.int64), *edges]))
    edges_ns = edges_ns[np.diff(edges_ns, prepend=-1) > 0]
    rate_bps = np.zeros(edges_ns.size)
    for demand, shift_ns in zip(demands, shifts_ns, strict=True):
        rate_bps += demand.at(edges_ns - shift_ns)
    return Demand(period_ns=length_ns, edges_ns=edges_ns, rate_bps=rate_bps)


def _spans(profile: TrafficProfile, *, period_ns: int, name: str) -> list[tuple[int, int, float]]:
    """Return (start, end, rate) of each phase in integer ns, in order of time and without overlap."""
    spans: list[tuple[int, int, float]] = []
    for phase in sorted(profile.phases, key=lambda phase: phase.start_s):
        start_ns, end_ns = round(phase.start_s * NS_PER_S), round((phase.start_s + phase.width_s) * NS_PER_S)
        if end_ns - start_ns > period_ns + _SNAP_NS:
            raise UsageError(f"{name}: phase at {phase.start_s} s lasts {phase.width_s} s, longer than its period")
        if end_ns > start_ns:
            spans.append((start_ns, end_ns, phase.rate_bps))
    if not spans:
        raise UsageError(f"{name}: no phase is as long as 1 ns; give times in seconds")
    following = [*spans[1:], (spans[0][0] + period_ns, 0, 0.0)]
    for i, ((start_ns, end_ns, rate_bps), (next_ns, _, _)) in enumerate(zip(spans, following, strict=True)):
        if end_ns > next_ns + _SNAP_NS:
            raise UsageError(f"{name}: phase at {start_ns} ns runs into the phase at {next_ns} ns; phases are disjoint")
        if abs(end_ns - next_ns) <= _SNAP_NS:
            spans[i] = (start_ns, next_ns, rate_bps)
    return spans
