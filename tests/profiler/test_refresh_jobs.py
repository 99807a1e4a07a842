"""Silences and bursts of jobs are no clocks, wherever they fall among the polls; and clocks are found nevertheless."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.cli.profile_table import readable_rows
from profiler import RateSeries, profile
from profiler.rates import rate_series
from profiler.refresh import refresh_of_moves
from profiler.sources import read_rates
from profiler.store import Series
from tests.data import shared

Floats = NDArray[np.floating[Any]]

N_POLLS = 3000
BYTES_PER_POLL = 1e9


def _polls(rng: np.random.Generator, *, spacing: str) -> Floats:
    """Return times of polls in typical gaps between them."""
    if spacing == "uneven":
        return np.cumsum(rng.choice([0.88, 0.99, 1.1, 1.45], size=N_POLLS, p=[0.2, 0.5, 0.2, 0.1]))
    t = np.arange(N_POLLS) * 1.0
    return t[rng.random(N_POLLS) > 0.02] if spacing == "lossy" else t + rng.uniform(-1, 1, N_POLLS) * 0.01


def _seen(
    rng: np.random.Generator, t: Floats, *, period: float, duty_frac: float, jitter_frac: float, n_bursts: int
) -> NDArray[np.float64]:
    """Return what polls see of a job with bursts of several sizes an iteration and nothing between them."""
    n_cycles = int(t[-1] / period * 1.3) + 5
    lengths = period * (1 + jitter_frac * np.clip(rng.standard_normal(n_cycles), -2.5, 2.5))
    starts = np.cumsum(lengths) - lengths[0] - rng.uniform(0, period)
    widths = rng.dirichlet(np.full(n_bursts, 3.0)) * duty_frac * period
    pauses = rng.dirichlet(np.full(n_bursts, 2.0)) * (1 - duty_frac) * period
    offsets = np.cumsum(widths + pauses) - widths - pauses
    heights = rng.uniform(0.3, 1.0, n_bursts) * BYTES_PER_POLL
    total = np.zeros(t.size)
    for offset, width, height in zip(offsets, widths, heights, strict=True):
        knots = np.stack([starts + offset, starts + offset + width], axis=1).ravel()
        moved = np.cumsum(np.tile([0.0, height * width], n_cycles))
        total += np.interp(t, np.maximum.accumulate(knots), moved)
    return np.floor(np.diff(total) * (1 + 0.005 * rng.standard_normal(t.size - 1))).astype(np.float64)


def _ns(t: Floats) -> NDArray[np.int64]:
    return 10**18 + np.round(t * 1e9).astype(np.int64)


@pytest.mark.parametrize("spacing", ["even", "lossy", "uneven"])
@pytest.mark.parametrize("jitter_frac", [0.0, 0.01])
@pytest.mark.parametrize("base_frac", [0.0, 1e-3, 0.2])
def test_no_job_is_taken_for_a_clock(spacing: str, jitter_frac: float, base_frac: float) -> None:
    taken = []
    for i, period in enumerate(np.geomspace(1.23, 230.7, 60)):
        rng = np.random.default_rng([1, i])
        t, duty_frac, n_bursts = _polls(rng, spacing=spacing), rng.uniform(0.1, 0.7), int(rng.integers(1, 5))
        seen = _seen(rng, t, period=period, duty_frac=duty_frac, jitter_frac=jitter_frac, n_bursts=n_bursts)
        seen += np.floor(base_frac * BYTES_PER_POLL * np.diff(t) * rng.gamma(50, 0.02, seen.size))
        found = refresh_of_moves(_ns(t), seen)
        if found is not None:
            taken.append((period, duty_frac, n_bursts, found.interval_s))
    assert taken == []


@pytest.mark.parametrize("duty_frac", [0.2, 0.3, 0.4, 0.5, 0.8])
def test_bursts_of_a_few_polls_at_exact_intervals_are_no_fast_clock(duty_frac: float) -> None:
    for period in np.arange(2.2, 14.0, 0.1):
        rng = np.random.default_rng([2, round(100 * period)])
        t = np.arange(N_POLLS) * 1.0
        seen = _seen(rng, t, period=period, duty_frac=duty_frac, jitter_frac=0.0, n_bursts=1)
        assert refresh_of_moves(_ns(t), seen) is None, period


@pytest.mark.parametrize("ratio", [*np.arange(1.05, 4.41, 0.05), *np.arange(1.97, 2.34, 0.013)])
def test_a_clock_of_any_interval_is_found_and_never_its_mirror(ratio: float) -> None:
    rng = np.random.default_rng([3, round(1000 * ratio)])
    t = np.arange(N_POLLS) * 1.0
    ticks = (np.arange(-2, N_POLLS / ratio + 2) + 0.3) * ratio
    total = np.floor(np.cumsum(rng.gamma(4, 1e8, ticks.size)))
    seen = np.diff(total[np.searchsorted(ticks, t, side="right") - 1])
    found = refresh_of_moves(_ns(t), seen)
    assert found is not None
    assert found.interval_s == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize("ratio", [2.24, 2.27, 2.3])
def test_neither_a_refresh_of_two_polls_and_a_quarter_nor_its_multiple_is_a_period(ratio: float) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(4000) * 1.0
    total = np.append(0, np.cumsum(rng.gamma(4, 1e8, int(4000 / ratio) + 3)))
    value = total[np.clip(np.floor((t - 0.3) / ratio).astype(int) + 1, 0, total.size - 1)]
    assert profile(RateSeries.from_counter(_ns(t), value.astype(np.uint64))).period_s is None


@pytest.mark.parametrize("name", ["Leaf-14_all_ports.tar.xz", "Leaf-5_3_1.csv.gz", "Leaf-16_3_2.csv.gz"])
def test_a_series_rebuilt_at_its_ticks_has_no_clock_left(name: str) -> None:
    rates, _ = read_rates(shared(f"zhejianglab/{name}"), mapping="zhejianglab")
    rebuilt = [rate for rate in rates if rate.refresh_s is not None]
    assert rebuilt
    for rate in rebuilt:
        total = np.concatenate(([0.0], np.cumsum(rate.delta_bytes))).astype(np.uint64)
        assert RateSeries.from_counter(rate.edges_ns, total).refresh_s is None


def _totals(polls: Floats, starts: Floats, *, width: float, burst_bytes: float = 2e6) -> NDArray[np.int64]:
    """Return what a live counter shows of equal bursts."""
    knots = np.stack([starts, starts + width], axis=1).ravel()
    moved = np.repeat(np.arange(starts.size + 1.0), 2)[1:-1] * burst_bytes
    return np.floor(np.interp(polls, knots, moved)).astype(np.int64)


def _look(*, width: float, seed: int = 11) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return reads each 10 ms of a job that sends 2 MB each 250 ms, in bursts of a width in seconds."""
    rng = np.random.default_rng(seed)
    polls = np.cumsum(0.01 + rng.uniform(-0.004, 0.004, 1200))
    starts = np.arange(0.1, 12.0, 0.25)
    return _ns(polls), _totals(polls, starts, width=width)


@pytest.mark.parametrize("layer", ["socket", "capture", "collective"])
@pytest.mark.parametrize("kind", ["counter", "delta"])
def test_what_software_counts_has_no_clock_but_the_jobs_beat(layer: str, kind: Literal["counter", "delta"]) -> None:
    t_ns, value = _look(width=1e-4)
    series = Series(host="h", device="pid1", direction="transmit", layer=layer, kind=kind)
    rate = rate_series(series, t_ns=t_ns, value=value if kind == "counter" else np.diff(value, prepend=0))
    assert (rate.refresh_s, rate.n_stale) == (None, 0)
    assert profile(rate).period_s == pytest.approx(0.25, rel=1e-3)


def test_bursts_that_polls_split_are_no_copies_of_a_counter() -> None:
    t_ns, value = _look(width=6e-4, seed=4)
    # 2 of the 48 bursts show at two polls each.
    assert np.count_nonzero(np.diff(value)) == 50
    assert profile(RateSeries.from_counter(t_ns, value)).period_s == pytest.approx(0.25, rel=1e-3)


def test_what_may_be_a_refresh_or_a_job_is_neither_steady_nor_periodic_and_the_table_says_so() -> None:
    rate = RateSeries.from_counter(*_look(width=1e-6))
    assert rate.refresh_s == pytest.approx(0.25, rel=1e-3)
    found = profile(rate)
    assert (found.status, found.period_s) == ("undersampled", None)
    (row,) = readable_rows(found)
    assert "250 ms" in row["note"]
    assert "refresh" in row["note"]
    assert "job" in row["note"]
    assert "--pid" in row["note"]


def test_a_refresh_through_which_the_pauses_of_a_job_are_seen_is_in_no_doubt() -> None:
    polls = np.arange(3000) * 0.01
    live = _totals(polls, np.arange(0.1, 30.0, 2.9), width=1.3)
    copied = live[np.searchsorted(polls, np.floor((polls - 0.003) / 0.1) * 0.1 + 0.003, side="right") - 1]
    rate = RateSeries.from_counter(_ns(polls), copied)
    assert rate.refresh_s == pytest.approx(0.1, rel=1e-3)
    assert not rate.is_refresh_moot


@pytest.mark.parametrize(("period_s", "up_s"), [(20.0, 8.0), (26.3, 9.0), (26.3, 13.0), (28.5, 15.0), (15.2, 8.0)])
def test_long_bursts_at_round_times_do_not_hide_a_clock(period_s: float, up_s: float) -> None:
    polls_s = np.arange(6400) * 0.57
    cycle, rest_s = np.divmod(np.floor(polls_s), period_s)
    value = np.round((cycle * up_s + np.minimum(rest_s, up_s)) * 7e9 / 8).astype(np.uint64)
    refresh_s = RateSeries.from_counter(_ns(polls_s), value).refresh_s
    assert refresh_s == pytest.approx(1.0, abs=1e-4)
