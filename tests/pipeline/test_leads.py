"""From a profile whose burst does not begin at time zero to the slots that the pacer holds: what was simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.compat.pacing import lead_of
from pipeline.shifts import recommend_shifts
from pipeline.simulation import Shift, SimulatedJob
from pipeline.simulation.plan import follow_plan
from profiler.pacer.plan import read_planned_slots
from profiler.pacer.slots import Slots
from profiler.phases import TrafficProfile
from tests.pipeline.jobs import CAPACITY_BPS, measured, solved_link

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_S = 0.255
UP_S = 0.1


def bursts(*starts_and_widths_s: tuple[float, float], rate_bps: float = CAPACITY_BPS) -> TrafficProfile:
    phases = [(start_s, width_s, rate_bps) for start_s, width_s in starts_and_widths_s]
    profile = TrafficProfile.from_phases(period_s=PERIOD_S, phases=phases)
    return measured(profile, error_s=1e-5, jitter_frac=0.03)


EARLY = bursts((0.0, UP_S))
LATE = bursts((0.1, UP_S))
THROUGH_ZERO = bursts((0.0, 0.06), (0.215, 0.04))


def slots_of(document: Mapping[str, Any], *, job: str, path: Path) -> Slots | None:
    """Return the slots that the pacer would hold by a document."""
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_planned_slots(path, job=job).to_slots(tolerance_frac=0.15)


def simulated_slots(document: Mapping[str, Any], profiles: Mapping[str, TrafficProfile]) -> dict[str, Slots]:
    """Return the slots that the simulator holds jobs to by the shifts of a document."""
    shifts = [
        Shift(job=shift["job"], shift_s=shift["shift_s"], pace_period_s=shift["pace_period_s"])
        for shift in document["shifts"]
    ]
    jobs = follow_plan([SimulatedJob.from_profile(one, name=job) for job, one in profiles.items()], shifts)
    return {
        job.name: Slots.from_times(
            period_s=job.pace.period_s,
            shift_s=job.pace.shift_s,
            anchor_ns=0,
            tolerance_frac=job.pace.tolerance_frac,
        )
        for job in jobs
        if job.pace is not None
    }


@pytest.mark.parametrize(
    "profiles", [{"A": EARLY, "B": LATE}, {"A": LATE, "B": THROUGH_ZERO}, {"A": THROUGH_ZERO, "B": EARLY}]
)
def test_the_pacer_holds_the_slots_that_were_simulated(profiles: dict[str, TrafficProfile], tmp_path: Path) -> None:
    link = solved_link("x", profiles)
    assert link.compatibility.verdict == "paced"
    for document in (link.compatibility.to_dict(), recommend_shifts([link]).to_dict()):
        expected = simulated_slots(document, profiles)
        assert set(expected) == {"A", "B"}
        assert {job: slots_of(document, job=job, path=tmp_path / "plan.json") for job in "AB"} == expected
        # Held so, the bursts keep out of each other's way: they begin at least one burst apart, around the slot.
        apart_ns = (expected["B"].origin_ns - expected["A"].origin_ns) % expected["A"].period_ns
        assert UP_S * 1e9 <= apart_ns <= expected["A"].period_ns - UP_S * 1e9


def test_leads_are_those_of_the_simulated_jobs() -> None:
    assert [lead_of(profile) for profile in (EARLY, LATE, THROUGH_ZERO)] == [0.0, 0.1, 0.215]
    never_silent = TrafficProfile.from_phases(
        period_s=PERIOD_S, phases=[(0.0, 0.1, 1e6), (0.1, 0.1, 9e6), (0.2, 0.055, 2e6)]
    )
    for profile in (EARLY, LATE, THROUGH_ZERO, never_silent):
        assert lead_of(profile) == SimulatedJob.from_profile(profile, name="A").lead_s
    assert lead_of(never_silent) == pytest.approx(0.1)


def test_a_profile_without_known_rates_has_a_lead_all_the_same() -> None:
    unknown = tuple(replace(phase, rate_bps=float("nan")) if phase.kind == "up" else phase for phase in LATE.phases)
    assert lead_of(replace(LATE, phases=unknown)) == 0.1


def test_a_job_on_several_links_leads_by_what_it_sends_most_of() -> None:
    thin = bursts((0.05, UP_S), rate_bps=0.5 * CAPACITY_BPS)
    links = [solved_link("x", {"A": thin, "B": EARLY}), solved_link("y", {"A": LATE, "C": EARLY})]
    for order in (links, links[::-1]):
        assert {shift.job: shift.lead_s for shift in recommend_shifts(order).shifts} == {"A": 0.1, "B": 0.0, "C": 0.0}
