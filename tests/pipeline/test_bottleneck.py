"""Traffic behind a slow link: volumes and times by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bottleneck import behind
from profiler.phases import TrafficProfile


def bursts(*phases: tuple[float, float, float], period_s: float = 1.0) -> TrafficProfile:
    return TrafficProfile.from_phases(period_s=period_s, phases=list(phases))


def spans(profile: TrafficProfile) -> list[tuple[object, ...]]:
    return [(p.kind, round(p.start_s, 9), round(p.width_s, 9), p.rate_bps) for p in profile.phases]


def test_a_burst_above_capacity_leaves_at_capacity_and_later() -> None:
    found = behind(bursts((0.0, 0.1, 800e6)), capacity_bps=400e6)
    assert spans(found) == [("up", 0.0, 0.2, 400e6), ("down", 0.2, 0.8, 0.0)]
    assert found.peak_bps == 400e6
    assert found.duty_frac == pytest.approx(0.2)


def test_a_queue_fills_the_pause_between_two_bursts() -> None:
    # 0.1 s at 800 leaves 40 Mbit waiting, which take the whole pause of 0.1 s at 400.
    found = behind(bursts((0.0, 0.1, 800e6), (0.2, 0.1, 300e6)), capacity_bps=400e6)
    assert spans(found) == [("up", 0.0, 0.2, 400e6), ("up", 0.2, 0.1, 300e6), ("down", pytest.approx(0.3), 0.7, 0.0)]


def test_a_slower_phase_drains_the_queue_with_what_is_spare() -> None:
    # 40 Mbit wait; at 200 of 400 Mbit/s spare they last 0.2 s.
    found = behind(bursts((0.0, 0.1, 800e6), (0.1, 0.4, 200e6)), capacity_bps=400e6)
    assert spans(found) == [
        ("up", 0.0, pytest.approx(0.3), 400e6),
        ("up", pytest.approx(0.3), pytest.approx(0.2), 200e6),
        ("down", 0.5, 0.5, 0.0),
    ]


def test_a_queue_may_last_into_the_next_period() -> None:
    # 0.1 s at 800 from 0.9 s on leaves 40 Mbit at the end of the period: its first 0.1 s is busy.
    late = replace(bursts((0.0, 0.05, 100e6), (0.9, 0.1, 800e6)), fold_bps=np.zeros(0))
    found = behind(late, capacity_bps=400e6)
    first, *_, last = spans(found)
    # 100 Mbit/s come in during the first 0.05 s: 300 spare, so 15 of 40 Mbit leave; the other 25 take 0.0625 s.
    assert first == ("up", 0.0, pytest.approx(0.1125), 400e6)
    assert last == ("up", pytest.approx(0.9), pytest.approx(0.1), 400e6)


@pytest.mark.parametrize("capacity_bps", [300e6, 1e9, 29e6])
def test_traffic_that_fits_or_never_fits_stays_as_it_is(capacity_bps: float) -> None:
    profile = bursts((0.0, 0.1, 300e6))
    assert behind(profile, capacity_bps=capacity_bps) is profile


def test_a_profile_without_a_period_stays_as_it_is() -> None:
    silent = TrafficProfile(status="idle", fold_bps=np.zeros(0))
    assert behind(silent, capacity_bps=1.0) is silent


def test_the_fold_passes_the_same_queue() -> None:
    fold_bps = np.where(np.arange(100) < 10, 800e6, 0.0)
    found = behind(replace(bursts((0.0, 0.1, 800e6)), fold_bps=fold_bps), capacity_bps=400e6)
    assert found.fold_bps.tolist() == np.where(np.arange(100) < 20, 400e6, 0.0).tolist()


@given(
    st.lists(st.tuples(st.floats(0.01, 0.2), st.floats(0.01, 0.2), st.floats(0, 1e9)), min_size=1, max_size=6),
    st.floats(1e6, 1e9),
)
def test_volume_is_conserved_and_capacity_is_kept(parts: list[tuple[float, float, float]], capacity_bps: float) -> None:
    starts = np.cumsum([gap_s + width_s for gap_s, width_s, _ in parts])
    phases = [(end - width_s, width_s, rate_bps) for end, (_, width_s, rate_bps) in zip(starts, parts, strict=True)]
    profile = bursts(*((start - phases[0][0], width, rate) for start, width, rate in phases), period_s=3.0)
    found = behind(profile, capacity_bps=capacity_bps)

    def volume(one: TrafficProfile) -> float:
        return sum(phase.width_s * phase.rate_bps for phase in one.phases)

    assert volume(found) == pytest.approx(volume(profile), rel=1e-9, abs=1e-3)
    assert sum(phase.width_s for phase in found.phases) == pytest.approx(3.0)
    assert found is profile or max(phase.rate_bps for phase in found.phases) <= capacity_bps
    ends = [phase.start_s + phase.width_s for phase in found.phases]
    assert [phase.start_s for phase in found.phases[1:]] == pytest.approx(ends[:-1])
