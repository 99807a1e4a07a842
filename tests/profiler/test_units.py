from __future__ import annotations

import pytest

from profiler.errors import UsageError
from profiler.units import format_bytes, format_duration, format_rate, parse_duration_s, parse_rate_bps


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [("50Gbps", 50e9), ("400Mbit/s", 400e6), ("1GB/s", 8e9), ("1.5 Tbps", 1.5e12), ("1000", 1000.0), ("2.5e9", 2.5e9)],
)
def test_rates_are_read_with_their_unit(text: str, rate_bps: float) -> None:
    assert parse_rate_bps(text) == rate_bps


@pytest.mark.parametrize("text", ["", "fast", "-1Gbps", "0Gbps", "10 apples", "1e999"])
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"50Gbps|positive"):
        parse_rate_bps(text)


@pytest.mark.parametrize(
    ("text", "duration_s"), [("255ms", 0.255), ("20s", 20), ("5min", 300), ("1h", 3600), ("7us", 7e-6)]
)
def test_durations_are_read_with_their_unit(text: str, duration_s: float) -> None:
    assert parse_duration_s(text) == pytest.approx(duration_s)


@pytest.mark.parametrize("text", ["5", "", "-3s", "0s", "3 days"])
def test_a_duration_needs_a_unit(text: str) -> None:
    with pytest.raises(UsageError, match="duration"):
        parse_duration_s(text)


def test_people_see_four_digits_and_a_unit() -> None:
    assert format_rate(12_345_678_900) == "12.35 Gbit/s"
    assert format_rate(0) == "0 bit/s"
    assert format_duration(0.0000123) == "12.3 µs"
    assert format_duration(600) == "10 min"
    assert format_duration(0.255) == "255 ms"
    assert [format_duration(t_s) for t_s in (7199, 7200, 172_799, 172_800)] == ["120 min", "2 h", "48 h", "2 d"]
    assert format_duration(3_514_200) == "40.67 d"
    assert format_duration(1e9) == "1.157e+04 d"
    assert format_bytes(5_200_000) == "5.2 MB"
