"""What changes nothing about a job must change nothing about its period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from profiler import RateSeries
from profiler.period import PeriodEstimate, detect_period
from profiler.synth import Burst, Labelled, training_job

N_CYCLES, PER_CYCLE = 40, 80
PERIOD_S, DT_S = 0.4, 0.005
BURSTS = [Burst(0.3, 0.2, 4e8), Burst(0.65, 0.15, 2e8)]


def _job(seed: int) -> Labelled:
    return training_job(
        np.random.default_rng(seed),
        period_s=PERIOD_S,
        bursts=BURSTS,
        duration_s=N_CYCLES * PERIOD_S,
        dt_s=DT_S,
        jitter_frac=0.01,
    )


def _found(volumes: NDArray[np.float64], *, t0_ns: int = 0) -> PeriodEstimate:
    edges_ns = t0_ns + np.arange(volumes.size + 1) * round(DT_S * 1e9)
    return detect_period(RateSeries.from_deltas(edges_ns, volumes))


@settings(max_examples=10, deadline=None)
@given(scale=st.floats(1e-3, 1e3), seed=st.integers(0, 10**4))
def test_scale_changes_neither_the_period_nor_how_sure_it_is(scale: float, seed: int) -> None:
    volumes = _job(seed).series.delta_bytes
    plain, scaled = _found(volumes), _found(volumes * scale)
    assert scaled.period_s == pytest.approx(plain.period_s, rel=1e-9)
    assert scaled.confidence == pytest.approx(plain.confidence, rel=1e-6)
    assert scaled.starts_s == pytest.approx(plain.starts_s)


@settings(max_examples=10, deadline=None)
@given(t0_s=st.integers(0, 4 * 10**9), seed=st.integers(0, 10**4))
def test_the_date_changes_neither_the_period_nor_where_iterations_start(t0_s: int, seed: int) -> None:
    volumes = _job(seed).series.delta_bytes
    plain, moved = _found(volumes), _found(volumes, t0_ns=t0_s * 10**9)
    assert moved.period_s == plain.period_s
    assert np.array_equal(moved.starts_s, plain.starts_s)


@settings(max_examples=10, deadline=None)
@given(n_bins=st.integers(1, N_CYCLES * PER_CYCLE - 1), seed=st.integers(0, 10**4))
def test_a_recording_rolled_about_has_the_period_of_the_recording(n_bins: int, seed: int) -> None:
    volumes = _job(seed).series.delta_bytes
    assert _found(np.roll(volumes, n_bins)).period_s == pytest.approx(_found(volumes).period_s, rel=0.005)


@settings(max_examples=8, deadline=None)
@given(n_times=st.integers(2, 4), seed=st.integers(0, 10**4))
def test_a_recording_repeated_has_the_period_of_the_recording(n_times: int, seed: int) -> None:
    volumes = _job(seed).series.delta_bytes
    once, again = _found(volumes), _found(np.tile(volumes, n_times))
    assert again.period_s == pytest.approx(once.period_s, rel=0.005)
    assert again.others == ()


@settings(max_examples=10, deadline=None)
@given(share=st.floats(0.0, 1.0), seed=st.integers(0, 10**4))
def test_a_steady_load_on_the_same_counter_changes_no_period(share: float, seed: int) -> None:
    volumes = _job(seed).series.delta_bytes
    assert _found(volumes + share * volumes.max()).period_s == pytest.approx(_found(volumes).period_s, rel=0.005)


@settings(max_examples=10, deadline=None)
@given(n_samples=st.integers(0, 400), seed=st.integers(0, 10**4))
def test_a_part_of_a_recording_gives_the_period_or_none(n_samples: int, seed: int) -> None:
    found = _found(_job(seed).series.delta_bytes[:n_samples])
    assert found.period_s is None or found.period_s == pytest.approx(PERIOD_S, rel=0.02)
    assert found.reason
