"""From profiles to demands, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.compat.demand import Demand, demand_of
from pipeline.compat.members import members_of
from profiler.errors import UsageError
from profiler.phases import Phase, TrafficProfile
from tests.pipeline.jobs import vgg


def test_demand_has_the_profiles_edges_and_rates() -> None:
    demand = demand_of(TrafficProfile.from_phases(period_s=0.2, phases=[(0.15, 0.02, 3e9), (0.0, 0.1, 1e9)]))
    assert demand.period_ns == 200_000_000
    assert demand.edges_ns.tolist() == [0, 100_000_000, 150_000_000, 170_000_000]
    assert demand.rate_bps.tolist() == [1e9, 0, 3e9, 0]
    assert demand.mean_bps == pytest.approx((0.1 * 1e9 + 0.02 * 3e9) / 0.2)


def test_phase_that_runs_past_the_period_goes_on_at_its_start() -> None:
    demand = demand_of(TrafficProfile.from_phases(period_s=0.2, phases=[(0.15, 0.1, 1e9)]))
    assert demand.at(np.array([0, 49_999_999, 50_000_000, 150_000_000])).tolist() == [1e9, 1e9, 0, 1e9]


def test_traffic_of_down_phases_counts() -> None:
    phases = (
        Phase(kind="up", start_s=0.0, width_s=0.1, rate_bps=1e9),
        Phase(kind="down", start_s=0.1, width_s=0.1, rate_bps=1e6),
    )
    profile = TrafficProfile(status="periodic", period_s=0.2, phases=phases, fold_bps=np.zeros(0))
    assert demand_of(profile).rate_bps.tolist() == [1e9, 1e6]


def test_phases_that_touch_leave_no_sliver_between_them() -> None:
    third = 0.1 / 3
    demand = demand_of(TrafficProfile.from_phases(period_s=0.1, phases=[(i * third, third, 1e9) for i in range(3)]))
    assert demand.mean_bps == 1e9
    assert set(demand.rate_bps.tolist()) == {1e9}


def test_profile_without_a_period_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="job A: status aperiodic"):
        demand_of(TrafficProfile(status="aperiodic", fold_bps=np.zeros(0)), name="job A")


def test_phase_longer_than_its_period_says_which_and_how_long() -> None:
    # A profile checks its own phases; one whose period shrank afterwards does not.
    with pytest.raises(UsageError, match=r"0\.114 s long, longer than its period 0\.1 s"):
        replace(vgg(), period_s=0.1)


@pytest.mark.parametrize(
    ("edges", "rates", "what"),
    [
        ([0, 300], [1.0, 2.0], "within"),
        ([5, 5], [1.0, 2.0], "increase"),
        ([0], [-1.0], "rate -1.0 at 0 ns"),
        ([0, 7], [1.0, float("nan")], "rate nan at 7 ns"),
        ([], [], "one rate an edge"),
    ],
)
def test_senseless_demand_is_refused(edges: list[int], rates: list[float], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        Demand(period_ns=300, edges_ns=np.array(edges, dtype=np.int64), rate_bps=np.array(rates))


def test_only_periodic_jobs_can_be_shifted_and_the_rest_takes_capacity() -> None:
    members = members_of(
        {
            "train": vgg(),
            "storage": TrafficProfile(status="constant", mean_bps=1e8, fold_bps=np.zeros(0)),
            "serving": TrafficProfile(status="aperiodic", mean_bps=2e7, peak_bps=9e8, fold_bps=np.zeros(0)),
            "asleep": TrafficProfile(status="idle", mean_bps=0.0, fold_bps=np.zeros(0)),
        }
    )
    assert list(members.demands) == ["train"]
    assert members.background_bps == pytest.approx(1.2e8)
    assert members.background_peak_bps == pytest.approx(1e9)
    assert members.unknown == ("serving",)


def test_peak_of_a_job_that_was_never_seen_long_enough_is_not_known() -> None:
    members = members_of({"new": TrafficProfile(status="insufficient", mean_bps=1e6, fold_bps=np.zeros(0))})
    assert members.peak_bps == float("inf")
