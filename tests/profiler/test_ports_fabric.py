"""Ports of a real fabric: each job's together, strangers together, and what the uplinks carry."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from profiler.ports import carried_jobs, detect_together
from tests.data import shared
from tests.profiler.fabric import rates_of_ports

if TYPE_CHECKING:
    from profiler.signals import RateSeries

JOBS: Final = {
    "J1": (25.63, ("18_2",)),
    "J2": (51.69, ("11_2",)),
    "D": (11.40, ("1_1", "4_1", "13_1", "18_1")),
    "J3": (11.404, ("3_1", "23_2", "30_2")),
    "J5": (2.737, ("5_1", "9_1")),
    "J4": (125.5, ("1_2", "4_2", "15_1")),
    "E": (40.69, ("5_2",)),
    "B": (3.61, ("16_2", "21_1", "25_2", "7_1")),
}
UPLINKS: Final = ("35", "37", "47")
MIXED: Final = (("J1", "D"), ("J1", "J2"), ("J5", "E"), ("J1", "J5", "J3"), ("D", "B"))


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RateSeries]]:
    archive = shared("zhejianglab/Leaf-14_all_ports.tar.xz")
    names = [f"Leaf-14_{port}" for _, of_job in JOBS.values() for port in of_job]
    names += [f"Leaf-14_{port}" for port in UPLINKS]
    return rates_of_ports(archive, names, into=tmp_path_factory.mktemp("leaf14"))


def _of_job(ports: dict[str, list[RateSeries]], job: str) -> list[RateSeries]:
    return [rate for port in JOBS[job][1] for rate in ports[f"Leaf-14_{port}"]]


@pytest.fixture(scope="module")
def templates(ports: dict[str, list[RateSeries]]) -> dict[str, RateSeries]:
    return {job: _of_job(ports, job)[0] for job in JOBS}


@pytest.mark.parametrize("job", [job for job in JOBS if job != "B"])
def test_ports_of_a_job_have_its_period_together(ports: dict[str, list[RateSeries]], job: str) -> None:
    period_s, _ = JOBS[job]
    estimate = detect_together(_of_job(ports, job))
    assert estimate.status == "periodic"
    assert estimate.period_s == pytest.approx(period_s, rel=0.01)
    assert estimate.error_s is not None
    assert estimate.error_s < 0.002 * period_s
    assert all(port.agrees for port in estimate.ports)


def test_the_job_under_three_ticks_is_told_from_its_aliases(ports: dict[str, list[RateSeries]]) -> None:
    estimate = detect_together(_of_job(ports, "J5"))
    assert [alias.possible for alias in estimate.aliases] == [True] + [False] * (len(estimate.aliases) - 1)
    assert estimate.alias_margin is not None
    assert estimate.alias_margin > 1.3
    assert estimate.alias_periods_s[1] == pytest.approx(1 / (1 - 1 / 2.737), rel=1e-3)


def test_the_weak_job_under_four_ticks_is_right_or_silent(ports: dict[str, list[RateSeries]]) -> None:
    estimate = detect_together(_of_job(ports, "B"))
    assert estimate.period_s is None or estimate.period_s == pytest.approx(3.61, rel=0.01)
    assert any(alias_s == pytest.approx(3.61, rel=0.01) for alias_s in estimate.alias_periods_s)


@pytest.mark.parametrize("jobs", MIXED, ids="+".join)
def test_ports_of_several_jobs_have_no_period_of_their_own_making(
    ports: dict[str, list[RateSeries]], jobs: tuple[str, ...]
) -> None:
    of_job = {job: _of_job(ports, job) for job in jobs}
    estimate = detect_together([rate for job in jobs for rate in of_job[job]])
    most = max(jobs, key=lambda job: len(of_job[job]))
    if 2 * len(of_job[most]) <= len(estimate.ports):
        assert estimate.period_s is None
    if estimate.period_s is not None:
        assert estimate.period_s == pytest.approx(JOBS[most][0], rel=0.01)
        is_most = [job == most for job in jobs for _ in of_job[job]]
        assert [port.agrees for port in estimate.ports] == is_most


def test_uplinks_carry_the_job_that_must_cross_them(
    ports: dict[str, list[RateSeries]], templates: dict[str, RateSeries]
) -> None:
    series = [rate for uplink in UPLINKS for rate in ports[f"Leaf-14_{uplink}"]]
    carried = [{job.name: job for job in carried_jobs(rate, templates)} for rate in series]
    assert all("J1" in jobs for jobs in carried)
    # J1 has one port on this leaf, so that all of its 66 Gb/s cross the thirty uplinks.
    assert sum(jobs["J1"].mean_bps or 0.0 for jobs in carried) / len(carried) == pytest.approx(66e9 / 30, rel=0.3)
    assert all("J2" in jobs for jobs in carried)
    assert sum(jobs["J2"].share for jobs in carried) / len(carried) == pytest.approx(1 / 30, rel=0.3)
    # B's lines are a few per cent of its rate: that it is there is seen, how much of it is not.
    assert [jobs["B"].mean_bps for jobs in carried] == [None] * len(carried)
    assert not {"J4", "J5", "E"} & {name for jobs in carried for name in jobs}


@pytest.mark.parametrize("job", sorted(JOBS))
def test_a_servers_port_carries_its_own_job_and_no_other(
    ports: dict[str, list[RateSeries]], templates: dict[str, RateSeries], job: str
) -> None:
    series = _of_job(ports, job)[-1]
    carried = carried_jobs(series, templates)
    assert [one.name for one in carried] == [job]
    assert carried[0].share == pytest.approx(1.0, abs=0.15)
    assert carried[0].frac is None or carried[0].frac == pytest.approx(1.0, abs=0.15)
    assert carried_jobs(series, {name: one for name, one in templates.items() if name != job}) == ()


def test_templates_of_another_time_are_not_carried(
    ports: dict[str, list[RateSeries]], templates: dict[str, RateSeries]
) -> None:
    # Half an iteration late, a job's bursts fall where the uplink's do not.
    late = {
        job: replace(templates[job], edges_ns=templates[job].edges_ns + int(JOBS[job][0] / 2 * 1e9))
        for job in ("J1", "J2", "D", "J3", "E")
    }
    found = [job.name for uplink in UPLINKS for rate in ports[f"Leaf-14_{uplink}"] for job in carried_jobs(rate, late)]
    assert found == []
