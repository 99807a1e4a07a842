from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.errors import UsageError
from profiler.ports import carried_jobs
from profiler.signals import RateSeries
from profiler.synth import Burst, Traffic
from tests.profiler.refreshed_ports import job_traffic, noise_traffic, seen_at

if TYPE_CHECKING:
    from profiler.ports import CarriedJob

DURATION_S = 2400.0
PERIODS_S = {"a": 25.63, "b": 51.69, "c": 11.404}
BURSTS = (Burst(0.2, 0.3, 60e9),)


def _jobs(rng: np.random.Generator) -> dict[str, Traffic]:
    return {
        name: job_traffic(rng, period_s=period_s, duration_s=DURATION_S, bursts=BURSTS, jitter_frac=0.01)
        for name, period_s in PERIODS_S.items()
    }


def _part(traffic: Traffic, share: float) -> Traffic:
    return replace(traffic, rate_bps=traffic.rate_bps * share)


def _uplink(rng: np.random.Generator, jobs: dict[str, Traffic], shares: dict[str, float]) -> RateSeries:
    total = noise_traffic(rng, duration_s=DURATION_S, noise_bps=6e9)
    for name, share in shares.items():
        total = total.plus(_part(jobs[name], share))
    return seen_at(rng, total, phase_s=0.8, duration_s=DURATION_S, name="uplink")


def _templates(rng: np.random.Generator, jobs: dict[str, Traffic]) -> dict[str, RateSeries]:
    return {
        name: seen_at(rng, traffic, phase_s=rng.uniform(), duration_s=DURATION_S, name=name)
        for name, traffic in jobs.items()
    }


def _carried(seed: int, shares: dict[str, float]) -> tuple[CarriedJob, ...]:
    rng = np.random.default_rng(seed)
    jobs = _jobs(rng)
    return carried_jobs(_uplink(rng, jobs, shares), _templates(rng, jobs))


@pytest.mark.parametrize("seed", range(3))
def test_an_uplink_names_the_jobs_it_carries_and_their_shares(seed: int) -> None:
    carried = _carried(seed, {"a": 0.1, "c": 0.05})
    assert [job.name for job in carried] == ["a", "c"]
    for job, share in zip(carried, (0.1, 0.05), strict=True):
        assert job.share == pytest.approx(share, rel=0.2)
        assert job.mean_bps == pytest.approx(share * 0.3 * 60e9, rel=0.2)
        assert job.mean_low_bps is not None
        assert job.mean_high_bps is not None
        assert job.mean_low_bps < share * 0.3 * 60e9 < job.mean_high_bps
        assert job.chance < 1e-4
    mean_bps = 4 * 6e9 + 0.15 * 0.3 * 60e9
    assert carried[0].frac == pytest.approx(0.1 * 0.3 * 60e9 / mean_bps, rel=0.2)


@pytest.mark.parametrize("seed", range(10, 16))
def test_an_uplink_that_carries_none_of_the_jobs_names_none(seed: int) -> None:
    assert _carried(seed, {}) == ()


def test_a_job_of_half_the_period_is_not_taken_for_the_one_that_is_carried() -> None:
    assert [job.name for job in _carried(4, {"b": 0.1})] == ["b"]


def test_a_job_of_the_same_period_at_another_time_is_not_carried() -> None:
    rng = np.random.default_rng(5)
    jobs = _jobs(rng)
    uplink = _uplink(rng, jobs, {"a": 0.1})
    later = replace(jobs["a"], edges_s=jobs["a"].edges_s + 0.5 * PERIODS_S["a"])
    assert carried_jobs(uplink, _templates(rng, {"a": later})) == ()


def test_noise_with_a_memory_invents_no_job() -> None:
    rng = np.random.default_rng(6)
    jobs = _jobs(rng)
    found = []
    for _ in range(5):
        levels = 10e9 + 0.3e9 * np.cumsum(rng.standard_normal(int(DURATION_S) + 10))
        red = Traffic.of_levels(levels, dt_s=1.0)
        uplink = seen_at(rng, red, phase_s=0.3, duration_s=DURATION_S, name="uplink")
        found += [job.name for job in carried_jobs(uplink, _templates(rng, jobs))]
    assert found == []


def test_whole_flows_now_and_then_hide_no_job() -> None:
    rng = np.random.default_rng(8)
    jobs = _jobs(rng)
    quiet = noise_traffic(rng, duration_s=DURATION_S, noise_bps=0.5e9)
    starts_s = np.sort(rng.uniform(0, DURATION_S, 30))
    flows = Traffic(edges_s=np.stack([starts_s, starts_s + 1.5], axis=1), rate_bps=np.full(30, 80e9))
    # The job's variance is a fortieth of that of the flows, which stand 30 times above what the uplink mostly moves.
    total = quiet.plus(flows).plus(_part(jobs["a"], 0.03))
    uplink = seen_at(rng, total, phase_s=0.4, duration_s=DURATION_S, name="uplink")
    carried = carried_jobs(uplink, _templates(rng, jobs))
    assert [job.name for job in carried] == ["a"]
    assert carried[0].z > 10


def test_bursts_that_a_job_sends_now_and_then_count_fully_in_its_share() -> None:
    rng = np.random.default_rng(9)
    jobs = _jobs(rng)
    # One burst in four comes over this uplink: a quarter of the job, in outbursts.
    some = rng.uniform(size=jobs["a"].rate_bps.size) < 0.25
    sprayed = replace(jobs["a"], rate_bps=np.where(some, jobs["a"].rate_bps, 0.0))
    total = noise_traffic(rng, duration_s=DURATION_S, noise_bps=1e9).plus(sprayed)
    uplink = seen_at(rng, total, phase_s=0.4, duration_s=DURATION_S, name="uplink")
    carried = carried_jobs(uplink, _templates(rng, jobs))
    assert [job.name for job in carried] == ["a"]
    assert carried[0].share == pytest.approx(some.mean(), rel=0.25)


def test_what_has_no_traffic_in_common_carries_nothing() -> None:
    rng = np.random.default_rng(7)
    jobs = _jobs(rng)
    templates = _templates(rng, jobs)
    uplink = _uplink(rng, jobs, {"a": 0.1})
    another_day = replace(uplink, edges_ns=uplink.edges_ns + int(86_400e9))
    idle = RateSeries.from_deltas(uplink.edges_ns, np.zeros(uplink.n_samples))
    assert carried_jobs(another_day, templates) == ()
    assert carried_jobs(idle, templates) == ()
    assert carried_jobs(uplink, {"idle": idle}) == ()
    assert carried_jobs(RateSeries.from_counter([], []), templates) == ()


def test_templates_are_needed() -> None:
    uplink = RateSeries.from_deltas(np.arange(11) * 10**9, np.ones(10))
    with pytest.raises(UsageError, match="no templates"):
        carried_jobs(uplink, {})
