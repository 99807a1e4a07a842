"""Jobs of one period that do not drift from one another: what cannot be told is not told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.cli.discover_table import readable_twins
from pipeline.discover import Discovery, find_jobs, gather
from pipeline.discover.twins import twins
from tests.pipeline.beating_fleets import Fleet, FleetPlan, JobPlan, draw_fleet, random_plan

SURE = 0.9


def _twin_fleet(seed: int, *, jitter_frac: float) -> Fleet:
    """Return a fleet of which four jobs have one period to 2e-4, and drift from one another by a few ticks at most."""
    rng = np.random.default_rng([seed, 40])
    plan = random_plan(rng)
    period_s = plan.jobs[0].period_s
    jobs = tuple(
        replace(job, period_s=period_s * (1 + rng.uniform(-2e-4, 2e-4)), jitter_frac=jitter_frac) if i < 4 else job
        for i, job in enumerate(plan.jobs)
    )
    return draw_fleet(rng, replace(plan, jobs=jobs))


def _is_right(found: Discovery, fleet: Fleet) -> list[tuple[float, bool]]:
    """Return the confidence of each member, and whether it carries the job of most of the own ports it is told with."""
    told = []
    for job in found.jobs:
        names = [fleet.own_of[one.device] for one in job.own if one.device in fleet.own_of]
        name = max(names, key=names.count, default="")
        told += [(one.confidence, bool(fleet.carried_bps.get(one.device, {}).get(name))) for one in job.members]
    return told


@pytest.mark.parametrize("jitter_frac", [0.003, 0.0003])
def test_of_what_is_told_surely_of_jobs_that_do_not_drift_few_is_wrong(jitter_frac: float) -> None:
    fleets = [_twin_fleet(seed, jitter_frac=jitter_frac) for seed in (1, 2)]
    told = [one for fleet in fleets for one in _is_right(find_jobs(gather(fleet.series)), fleet)]
    sure = [is_right for confidence, is_right in told if confidence >= SURE]
    assert 50 < len(sure) < len(told) - 10
    assert np.mean(sure) >= 0.98


def _two_steady(*, lag_s: float) -> Fleet:
    """Return two jobs alike but for a lag, each of the same even pace."""
    plan = FleetPlan(
        jobs=(JobPlan(name="one", period_s=17.3, n_ports=3, jitter_frac=0.0),), duration_s=1500.0, lag_ticks=0.2
    )
    first = draw_fleet(np.random.default_rng(1), plan).series
    later = draw_fleet(np.random.default_rng(1), plan).series
    moved = [
        replace(one, edges_ns=one.edges_ns + int(lag_s * 1e9)).named(
            host=one.host, device=f"late-{one.device}", port="", direction=one.direction
        )
        for one in later
    ]
    return Fleet(series=(*first, *moved), carried_bps={}, own_of={}, weak=frozenset(), periods_s={})


def test_ports_of_an_even_pace_that_beat_at_other_times_are_two_jobs_that_name_one_another() -> None:
    found = find_jobs(gather(_two_steady(lag_s=6.0).series))
    assert [{one.device[:4] for one in job.own} for job in found.jobs] in (
        [{"one-"}, {"late"}],
        [{"late"}, {"one-"}],
    )
    assert [job.twins for job in found.jobs] == [(found.jobs[1].job,), (found.jobs[0].job,)]
    (_, line) = readable_twins(found)
    assert found.jobs[0].job in line
    assert found.to_dict()["jobs"][0]["twins"] == [found.jobs[1].job]


def test_jobs_that_drift_have_no_twins() -> None:
    jobs = tuple(JobPlan(name=f"job{i}", period_s=14.2, n_ports=3, jitter_frac=0.02) for i in range(2))
    drawn = draw_fleet(np.random.default_rng(4), FleetPlan(jobs=jobs, duration_s=1500.0))
    found = find_jobs(gather(drawn.series))
    assert [job.twins for job in found.jobs] == [(), ()]
    assert readable_twins(found) == []


def test_twins_are_those_whose_lines_turn_alike_whatever_their_shapes() -> None:
    rng = np.random.default_rng(5)
    wander = np.exp(2j * np.pi * np.cumsum(rng.normal(size=2400)) / 40)
    turns = [np.fft.fft(np.hanning(2400) * wander**k)[:5] for k in (1, 2)]
    others = [np.fft.fft(np.hanning(2400) * np.conj(wander) ** k)[:5] for k in (1, 2)]
    lines = np.zeros((3, 60), dtype=np.complex128)
    at = np.array([10, 11, 12, 13, 14, 30, 31, 32, 33, 34])
    lines[0, at] = np.concatenate(turns)
    # The same drift, at another time, and with another shape.
    lines[1, at] = np.concatenate((3 * np.exp(0.7j) * turns[0], 0.2 * np.exp(2j) * turns[1]))
    lines[2, at] = np.concatenate(others)
    assert twins(lines, places=[at] * 3, periods_s=[12.0, 12.1, 12.0]) == [{1}, {0}, frozenset()]
    assert twins(lines, places=[at] * 3, periods_s=[12.0, 17.0, None]) == [frozenset()] * 3


def test_a_job_blurred_by_another_and_that_other_are_twins_of_each_other() -> None:
    rng = np.random.default_rng(6)
    at = np.arange(10, 20)
    clean, noise = (rng.normal(size=10) + 1j * rng.normal(size=10) for _ in range(2))
    beside = np.arange(30, 35)
    lines = np.zeros((2, 60), dtype=np.complex128)
    lines[0, at] = clean
    lines[1, at] = clean + 0.05 * noise
    lines[1, beside] = 5 * np.exp(1j * rng.normal(size=5))
    assert twins(lines, places=[at, np.append(at, beside)], periods_s=[12.0, 12.0]) == [{1}, {0}]
