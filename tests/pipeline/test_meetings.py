"""Who meets on which link, with what demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.meetings import Meeting, demand_on, find_meetings, job_profiles, own_profiles
from profiler.phases import TrafficProfile

CAPACITY_BPS = 400e6


def burst(width_s: float, rate_bps: float, *, period_s: float = 0.25, peak_bps: float | None = None) -> TrafficProfile:
    profile = TrafficProfile.from_phases(period_s=period_s, phases=[(0.0, width_s, rate_bps)])
    up, down = profile.phases
    return replace(profile, phases=(replace(up, peak_bps=peak_bps or rate_bps), down))


def meeting(**load_frac: float) -> Meeting:
    return Meeting(link="trunk", direction="forward", capacity_bps=CAPACITY_BPS, load_frac=load_frac)


def row(link: str, direction: str, job: str, load_frac: float | None) -> dict[str, object]:
    return {"link_id": link, "direction": direction, "capacity_bps": 1e9, "job_id": job, "load_frac": load_frac}


def test_rows_become_one_meeting_a_link_and_direction() -> None:
    rows = [row("x", "backward", "A", 1.0), row("x", "backward", "B", 0.5), row("x", "forward", "A", 2.0)]
    found = find_meetings([*rows, row("x", "forward", "C", None)])
    assert [(one.link, one.direction, one.load_frac) for one in found] == [
        ("x", "backward", {"A": 1.0, "B": 0.5}),
        ("x", "forward", {"A": 2.0, "C": 1.0}),
    ]


def test_a_job_without_a_series_has_no_data_and_a_reason() -> None:
    known = burst(0.1, 1e6)
    rows: list[dict[str, Any]] = [
        {"job_id": "A", "series_id": 7, "reason": None},
        {"job_id": "B", "series_id": None, "reason": "no counter"},
    ]
    found = job_profiles(rows, {7: known})
    assert found["A"] is known
    assert (found["B"].status, found["B"].reason) == ("no_data", "no counter")


def test_a_job_hindered_on_a_contended_link_is_corrected() -> None:
    # 160 ms at 250 Mbit/s, 400 where nothing hinders: alone it needs 100 ms, and the period is 60 ms shorter.
    hindered = burst(0.16, 250e6, period_s=0.31, peak_bps=400e6)
    own = own_profiles(
        {"A": hindered, "B": hindered}, [meeting(A=1.0, B=1.0)], bottlenecks_bps={"A": CAPACITY_BPS, "B": CAPACITY_BPS}
    )
    assert own["A"].period_s == pytest.approx(0.25)
    assert own["A"].up_s == pytest.approx(0.1)
    assert len(own["A"].warnings) == 1


def test_jobs_whose_peaks_fit_are_taken_at_face_value() -> None:
    slow = burst(0.16, 100e6, period_s=0.31, peak_bps=150e6)
    own = own_profiles(
        {"A": slow, "B": slow}, [meeting(A=1.0, B=1.0)], bottlenecks_bps={"A": CAPACITY_BPS, "B": CAPACITY_BPS}
    )
    assert (own["A"].period_s, own["A"].warnings) == (0.31, ())


def test_a_correction_within_noise_is_none() -> None:
    steady = replace(burst(0.1, 399.9e6, peak_bps=400e6), jitter_frac=0.01)
    own = own_profiles(
        {"A": steady, "B": steady}, [meeting(A=1.0, B=1.0)], bottlenecks_bps={"A": CAPACITY_BPS, "B": CAPACITY_BPS}
    )
    assert (own["A"].period_s, own["A"].jitter_frac, own["A"].warnings) == (0.25, 0.01, ())


def test_a_job_without_a_meeting_is_only_limited_by_its_path() -> None:
    own = own_profiles({"A": burst(0.05, 800e6)}, [], bottlenecks_bps={"A": CAPACITY_BPS})
    assert own["A"].up_s == pytest.approx(0.1)
    free = own_profiles({"A": burst(0.05, 800e6)}, [], bottlenecks_bps={"A": None})
    assert free["A"].up_s == pytest.approx(0.05)


def test_a_jobs_demand_is_its_profile_times_its_load() -> None:
    profile = replace(burst(0.1, 100e6), fold_bps=np.array([100e6, 0.0]))
    demand = demand_on(meeting(A=0.5, B=1.0), {"A": profile, "B": profile})
    assert demand["B"] is profile
    assert [phase.rate_bps for phase in demand["A"].phases] == [50e6, 0.0]
    assert demand["A"].peak_bps == 50e6
    assert demand["A"].mean_bps == pytest.approx(20e6)
    assert demand["A"].fold_bps.tolist() == [50e6, 0.0]


@pytest.mark.parametrize(("shared_frac", "apart"), [(0.0, True), (0.02, True), (0.1, False), (None, False)])
def test_a_job_seen_clear_of_the_others_was_not_hindered(shared_frac: float | None, *, apart: bool) -> None:
    profiles = {"A": burst(0.1, 300e6, peak_bps=400e6), "B": burst(0.1, 300e6, peak_bps=400e6)}
    together = replace(meeting(A=1.0, B=1.0), shared_frac=shared_frac)
    own = own_profiles(profiles, [together], bottlenecks_bps=dict.fromkeys(profiles, CAPACITY_BPS))
    assert together.was_kept_apart(profiles) == apart
    assert (own["A"].period_s == profiles["A"].period_s) == apart


def test_the_overlap_of_a_recording_goes_to_its_link_and_direction() -> None:
    rows = [row("x", "backward", "A", 1.0), row("x", "backward", "B", 1.0), row("x", "forward", "A", 1.0)]
    told = {"link_id": "x", "direction": "backward", "shared_frac": 0.2}
    for uncounted_jobs, shared_frac in ((None, 0.2), ("B", None)):
        found = find_meetings(rows, overlaps=[{**told, "uncounted_jobs": uncounted_jobs}])
        assert [one.shared_frac for one in found] == [shared_frac, None]


@pytest.mark.parametrize(("alone_s", "shared_s"), [(0.014, 0.2), (0.02, 0.188), (0.0, 0.228)])
def test_a_job_that_is_never_seen_free_is_corrected_to_what_the_full_link_leaves(
    alone_s: float, shared_s: float
) -> None:
    # Two jobs of 141 ms and 45.6 Mbit, the one ``alone_s`` behind the other: each sends so long at 400 Mbit/s, and
    # at half of that while both do. No iteration is free of the other, so the fastest are as slow as all.
    up_s = alone_s + shared_s
    both = burst(up_s, 45.6e6 / up_s, period_s=0.141 + up_s)
    met = replace(meeting(A=1.0, B=1.0), shared_frac=shared_s / (0.141 + up_s))
    own = own_profiles({"A": both, "B": both}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
    for profile in own.values():
        assert profile.period_s == pytest.approx(0.255)
        assert profile.up_s == pytest.approx(0.114)


def test_a_job_that_is_often_free_is_taken_at_its_fastest_iterations() -> None:
    half = burst(0.16, 250e6, period_s=0.31, peak_bps=320e6)
    met = replace(meeting(A=1.0, B=1.0), shared_frac=0.5 * 0.16 / 0.31)
    own = own_profiles({"A": half, "B": half}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
    assert own["A"].up_s == pytest.approx(0.16 * 250 / 320)


def test_two_jobs_that_ask_for_more_than_the_link_are_seen_to_do_so_though_no_counter_exceeds_it() -> None:
    # 90 ms, then 64 Mbit each: alone 250 ms; together 95 % of the Up time is shared.
    up_s, shared_s = 0.312, 0.304
    both = burst(up_s, 64e6 / up_s, period_s=0.09 + up_s)
    met = replace(meeting(A=1.0, B=1.0), shared_frac=shared_s / (0.09 + up_s))
    own = own_profiles({"A": both, "B": both}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
    assert sum(profile.mean_bps or 0.0 for profile in demand_on(met, own).values()) == pytest.approx(2 * 64e6 / 0.25)


def test_jobs_that_send_more_than_the_link_carries_were_not_hindered_by_it() -> None:
    # 100 ms at 300 Mbit/s each, 80 of them together: 600 Mbit/s, on a link of 400.
    free = burst(0.1, 300e6)
    met = replace(meeting(A=1.0, B=1.0), shared_frac=0.08 / 0.25)
    own = own_profiles({"A": free, "B": free}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
    assert own["A"].period_s == 0.25
    assert own["A"].up_s == pytest.approx(0.1)


def test_jobs_that_lock_to_a_common_pattern_are_taken_apart_into_their_iterations() -> None:
    # Seen on the rig: 255 and 170 ms, 45.2 and 23.9 Mbit an iteration, locked 2 to 3 in 598 ms.
    def locked(*bursts: tuple[float, float], silence_s: float) -> TrafficProfile:
        phases, start_s = [], 0.0
        for width_s, volume_bits in bursts:
            phases.append((start_s, width_s, volume_bits / width_s))
            start_s += width_s + silence_s
        found = TrafficProfile.from_phases(period_s=start_s, phases=phases)
        return replace(found, period_error_s=1e-4)

    slow = locked((0.161, 45.2e6), (0.148, 45.2e6), silence_s=0.144)
    fast = locked((0.059, 23.9e6), (0.099, 23.9e6), (0.113, 23.9e6), silence_s=0.109)
    met = replace(meeting(A=1.0, B=1.0), shared_frac=0.3)
    own = own_profiles({"A": slow, "B": fast}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
    # What the freest iteration reached: 45.2 Mbit in 148 ms, and 23.9 Mbit at all that the link carries.
    assert own["A"].period_s == pytest.approx(0.144 + 0.148, rel=1e-6)
    assert own["B"].period_s == pytest.approx(0.109 + 23.9e6 / CAPACITY_BPS, rel=1e-6)
    assert [phase.kind for phase in own["B"].phases] == ["up", "down"]
    assert "of 3 like bursts, each an iteration" in own["B"].warnings[-1]


def test_bursts_of_unlike_bytes_or_silences_stay_one_iteration() -> None:
    for phases in ([(0.0, 0.1, 300e6), (0.2, 0.1, 200e6)], [(0.0, 0.1, 300e6), (0.15, 0.1, 300e6)]):
        two = replace(TrafficProfile.from_phases(period_s=0.4, phases=phases), period_error_s=1e-4)
        met = replace(meeting(A=1.0, B=1.0), shared_frac=0.2)
        own = own_profiles({"A": two, "B": two}, [met], bottlenecks_bps=dict.fromkeys("AB", CAPACITY_BPS))
        assert own["A"].period_s == pytest.approx(0.4)
