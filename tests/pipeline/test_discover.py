from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.discover import MEMBER_COLUMNS, Discovery, find_jobs, gather
from profiler.results import Result
from profiler.units import format_duration
from tests.bench.discovery import score
from tests.pipeline.beating_fleets import Fleet, FleetPlan, JobPlan, draw_fleet

if TYPE_CHECKING:
    from pipeline.discover.ports import SeenPort

TWO_JOBS = FleetPlan(
    jobs=(
        JobPlan(name="fast", period_s=9.7, n_ports=3, n_weak=2, jitter_frac=0.01, weak_noise=0.8),
        JobPlan(name="slow", period_s=26.3, n_ports=2, n_weak=1, jitter_frac=0.01, weak_noise=0.8),
    ),
    n_uplinks=4,
    n_random=4,
    n_idle=1,
    duration_s=1500.0,
)


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return draw_fleet(np.random.default_rng(11), TWO_JOBS)


@pytest.fixture(scope="module")
def ports(fleet: Fleet) -> list[SeenPort]:
    return gather(fleet.series)


@pytest.fixture(scope="module")
def found(ports: list[SeenPort]) -> Discovery:
    return find_jobs(ports)


def _groups(found: Discovery) -> set[frozenset[str]]:
    return {frozenset(member.device for member in job.own) for job in found.jobs}


def test_ports_of_a_job_are_grouped_weak_ones_with_them(fleet: Fleet, found: Discovery) -> None:
    by_job: dict[str, set[str]] = {}
    for device, job in fleet.own_of.items():
        by_job.setdefault(job, set()).add(device)
    assert _groups(found) == {frozenset(devices) for devices in by_job.values()}


def test_a_search_says_how_far_it_is(ports: list[SeenPort]) -> None:
    steps: list[tuple[int, int]] = []
    find_jobs(ports, on_step=lambda n_done, n_steps: steps.append((n_done, n_steps)))
    n_varying = sum(port.varies for port in ports)
    assert len(steps) > 3 * n_varying
    assert [n_done for n_done, _ in steps] == sorted(n_done for n_done, _ in steps)
    assert {n_steps for _, n_steps in steps} == {steps[-1][0]}


def test_weak_members_do_not_beat_alone(fleet: Fleet, ports: list[SeenPort]) -> None:
    alone = {port.device for port in ports if port.period_s is not None}
    assert not alone & fleet.weak


def test_a_jobs_period_is_that_of_its_iterations(fleet: Fleet, found: Discovery) -> None:
    for job in found.jobs:
        truth_s = fleet.periods_s[fleet.own_of[job.own[0].device]]
        assert job.period_s == pytest.approx(truth_s, rel=0.01)
        assert job.confidence > 0.9


def test_uplinks_carry_the_parts_of_jobs_that_were_sprayed_over_them(fleet: Fleet, found: Discovery) -> None:
    names = {job.job: fleet.own_of[job.own[0].device] for job in found.jobs}
    uplinks = found.uplinks()
    assert {uplink["device"] for uplink in uplinks} == {f"up{i}" for i in range(4)}
    for uplink in uplinks:
        for part in uplink["jobs"]:
            truth_bps = fleet.carried_bps[uplink["device"]][names[part["job"]]]
            assert part["mean_bps"] == pytest.approx(truth_bps, rel=0.5)
            assert 0 < part["share_frac"] < 1
            assert part["confidence"] > 0.99
    n_shares = sum(len(uplink["jobs"]) for uplink in uplinks)
    assert n_shares >= 7


def test_every_series_is_a_member_or_skipped_with_a_reason(fleet: Fleet, found: Discovery) -> None:
    members = {member.device for job in found.jobs for member in job.members}
    skipped = {one.device: one.why for one in found.skipped}
    assert members | set(skipped) == {one.device for one in fleet.series}
    assert not members & set(skipped)
    assert all(skipped.values())
    assert skipped["idle0"].startswith("idle")


def test_the_answer_does_not_depend_on_the_order_of_ports(ports: list[SeenPort], found: Discovery) -> None:
    mixed = [ports[i] for i in np.random.default_rng(1).permutation(len(ports))]
    assert _groups(find_jobs(mixed)) == _groups(found)


def test_the_answer_does_not_depend_on_the_volume_of_ports(ports: list[SeenPort], found: Discovery) -> None:
    rng = np.random.default_rng(2)
    scaled = []
    for port in ports:
        volume = float(np.exp(rng.uniform(-3, 3)))
        rate_bps = (port.rate_bps * volume).astype(np.float32)
        scaled.append(replace(port, rate_bps=rate_bps, mean_bps=port.mean_bps * volume))
    assert _carriers(find_jobs(scaled)) == _carriers(found)


def _carriers(found: Discovery) -> set[frozenset[str]]:
    return {frozenset(member.device for member in job.members) for job in found.jobs}


@pytest.mark.parametrize("seed", range(2))
def test_jobs_of_one_period_are_told_apart_by_their_drift(seed: int) -> None:
    jobs = tuple(JobPlan(name=f"job{i}", period_s=14.2, n_ports=3, jitter_frac=0.01) for i in range(3))
    drawn = draw_fleet(np.random.default_rng(seed), FleetPlan(jobs=jobs, duration_s=1500.0))
    result = score(find_jobs(gather(drawn.series)), drawn)
    assert (result.found_jobs, result.right_pairs, result.found_pairs) == (3, 9, 9)


def test_ports_of_a_job_that_lag_by_several_ticks_are_one_job() -> None:
    plan = FleetPlan(jobs=(JobPlan(name="job", period_s=21.0, n_ports=5),), duration_s=1500.0, lag_ticks=6.0)
    found = find_jobs(gather(draw_fleet(np.random.default_rng(3), plan).series))
    assert [len(job.own) for job in found.jobs] == [5]
    lags_s = [member.lag_s for member in found.jobs[0].own]
    assert max(lags_s) - min(lags_s) > 2.0


@pytest.mark.parametrize("seed", range(2))
def test_fleets_without_jobs_have_none(seed: int) -> None:
    plan = FleetPlan(n_random=12, n_alike=4, n_uplinks=2, duration_s=1200.0)
    found = find_jobs(gather(draw_fleet(np.random.default_rng(seed), plan).series))
    assert found.jobs == ()
    assert not found.has_answer
    assert len(found.skipped) == 18


def test_ports_that_do_alike_without_a_beat_say_so() -> None:
    plan = FleetPlan(n_alike=5, duration_s=1200.0)
    found = find_jobs(gather(draw_fleet(np.random.default_rng(5), plan).series))
    assert found.jobs == ()
    assert any("they have no beat" in one.why for one in found.skipped)


def test_a_beat_that_one_series_has_alone_is_no_job(ports: list[SeenPort], fleet: Fleet) -> None:
    lone = next(port for port in ports if fleet.own_of.get(port.device) == "slow" and port.beats)
    others = [port for port in ports if port.device not in fleet.own_of and not port.device.startswith("up")]
    found = find_jobs([lone, *others])
    assert found.jobs == ()
    assert [one.why for one in found.skipped if one.device == lone.device] == [
        f"beats every {format_duration(lone.period_s)}, but with no other port"
    ]


def test_ports_that_tick_too_slowly_or_were_recorded_at_another_time_are_named(ports: list[SeenPort]) -> None:
    slow = replace(ports[0], device="slow", dt_s=30.0)
    late = replace(ports[1], device="late", t0_s=ports[1].t0_s + 1e5)
    found = find_jobs([*ports, slow, late])
    why = {one.device: one.why for one in found.skipped}
    assert "ticks every 30 s" in why["slow"]
    assert "recorded for 0%" in why["late"]


def test_too_short_recordings_are_not_judged(fleet: Fleet) -> None:
    short = [one.between(0, 100) for one in fleet.series]
    found = find_jobs(gather(short))
    assert found.jobs == ()
    assert any("record longer" in one.why for one in found.skipped)


def test_no_ports_have_no_jobs() -> None:
    assert find_jobs([]) == Discovery(jobs=(), skipped=())


def test_of_two_jobs_in_turn_a_port_is_in_none(ports: list[SeenPort], fleet: Fleet) -> None:
    first, second = (
        next(port for port in ports if fleet.own_of.get(port.device) == job and port.beats) for job in ("fast", "slow")
    )
    half = first.rate_bps.size // 2
    rate_bps: NDArray[np.float32] = np.concatenate((first.rate_bps[:half], second.rate_bps[-half:]))
    known = np.concatenate((first.known[:half], second.known[-half:]))
    both = replace(
        first, device="both", rate_bps=rate_bps, known=known, read_hz=None, status="aperiodic", period_s=None
    )
    found = find_jobs([*ports, both])
    own = {member.device for job in found.jobs for member in job.own}
    assert "both" not in own


def test_a_discovery_fits_the_protocol_of_results(found: Discovery) -> None:
    assert isinstance(found, Result)
    document = found.to_dict()
    assert (document["kind"], document["version"]) == ("discovery", 1)
    json.dumps(document, allow_nan=False)
    rows = found.to_rows()
    assert tuple(rows[0]) == MEMBER_COLUMNS
    assert len(rows) == sum(len(job.members) for job in found.jobs)
    assert found.to_pandas().shape == (len(rows), len(MEMBER_COLUMNS))
    assert found.plot().to_dict()["mark"]["type"] == "bar"
    assert repr(found).startswith("Discovery(2 jobs: ")


def test_names_of_jobs_tell_their_periods_apart(found: Discovery) -> None:
    names = [job.job for job in found.jobs]
    assert len(set(names)) == len(names)
    assert all(name.startswith("beat-") for name in names)


def test_pairs_of_members_are_those_drawn(fleet: Fleet, found: Discovery) -> None:
    job_of = {member.device: job.job for job in found.jobs for member in job.own}
    for a, b in itertools.combinations(fleet.own_of, 2):
        assert (job_of[a] == job_of[b]) == (fleet.own_of[a] == fleet.own_of[b])
