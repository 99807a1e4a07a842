"""Where each burst of each iteration begins and ends, as far as its own traffic can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.medians import median

if TYPE_CHECKING:
    from profiler.phases.shape import Burst, Shape
    from profiler.phases.traffic import Traffic

__all__ = ["Edges", "measure_edges", "slack", "stand_out", "without_events"]

CUT_CLEAR: Final = 0.1
"""A clear burst lasts while the rate is above this fraction of its height: congestion thins out its end."""
CUT_SPREADS: Final = 3.0
"""Nor is the cut lower than this many spreads of the windows in Down phases."""
CUT_NOISY: Final = 0.5
"""In noise a burst is told from Down best half-way between the two."""
MAX_SLACK_FRAC: Final = 0.1
"""However much iterations wander, bursts stay within a few times this fraction of the period of where they are."""
OWN_FRAC: Final = 0.25
"""Of an iteration's jitter, most is time before its first burst; this part is what bursts move against one another."""
LEAST_SLACK: Final = 0.25
"""Windows that an edge may be off for the windows' sake."""
WITHIN_FRAC: Final = 0.3
"""Part of a burst, as folded, that lies between its start and its end in every iteration."""
LEAST_GAP_FRAC: Final = 0.25
"""Computing takes its time even when bursts stretch: this part of the last Down stretch stays Down."""
NEAR_FRAC: Final = 0.25
"""The part of a burst next to its edge, whose rate tells how full the windows at the edge are."""
MOST_WINDOWS: Final = 4
FULL_QUANTILE: Final = 0.95
"""Of bursts of no more windows, each has its fullest one, and one in twenty has one that is quite full."""
MIN_WINDOWS: Final = 2.5
"""A burst of more windows has at least one of its own within, which tells its rate."""
MIN_MOVED_FRAC: Final = 0.2
"""An iteration in which a burst moves less than this fraction of what it typically does has no such burst."""
BEFORE_FRAC: Final = 0.5
"""The part of the Down stretch before a burst that is looked at."""
LEAST_BEFORE: Final = 2.0
"""Windows that it takes to see what comes before a burst."""
MIN_STEP_FRAC: Final = 0.5
"""A burst rises by this fraction of its height above the second half of the Down stretch before it."""
MIN_CYCLES: Final = 8
"""Of fewer iterations none can be told to be unlike the others."""
USUAL_FRAC: Final = 0.85
USUAL_REACH: Final = 2.0
USUAL_WINDOWS: Final = 2.0
"""Edges further out than this many windows and this many times the distance to that quantile are not a burst's own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Edges:
    """Start and end of every burst in every iteration, in seconds after the traffic begins.

    ``start_s``, ``end_s``, ``late_s`` (start after where the typical iteration has it) float64 and ``present`` (whether
    the burst is there) bool, shape (n_cycles, n_bursts).
    """

    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    late_s: NDArray[np.float64]
    present: NDArray[np.bool_]


def slack(jitter_frac: float | None, *, period_s: float) -> float:
    """Return how far an edge may be expected from where the typical iteration has it, in seconds."""
    return OWN_FRAC * min(jitter_frac or 0.0, MAX_SLACK_FRAC) * period_s


def measure_edges(traffic: Traffic, bounds_s: NDArray[np.float64], *, shape: Shape, slack_s: float) -> Edges:
    """Find the edges of each burst in each iteration.

    Parameters
    ----------
    traffic
        The series' own traffic.
    bounds_s
        Start of each iteration and of the next, shape (n_cycles, 2).
    shape
        The bursts of a typical iteration: each is looked for between the middles of the Down stretches around it.
    slack_s
        Standard deviation of an edge about where the typical iteration has it.

    Notes
    -----
    The likeliest start of a burst in white noise is where the sum of ``rate - cut`` is least, its likeliest end where
    it is greatest; the edge's distance d from where it is expected costs ``d**2 / (2 slack**2)`` in log-likelihood,
    in which a bit on the right side of the cut gains ``height / (spread**2 dt)``. So a clear burst is followed wherever
    it goes, and one lost in noise is taken to lie where the others do. Cost O(n).
    """
    # A clear burst keeps together for all its texture: only what Down strays by can feign an edge.
    is_clear = shape.is_clear
    spread_bps = shape.down_spread_bps if is_clear else max(shape.up_spread_bps, shape.down_spread_bps)
    starts, ends = [], []
    for i, burst in enumerate(shape.bursts):
        low_s, late_s, early_s, high_s = _reach(shape, i, bounds_s=bounds_s)
        up, down = (
            _Step(
                traffic=traffic,
                cut_bps=shape.down_bps + _cut(height_bps, spread_bps=spread_bps, is_clear=is_clear),
                cost_bits=spread_bps**2
                * traffic.dt_s
                / (2 * height_bps * max(slack_s, LEAST_SLACK * traffic.dt_s) ** 2),
            )
            for height_bps in (burst.rates_bps[0] - shape.down_bps, burst.rates_bps[-1] - shape.down_bps)
        )
        starts.append(up.first(bounds_s[:, 0] + burst.start_s, low_s=low_s, high_s=late_s))
        ends.append(down.last(bounds_s[:, 0] + burst.end_s, low_s=early_s, high_s=high_s))
    start_s, end_s = np.stack(starts, axis=1), np.stack(ends, axis=1)
    if is_clear:
        start_s, end_s = _between_windows(traffic, start_s, end_s, shape=shape)
    return Edges(
        start_s=start_s,
        end_s=end_s,
        late_s=start_s - bounds_s[:, :1] - np.array([burst.start_s for burst in shape.bursts]),
        present=_present(traffic, start_s, end_s, bounds_s=bounds_s, shape=shape),
    )


def without_events(edges: Edges, *, dt_s: float) -> Edges:
    """Return edges with those put back where the others lie that something else than the burst has moved.

    A checkpoint that follows a burst, or stands before one, looks like part of it. Congestion stretches bursts too, but
    more often than in one iteration of ten.
    """
    start_s, end_s, late_s = edges.start_s.copy(), edges.end_s.copy(), edges.late_s.copy()
    for i, rows in enumerate(edges.present.T):
        if np.count_nonzero(rows) < MIN_CYCLES:
            continue
        late_s[rows, i] = _usual(edges.late_s[rows, i], dt_s=dt_s)
        start_s[rows, i] += late_s[rows, i] - edges.late_s[rows, i]
        end_s[rows, i] = start_s[rows, i] + _usual(end_s[rows, i] - start_s[rows, i], dt_s=dt_s)
    return Edges(start_s=start_s, end_s=end_s, late_s=late_s, present=edges.present)


def stand_out(traffic: Traffic, edges: Edges, *, shape: Shape) -> NDArray[np.bool_]:
    """Return which bursts stand above what comes just before them, shape (n_cycles, n_bursts).

    Where something else than the job moves as much for a whole iteration there is no burst to be seen; what adds to
    the job's own traffic adds before the burst as well.
    """
    from_s, to_s = (np.clip(edge_s, 0.0, traffic.n_bins * traffic.dt_s) for edge_s in (edges.start_s, edges.end_s))
    widths_s = np.maximum(to_s - from_s, traffic.dt_s)
    before_s = BEFORE_FRAC * _gaps_before(edges)
    if (before_s < LEAST_BEFORE * traffic.dt_s).any():
        return edges.present
    at_s = edges.start_s - traffic.dt_s
    up_bps = (traffic.bits_at(edges.end_s) - traffic.bits_at(edges.start_s)) / widths_s
    before_bps = (traffic.bits_at(at_s) - traffic.bits_at(at_s - before_s)) / before_s
    heights_bps = np.array([burst.rate_bps - shape.down_bps for burst in shape.bursts])
    return np.asarray(edges.present & (up_bps - before_bps > MIN_STEP_FRAC * heights_bps))


def _gaps_before(edges: Edges) -> NDArray[np.float64]:
    """Return how long the Down stretch before each burst typically is, shape (n_bursts,)."""
    gaps_s = np.median(edges.start_s[:, 1:] - edges.end_s[:, :-1], axis=0)
    between_s = edges.start_s[1:, 0] - edges.end_s[:-1, -1]
    return np.array([np.median(between_s) if between_s.size else 0.0, *gaps_s])


def _usual(values: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return values with their median in place of those far from it."""
    low, middle, high = np.quantile(values, [1 - USUAL_FRAC, 0.5, USUAL_FRAC])
    below, above = (USUAL_REACH * part + USUAL_WINDOWS * dt_s for part in (middle - low, high - middle))
    return np.where((values >= middle - below) & (values <= middle + above), values, middle)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """A step of the rate through a cut, looked for near where it is expected."""

    traffic: Traffic
    cut_bps: float
    cost_bits: float

    def first(
        self, expected_s: NDArray[np.float64], *, low_s: NDArray[np.float64], high_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the likeliest times of steps up, shape (n_cycles,)."""
        grid, excess = self._excess(low_s, high_s)
        at_s = grid * self.traffic.dt_s
        excess += self.cost_bits * (at_s - expected_s[:, None]) ** 2
        return self._times(grid, np.argmin(excess, axis=1))

    def last(
        self, expected_s: NDArray[np.float64], *, low_s: NDArray[np.float64], high_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the likeliest times of steps down, shape (n_cycles,)."""
        grid, excess = self._excess(low_s, high_s)
        at_s = grid * self.traffic.dt_s
        excess -= self.cost_bits * (at_s - expected_s[:, None]) ** 2
        return self._times(grid, np.argmax(excess, axis=1))

    def _times(self, grid: NDArray[np.int64], best: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.take_along_axis(grid, best[:, None], axis=1)[:, 0].astype(np.float64) * self.traffic.dt_s

    def _excess(
        self, low_s: NDArray[np.float64], high_s: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return grid edges from low to high, and the bits above the cut by each, shape (n_cycles, n_edges)."""
        low = np.rint(low_s / self.traffic.dt_s).astype(np.int64)
        high = np.maximum(low, np.rint(high_s / self.traffic.dt_s).astype(np.int64))
        grid = np.minimum(low[:, None] + np.arange(int((high - low).max()) + 1), high[:, None])
        grid = np.clip(grid, 0, self.traffic.n_bins)
        return grid, self.traffic.bits[grid] - self.cut_bps * self.traffic.dt_s * grid


def _cut(height_bps: float, *, spread_bps: float, is_clear: bool) -> float:
    """Return the rate above Down that parts a burst of this height from what is around it."""
    if not is_clear:
        return CUT_NOISY * height_bps
    return min(max(CUT_SPREADS * spread_bps, CUT_CLEAR * height_bps), CUT_NOISY * height_bps)


def _reach(shape: Shape, i: int, *, bounds_s: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return from where to where the start of a burst is looked for, and from where to where its end, in each cycle.

    Neither is looked for across the next burst to that side, however small that is.
    """
    burst = shape.bursts[i]
    starts_s = bounds_s[:, 0]
    late_s = starts_s + burst.end_s - WITHIN_FRAC * burst.width_s
    early_s = starts_s + burst.start_s + WITHIN_FRAC * burst.width_s
    low_s, high_s = _between_bursts(shape, i, bounds_s=bounds_s)
    aside_before_s, aside_after_s = _asides_beside(shape, burst, period_s=median(bounds_s[:, 1] - starts_s))
    return (
        np.maximum(low_s, starts_s + 0.5 * (aside_before_s + burst.start_s)),
        late_s,
        early_s,
        np.maximum(early_s, np.minimum(high_s, starts_s + 0.5 * (burst.end_s + aside_after_s))),
    )


def _between_bursts(
    shape: Shape, i: int, *, bounds_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how far before and after a burst its edges may lie so as not to be another phase's, in each cycle."""
    bursts, starts_s = shape.bursts, bounds_s[:, 0]
    burst, next_s = bursts[i], bounds_s[:, 1] + bursts[0].start_s
    if i > 0:
        low_s = starts_s + 0.5 * (bursts[i - 1].end_s + burst.start_s)
    else:
        gap_s = max(0.0, median(bounds_s[:, 1] - starts_s) - bursts[-1].end_s + burst.start_s)
        low_s = starts_s + burst.start_s - 0.5 * gap_s
    if i + 1 < len(bursts):
        return low_s, starts_s + 0.5 * (burst.end_s + bursts[i + 1].start_s)
    gap_s = max(0.0, median(next_s - starts_s) - burst.end_s)
    return low_s, next_s - LEAST_GAP_FRAC * gap_s


def _asides_beside(shape: Shape, burst: Burst, *, period_s: float) -> tuple[float, float]:
    """Return when the last small burst before a burst ends and the first one after it begins; infinite without one."""
    turns_s = [period_s * turn for turn in (-1, 0, 1)]
    ends_s = [end_s + turn_s for _, end_s in shape.asides_s for turn_s in turns_s]
    starts_s = [start_s + turn_s for start_s, _ in shape.asides_s for turn_s in turns_s]
    return (
        max((end_s for end_s in ends_s if end_s <= burst.start_s), default=-np.inf),
        min((start_s for start_s in starts_s if start_s >= burst.end_s), default=np.inf),
    )


def _between_windows(
    traffic: Traffic, start_s: NDArray[np.float64], end_s: NDArray[np.float64], *, shape: Shape
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return edges moved within the windows around them, by how much of these a burst at its rate there would fill."""
    dt_s = traffic.dt_s
    near_s = np.maximum(NEAR_FRAC * (end_s - start_s), dt_s)
    has_inside = end_s - start_s > MIN_WINDOWS * dt_s
    full_bps = np.zeros(start_s.shape[1]) if has_inside.all() else _full_rate(traffic, start_s, end_s)
    after_bps = (traffic.bits_at(start_s + dt_s + near_s) - traffic.bits_at(start_s + dt_s)) / near_s
    before_bps = (traffic.bits_at(end_s - dt_s) - traffic.bits_at(end_s - dt_s - near_s)) / near_s
    begins = _filled(traffic, start_s, full_bps=np.where(has_inside, after_bps, full_bps), shape=shape)
    stops = _filled(traffic, end_s, full_bps=np.where(has_inside, before_bps, full_bps), shape=shape)
    starts_s, ends_s = start_s + dt_s * (1 - begins), end_s - dt_s * (1 - stops)
    short = ends_s <= starts_s
    return np.where(short, start_s, starts_s), np.where(short, np.maximum(end_s, start_s + dt_s), ends_s)


def _full_rate(traffic: Traffic, start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rate of each burst in windows that it fills, shape (n_bursts,).

    Of a short burst most windows hold but a part; where one falls well there is one that is full.
    """
    first_s = np.minimum(start_s + np.arange(MOST_WINDOWS)[:, None, None] * traffic.dt_s, end_s - traffic.dt_s)
    rates_bps = (traffic.bits_at(first_s + traffic.dt_s) - traffic.bits_at(first_s)) / traffic.dt_s
    return np.asarray(np.quantile(rates_bps.max(axis=0), FULL_QUANTILE, axis=0))


def _filled(
    traffic: Traffic, edge_s: NDArray[np.float64], *, full_bps: NDArray[np.float64], shape: Shape
) -> NDArray[np.float64]:
    """Return how many of the two windows around an edge a burst fills that moves ``full_bps`` in a full one."""
    dt_s, down_bps = traffic.dt_s, shape.down_bps
    full_bits = np.maximum(full_bps - down_bps, CUT_CLEAR * shape.height_bps) * dt_s
    bits = np.diff(traffic.bits_at(edge_s + dt_s * np.array([-1.0, 0.0, 1.0])[:, None, None]), axis=0) - down_bps * dt_s
    return np.asarray(np.clip(bits / full_bits, 0.0, 1.0).sum(axis=0))


def _present(
    traffic: Traffic,
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    *,
    bounds_s: NDArray[np.float64],
    shape: Shape,
) -> NDArray[np.bool_]:
    """Return which bursts moved enough; of those that the recording cuts off, enough for the time that it shows."""
    widths_s = end_s - start_s
    moved = traffic.bits_at(end_s) - traffic.bits_at(start_s) - shape.down_bps * widths_s
    expected_s = bounds_s[:, :1, None] + np.array([[burst.start_s, burst.end_s] for burst in shape.bursts])
    is_cut = (expected_s[..., 0] < 0) | (expected_s[..., 1] > traffic.n_bins * traffic.dt_s)
    heights_bps = np.array([burst.rate_bps - shape.down_bps for burst in shape.bursts])
    typical = np.where(is_cut, np.minimum(np.median(moved, axis=0), heights_bps * widths_s), np.median(moved, axis=0))
    return np.asarray((moved > MIN_MOVED_FRAC * typical) & (end_s > start_s))
