"""Slots, profiles held to them, and profiles as they would be without the other jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.compat.congestion import own_profile
from pipeline.compat.demand import demand_of
from pipeline.compat.levels import Excess
from pipeline.compat.paced import paced_shifts
from pipeline.compat.pacing import held_profile, plan_slots, stretch_of
from profiler.errors import UsageError
from profiler.phases import Phase, TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, measured, vgg


@pytest.mark.parametrize(("jitter_frac", "stretch"), [(None, 0.02), (0.01, 0.02), (0.03, 0.02), (0.08, 0.045)])
def test_slot_is_as_much_longer_as_jitter_asks(jitter_frac: float | None, stretch: float) -> None:
    assert stretch_of(replace(vgg(), jitter_frac=jitter_frac)) == pytest.approx(stretch)


def test_measured_jobs_get_the_slack_that_held_real_ones() -> None:
    slots = plan_slots({name: measured(vgg(), error_s=1e-4, jitter_frac=0.006) for name in "AB"})
    assert slots.period_s == pytest.approx(0.255 * 1.04)


def test_fast_job_gets_a_whole_fraction_of_the_slot_and_loses_nothing_more() -> None:
    slots = plan_slots({"slow": vgg(period_s=0.3), "fast": vgg(period_s=0.1, up_s=0.02), "odd": vgg(period_s=0.2)})
    assert slots.period_s == pytest.approx(0.306, rel=1e-6)
    assert slots.slot_s["fast"] * 3 == pytest.approx(slots.period_s)
    assert slots.slot_s["odd"] == slots.period_s
    assert slots.stretch_frac["odd"] == pytest.approx(0.53)


def test_common_slot_gives_way_a_little_so_that_a_fast_job_keeps_its_fraction() -> None:
    slots = plan_slots({"slow": vgg(period_s=0.3), "fast": vgg(period_s=0.1015, up_s=0.02)})
    assert slots.period_s == pytest.approx(3 * 0.1015 * 1.02, rel=1e-6)
    assert slots.slot_s["fast"] * 3 == pytest.approx(slots.period_s)


def test_held_job_keeps_its_phases_and_waits_before_the_first() -> None:
    profile = TrafficProfile.from_phases(period_s=0.2, phases=[(0.0, 0.05, 1e9), (0.08, 0.02, 2e9)])
    held = demand_of(held_profile(profile, slot_s=0.25))
    assert held.period_ns == 250_000_000
    assert held.edges_ns.tolist() == demand_of(profile).edges_ns.tolist()
    assert held.rate_bps.tolist() == demand_of(profile).rate_bps.tolist()


def test_slot_shorter_than_the_job_is_refused() -> None:
    with pytest.raises(UsageError, match=r"slot 0\.2 s: shorter than the job's own period 0\.255 s"):
        held_profile(vgg(), slot_s=0.2)


def test_two_held_vgg_jobs_are_half_a_slot_apart() -> None:
    paced = paced_shifts({"A": vgg(), "B": vgg()}, excess=Excess.over(CAPACITY_BPS), rng=np.random.default_rng(0))
    a, b = paced.shifts
    assert paced.excess_bps == 0
    assert a.pace_period_s == b.pace_period_s == pytest.approx(0.255 * 1.02, rel=1e-6)
    assert a.shift_s == 0
    assert b.shift_s == pytest.approx(0.255 * 1.02 / 2, rel=1e-6)


def shared_vgg(*, peak_bps: float | None = 380e6) -> TrafficProfile:
    """114 ms of sending at 380 Mbit/s that took 150 ms because another job used the link as well."""
    up_s = 0.150
    phases = (
        Phase(kind="up", start_s=0.0, width_s=up_s, rate_bps=0.114 * 380e6 / up_s, peak_bps=peak_bps),
        Phase(kind="down", start_s=up_s, width_s=0.141, rate_bps=0.0, peak_bps=0.0),
    )
    profile = TrafficProfile(status="periodic", period_s=0.291, phases=phases, fold_bps=np.zeros(0), device="t1")
    return measured(profile, error_s=1e-3, jitter_frac=0.13)


def test_hindered_profile_is_taken_back_to_what_the_job_does_alone() -> None:
    own, (warning,) = own_profile(shared_vgg(), capacity_bps=CAPACITY_BPS, contended=True)
    up, down = own.phases
    assert own.period_s == pytest.approx(0.255)
    assert up.width_s == pytest.approx(0.114)
    assert up.rate_bps == 380e6
    assert (down.start_s, down.width_s) == pytest.approx((0.114, 0.141))
    assert own.jitter_frac is None
    assert "291 ms" in warning
    assert "255 ms" in warning


def test_phase_cannot_have_been_faster_than_the_link() -> None:
    own, _ = own_profile(shared_vgg(peak_bps=900e6), capacity_bps=CAPACITY_BPS, contended=True)
    assert own.phases[0].rate_bps == CAPACITY_BPS
    assert own.phases[0].width_s == pytest.approx(0.114 * 380 / 400)


@pytest.mark.parametrize(
    ("profile", "contended"), [(shared_vgg(), False), (shared_vgg(peak_bps=None), True), (vgg(), True)]
)
def test_profile_that_nothing_hindered_stays_as_it_is(profile: TrafficProfile, contended: bool) -> None:
    assert own_profile(profile, capacity_bps=CAPACITY_BPS, contended=contended) == (profile, ())
