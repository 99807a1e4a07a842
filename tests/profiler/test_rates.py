from __future__ import annotations

import numpy as np
import pytest

from profiler.errors import BadInput
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.store import Series

SECOND = 1_000_000_000
WORDS = Series(
    host="h", device="mlx5_0", direction="transmit", layer="rdma_vport", kind="counter", raw_scale=4.0, width_bits=32
)
PORT = Series(host="h", device="eth0", direction="receive", layer="netdev")
DELTAS = Series(host="leaf", device="p1", direction="receive", layer="wire", kind="delta")


def test_words_of_4_bytes_make_a_32_bit_counter_wrap_at_34_bits_of_bytes() -> None:
    total = 2**34 - 40_000 + 4000 * np.arange(30)
    rate = rate_series(WORDS, t_ns=np.arange(30) * SECOND, value=total % 2**34)
    assert rate.delta_bytes.tolist() == [4000.0] * 29
    assert np.flatnonzero(rate.flags == Flag.WRAP).tolist() == [9]


def test_a_rate_has_the_names_of_its_series() -> None:
    rate = rate_series(WORDS, t_ns=np.arange(3) * SECOND, value=np.arange(3))
    assert (rate.host, rate.device, rate.direction, rate.layer) == ("h", "mlx5_0", "transmit", "rdma_vport")


def test_the_first_delta_has_no_window() -> None:
    rate = rate_series(DELTAS, t_ns=np.array([1, 2, 4]) * SECOND, value=np.array([100, 125, 250]))
    assert rate.delta_bytes.tolist() == [125.0, 250.0]
    assert rate.rate_bps.tolist() == [1000.0, 1000.0]


def test_deltas_whose_times_go_back_are_refused() -> None:
    with pytest.raises(BadInput, match="does not come after"):
        rate_series(DELTAS, t_ns=np.array([1, 3, 2]), value=np.ones(3, dtype=np.int64))


def test_what_the_recorder_knew_of_a_poll_stays_with_its_tick() -> None:
    polls_s = np.cumsum(np.random.default_rng(1).choice([0.5, 0.57, 0.63, 0.82], 4000))
    value = (np.floor(polls_s) * 1e6 + 1e6 * np.sin(np.floor(polls_s) / 3)).astype(np.int64)
    flags = np.zeros(4000, dtype=np.uint16)
    flags[1000] = Flag.SATURATED
    flags[2000] = Flag.MISSED
    rate = rate_series(PORT, t_ns=(polls_s * 1e9).astype(np.int64), value=value - value.min(), flags=flags)
    assert rate.refresh_s == pytest.approx(1.0, rel=1e-4)
    (saturated,) = np.flatnonzero(rate.flags & Flag.SATURATED)
    assert rate.edges_ns[saturated + 1] / 1e9 == pytest.approx(np.floor(polls_s[1000]), abs=0.05)
    assert not rate.known[saturated]
    assert np.count_nonzero(rate.flags & Flag.MISSED) >= 1


def test_a_capacity_makes_single_windows_impossible_and_a_series_suspect() -> None:
    t_ns, volumes = np.arange(101) * SECOND, np.full(101, 10**9)
    volumes[50] = 10**11
    rate = rate_series(DELTAS, t_ns=t_ns, value=volumes, capacity_bps=10e9)
    assert np.flatnonzero(rate.flags == Flag.IMPOSSIBLE).tolist() == [49]
    assert rate.notes == ()
    suspect = rate_series(DELTAS, t_ns=t_ns, value=4 * np.full(101, 10**9), capacity_bps=10e9)
    assert not suspect.flags.any()
    assert "divide by 4" in suspect.notes[0]


def test_nothing_and_one_reading_make_an_empty_rate() -> None:
    for n_readings in (0, 1):
        for series in (PORT, DELTAS):
            rate = rate_series(
                series,
                t_ns=np.arange(n_readings),
                value=np.arange(n_readings),
                flags=np.zeros(n_readings, dtype=np.uint16),
            )
            assert rate.n_samples == 0
