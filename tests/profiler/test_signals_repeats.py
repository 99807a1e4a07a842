"""Counters that repeat readings amid traffic at no interval that is found: they are marked, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from profiler import RateSeries, profile
from profiler.importers import read_counters
from profiler.signals.repeats import repeated_frac
from tests.data import shared

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.floating[Any]]
RATE = 1e9
N_READS = 4000


def _steady(t_s: Floats) -> Floats:
    return RATE * t_s


def _job(period_s: float, duty_frac: float) -> Callable[[Floats], Floats]:
    def sent(t_s: Floats) -> Floats:
        cycle, rest_s = np.divmod(t_s, period_s)
        total: Floats = RATE * (cycle * duty_frac * period_s + np.minimum(rest_s, duty_frac * period_s))
        return total

    return sent


def _polls_s(rng: np.random.Generator, *, poll_s: float = 0.5) -> Floats:
    t_s: Floats = np.cumsum(poll_s * (1 + 0.02 * rng.standard_normal(N_READS)))
    return t_s


def _copies_s(rng: np.random.Generator, polls_s: Floats, *, spread_frac: float = 0.25) -> Floats:
    """Return when the copy was made that each poll sees, of one about each second."""
    copies_s = np.cumsum(1 + spread_frac * rng.uniform(-1, 1, int(2 * polls_s[-1])))
    latest: Floats = np.append(copies_s, 0.0)[np.searchsorted(copies_s, polls_s, side="right") - 1]
    return latest


def _series(t_s: Floats, sent: Floats) -> RateSeries:
    return RateSeries.from_counter(np.round(t_s * 1e9).astype(np.int64), np.round(sent).astype(np.int64))


@pytest.mark.parametrize("traffic", [_steady, _job(20.3, 0.5), _job(60.1, 0.2)])
@pytest.mark.parametrize("poll_s", [0.35, 0.5, 0.8])
def test_a_busy_counter_that_is_copied_now_and_then_is_marked_by_how_much_it_repeats(
    poll_s: float, traffic: Callable[[Floats], Floats]
) -> None:
    rng = np.random.default_rng(1)
    polls_s = _polls_s(rng, poll_s=poll_s)
    seen_s = _copies_s(rng, polls_s)
    series = _series(polls_s, traffic(seen_s))
    is_busy = traffic(seen_s + 0.5) - traffic(seen_s - 0.5) > 0.99 * RATE
    true_frac = float(np.mean(np.diff(seen_s)[is_busy[1:]] == 0))
    assert series.refresh_s is None
    assert series.repeated_frac == pytest.approx(true_frac, rel=0.25)
    found = profile(series)
    assert found.repeated_frac == series.repeated_frac
    assert any(f"{100 * series.repeated_frac:.2g} % of the readings repeat" in text for text in found.warnings)


def _intervals_s(rng: np.random.Generator, *, kind: str, mean_s: float) -> Floats:
    drawn: Floats = rng.exponential(mean_s, 40_000) if kind == "exponential" else rng.uniform(0.5, 1.5, 40_000) * mean_s
    return drawn


@pytest.mark.parametrize("kind", ["exponential", "uniform"])
@pytest.mark.parametrize("reads_a_copy", [2.0, 3.0, 5.0, 8.0, 12.0])
def test_a_counter_that_repeats_at_most_reads_is_marked_as_such(kind: str, reads_a_copy: float) -> None:
    rng = np.random.default_rng(5)
    polls_s = 0.01 * np.arange(1, 6001)
    copies_s = np.cumsum(_intervals_s(rng, kind=kind, mean_s=0.01 * reads_a_copy))
    seen_s = np.append(copies_s, 0.0)[np.searchsorted(copies_s, polls_s, side="right") - 1]
    series = _series(polls_s, _job(1.0, 0.4)(seen_s) + 0.02 * RATE * seen_s)
    assert series.refresh_s is None
    assert series.repeated_frac == pytest.approx(float(np.mean(np.diff(seen_s) == 0)), rel=0.1)


@pytest.mark.parametrize("reads_a_burst", [6.6, 9.4, 14.2, 33.0])
@pytest.mark.parametrize("unequal", [1.0, 3.0])
def test_bursts_are_no_copies_however_long_the_pauses_before_them(reads_a_burst: float, unequal: float) -> None:
    rng = np.random.default_rng(6)
    polls_s = _polls_s(rng)
    gaps_s = 0.5 * reads_a_burst * (1 + 0.1 * rng.standard_normal(N_READS)) * np.tile([1, unequal], N_READS // 2)
    sent = RATE * np.cumsum(np.tile([1.0, unequal], N_READS // 2))
    series = _series(polls_s, np.append(0.0, sent)[np.searchsorted(np.cumsum(gaps_s), polls_s, side="right")])
    assert series.repeated_frac == 0.0


@pytest.mark.parametrize("reads_a_period", [4.4, 5.3, 6.6, 9.4, 14.2, 40.6])
@pytest.mark.parametrize("duty_frac", [0.2, 0.4, 0.6, 0.8, 1.0])
def test_pauses_of_a_job_are_no_repeats(reads_a_period: float, duty_frac: float) -> None:
    polls_s = _polls_s(np.random.default_rng(2))
    series = _series(polls_s, _job(0.5 * reads_a_period, duty_frac)(polls_s))
    assert series.repeated_frac == 0.0
    assert profile(series).repeated_frac is None


def test_an_idle_counter_is_not_marked() -> None:
    rng = np.random.default_rng(3)
    polls_s = _polls_s(rng)
    found = profile(_series(polls_s, _copies_s(rng, polls_s) * 100))
    assert (found.status, found.repeated_frac) == ("idle", None)


def test_a_counter_whose_clock_is_found_is_not_marked() -> None:
    rng = np.random.default_rng(4)
    polls_s = _polls_s(rng, poll_s=0.57)
    series = _series(polls_s, _job(20.3, 0.5)(_copies_s(rng, polls_s, spread_frac=0.0)))
    assert series.refresh_s == pytest.approx(1.0, rel=1e-3)
    assert series.repeated_frac == 0.0


def test_busy_ports_of_a_real_fabric_would_be_marked_were_their_clock_not_found() -> None:
    counters, _ = read_counters(shared("zhejianglab/Leaf-5_3_1.csv.gz"), mapping="zhejianglab")
    moves = [(RateSeries.from_deltas(t_ns, value[1:]), value[1:].astype(float)) for _, t_ns, value, _ in counters]
    assert [(series.refresh_s is not None, series.repeated_frac) for series, _ in moves] == [(True, 0.0)] * 2
    assert all(repeated_frac(moved) > 0.1 for _, moved in moves)
