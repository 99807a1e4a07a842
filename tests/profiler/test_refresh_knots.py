"""A counter's clock in few corners: every read belongs to the tick to which it belongs by the ticks themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.refresh import knots_of_ticks
from profiler.units import NS_PER_S

Floats = NDArray[np.floating[Any]]
DURATION_S = 4000.0
T0_NS = 1_796_000_000_000_000_000


def _tick_times(kind: str, rng: np.random.Generator) -> Floats:
    """Return when a counter of about 1 s is copied."""
    n_ticks = int(1.1 * DURATION_S)
    match kind:
        case "even":
            return np.arange(n_ticks) * 1.00003
        case "wandering":
            return np.arange(n_ticks) * 1.0 + 0.2 * np.sin(np.arange(n_ticks) / 500)
    return np.cumsum(1 + 0.02 * rng.standard_normal(n_ticks))


def _polls(gap_s: float, rng: np.random.Generator) -> Floats:
    """Return when it is polled, with a hole."""
    t_s = np.arange(1.0, DURATION_S, gap_s)
    t_s += 0.02 * gap_s * rng.standard_normal(t_s.size)
    return t_s[(t_s < 1500) | (t_s > 1560.3)]


def _read(kind: str, *, gap_s: float) -> tuple[NDArray[np.int64], RateSeries]:
    rng = np.random.default_rng(7)
    ticks_s, t_s = _tick_times(kind, rng), _polls(gap_s, rng)
    total = np.cumsum(rng.gamma(4, 1e8, ticks_s.size)).astype(np.uint64)
    value = total[np.searchsorted(ticks_s, t_s, side="right") - 1]
    t_ns = T0_NS + np.round(t_s * NS_PER_S).astype(np.int64)
    return t_ns, RateSeries.from_counter(t_ns, value)


@pytest.mark.parametrize("kind", ["even", "wandering", "jittered"])
@pytest.mark.parametrize("gap_s", [0.05, 0.21, 0.57])
def test_every_read_belongs_to_its_own_tick(kind: str, gap_s: float) -> None:
    t_ns, series = _read(kind, gap_s=gap_s)
    if series.refresh_s is None:
        assert (kind, gap_s) == ("jittered", 0.57)  # its ticks wander off too fast for polls so few
        return
    knots = knots_of_ticks(series.edges_ns, t_ns, refresh_s=series.refresh_s)
    n_ticks = np.floor(np.interp(t_ns - t_ns[0], knots.t_ns - t_ns[0], knots.ticks))
    i_window = np.searchsorted(series.edges_ns, t_ns, side="right") - 1
    assert np.array_equal(np.diff(n_ticks) > 0, np.diff(i_window) > 0)
    assert (knots.t_ns[0], knots.t_ns[-1]) == (t_ns[0], t_ns[-1])
    assert knots.t_ns.size < t_ns.size / (50 if kind == "even" else 5)


def test_an_even_clock_is_a_line() -> None:
    t_ns = T0_NS + np.arange(0, 100 * NS_PER_S, NS_PER_S // 4)
    knots = knots_of_ticks(T0_NS + np.arange(100) * NS_PER_S, t_ns, refresh_s=1.0)
    assert (knots.t_ns.tolist(), knots.ticks.tolist()) == ([t_ns[0], t_ns[-1]], [0.0, 99.75])


def test_a_tick_that_no_read_saw_counts() -> None:
    t_ns = T0_NS + np.array([0, 500, 1000, 1500, 4000, 4500]) * 1_000_000
    edges_ns = T0_NS + np.array([0, 1, 4]) * NS_PER_S
    knots = knots_of_ticks(edges_ns, t_ns, refresh_s=1.0)
    assert knots.ticks[-1] == 4.5


@pytest.mark.parametrize("after_s", [0.9, 30.0])
def test_reads_after_the_last_tick_are_of_that_tick(after_s: float) -> None:
    edges_ns = T0_NS + np.arange(5) * NS_PER_S
    t_ns = np.append(edges_ns, edges_ns[-1] + round(after_s * NS_PER_S))
    assert np.floor(knots_of_ticks(edges_ns, t_ns, refresh_s=1.0).ticks[-1]) == 4
