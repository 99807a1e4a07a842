"""Jobs found on a real fabric: groups against the truth, and what the uplinks carry."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import pytest

from pipeline.discover import Discovery, find_jobs, gather
from profiler.sources import read_rates
from tests.data import shared
from tests.profiler.fabric import rates_of_ports

if TYPE_CHECKING:
    from pathlib import Path

PERIODS_S: Final = {"J1": 25.63, "J2": 51.69, "D": 11.40, "J3": 11.404, "J4": 125.5, "J5": 2.737, "E": 40.69}
UPLINKS: Final = tuple(f"Leaf-14_{i}" for i in (33, 37, 42, 47, 54, 62))
"""A few of the thirty that carry traffic."""
MOST_OF_JOB: Final = 4
SINGLE_PORTS: Final = {"Leaf-5_3_1": "J1", "Leaf-16_3_2": None}
"""Ports in files of their own: the truth of the first is told, that of the second but for its period is not."""


def _truth(path: Path) -> dict[str, str | None]:
    """Return the job of server ports that have one, of a few ports of each job; `tests.bench.discovery` takes all."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["faces"] == "server" and row["job"]]
    ports: dict[str, list[str]] = {}
    for row in rows:
        if row["direction"] == "in":
            ports.setdefault(row["job"], []).append(row["port"])
    return {port: job for job, of_job in ports.items() for port in of_job[:MOST_OF_JOB]}


@pytest.fixture(scope="module")
def truth() -> dict[str, str | None]:
    return {**_truth(shared("zhejianglab/leaf14_truth.csv")), **SINGLE_PORTS}


@pytest.fixture(scope="module")
def found(truth: dict[str, str | None], tmp_path_factory: pytest.TempPathFactory) -> Discovery:
    archive = shared("zhejianglab/Leaf-14_all_ports.tar.xz")
    names = [*(name for name in truth if name not in SINGLE_PORTS), *UPLINKS]
    rates = rates_of_ports(archive, names, into=tmp_path_factory.mktemp("leaf14"))
    for name in SINGLE_PORTS:
        rates[name], problems = read_rates(shared(f"zhejianglab/{name}.csv.gz"), mapping="zhejianglab")
        assert not problems
    return find_jobs(gather(replace(rate, host="", device=name) for name, both in rates.items() for rate in both))


def test_server_ports_are_grouped_as_the_truth_has_them(found: Discovery, truth: dict[str, str | None]) -> None:
    job_of = {(one.device, one.direction): job.job for job in found.jobs for one in job.own}
    known = {(name, way): job for name, job in truth.items() if job for way in ("receive", "transmit")}
    wrong = [
        (a, b) for a, b in combinations(known, 2) if (job_of.get(a) == job_of.get(b, "none")) != (known[a] == known[b])
    ]
    assert wrong == []


def test_ports_of_one_job_in_different_files_are_one_job(found: Discovery) -> None:
    own = [{one.device for one in job.own} for job in found.jobs]
    assert {"Leaf-5_3_1", "Leaf-14_18_2"} in own
    # Both tick every 11.404 s, at the same phase for an hour: nothing tells them apart.
    assert {"Leaf-16_3_2", "Leaf-14_3_1", "Leaf-14_23_2", "Leaf-14_30_2"} in own


def test_jobs_have_the_periods_of_the_truth(found: Discovery, truth: dict[str, str | None]) -> None:
    periods_s = {truth[one.device]: job.period_s for job in found.jobs for one in job.own if truth[one.device]}
    for job, period_s in PERIODS_S.items():
        assert periods_s[job] == pytest.approx(period_s, rel=0.005)
    # The job of under four ticks has a beat whose aliases its ports cannot tell apart.
    aliases_s = next(job.alias_periods_s for job in found.jobs if any(truth[one.device] == "B" for one in job.own))
    assert periods_s["B"] is None
    assert aliases_s[0] == pytest.approx(3.61, rel=0.005)


def test_uplinks_carry_the_jobs_that_cross_the_leaf(found: Discovery, truth: dict[str, str | None]) -> None:
    name = {truth[one.device]: job.job for job in found.jobs for one in job.own if truth[one.device]}
    shares = {
        (uplink["device"], uplink["direction"]): {part["job"]: part["mean_bps"] for part in uplink["jobs"]}
        for uplink in found.uplinks()
    }
    assert {device for device, _ in shares} == set(UPLINKS)
    with_j1 = [parts[name["J1"]] for parts in shares.values() if name["J1"] in parts]
    assert len(with_j1) >= 9
    # J1 has one port on this leaf: its 66 Gb/s cross thirty uplinks in each direction.
    assert sum(with_j1) / len(with_j1) == pytest.approx(66e9 / 30, rel=0.25)
    assert sum(name["J2"] in parts for parts in shares.values()) >= 1
    # B's swing is too small a part of its 69 Gb/s to tell how much of it an uplink carries.
    assert {parts[name["B"]] for parts in shares.values() if name["B"] in parts} == {None}


def test_the_job_of_one_port_alone_is_on_no_uplink(found: Discovery, truth: dict[str, str | None]) -> None:
    alone = next(job for job in found.jobs if any(truth[one.device] == "E" for one in job.own))
    assert {one.device for one in alone.members} == {"Leaf-14_5_2"}
