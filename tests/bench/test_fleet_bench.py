"""A small fleet through the analysis: that the bench measures what it says, and what a large one is held to.

``OFFBEAT_BENCH_FLEET_PORTS=500 OFFBEAT_BENCH_FLEET_S=100000 make bench`` measures 10^8 samples in 1,000 series.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.bench.fleet import Fleet, write_fleet
from tests.bench.fleet_run import FleetRun, fleet_table, run_fleet

WANTED_SAMPLES = 10**8
MAX_S = 60.0
MAX_BYTES = 2 * 10**9


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(
        n_ports=int(os.environ.get("OFFBEAT_BENCH_FLEET_PORTS", "128")),
        duration_s=float(os.environ.get("OFFBEAT_BENCH_FLEET_S", "10000")),
    )


@pytest.fixture(scope="module")
def runs(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, FleetRun]:
    lake = tmp_path_factory.mktemp("fleet") / "lake"
    cluster = write_fleet(lake, fleet)
    assert Path(cluster).exists()
    found = list(run_fleet(lake))
    print(f"\n\n{fleet.n_samples} samples in {2 * fleet.n_ports} series\n\n{fleet_table(found)}")  # noqa: T201
    return {run.name: run for run in found}


def test_every_step_ends_as_it_should(runs: dict[str, FleetRun]) -> None:
    codes = {name: run.exit_code for name, run in runs.items()}
    assert codes.pop("killed when half was done") == -9
    assert set(codes.values()) == {0}


def test_memory_is_bounded(runs: dict[str, FleetRun]) -> None:
    assert max(run.peak_bytes for run in runs.values()) <= MAX_BYTES


def test_a_run_that_was_killed_costs_less_when_resumed(runs: dict[str, FleetRun]) -> None:
    assert runs["and resumed"].cpu_s < runs["analyze, local, 2 processes"].cpu_s


def test_the_analysis_keeps_to_its_time(fleet: Fleet, runs: dict[str, FleetRun]) -> None:
    if fleet.n_samples < WANTED_SAMPLES:
        pytest.skip(f"{fleet.n_samples} samples; {WANTED_SAMPLES} are held to {MAX_S:.0f} s")
    assert runs["analyze, local, 2 processes"].wall_s <= MAX_S * fleet.n_samples / WANTED_SAMPLES
