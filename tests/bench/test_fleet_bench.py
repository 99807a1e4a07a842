"""A small fleet through ingest and analysis: that the benches measure what they say, and what a large one is held to.

``OFFBEAT_BENCH_FLEET_PORTS=500 OFFBEAT_BENCH_FLEET_S=100000 make bench`` measures 10^8 samples in 1,000 series.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from profiler.store import Lake
from tests.bench.fleet import Fleet, write_fleet
from tests.bench.fleet_ingest import FORMS, ingest_fleet, ingested_table
from tests.bench.fleet_run import ARRAY, KILLED, RESUMED, WHOLE, run_fleet
from tests.bench.growth import FULL_SAMPLES, MAX_BYTES, MAX_S, growth_table, run_growth
from tests.bench.steps import Step, steps_table


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(
        n_ports=int(os.environ.get("OFFBEAT_BENCH_FLEET_PORTS", "128")),
        duration_s=float(os.environ.get("OFFBEAT_BENCH_FLEET_S", "10000")),
    )


@pytest.fixture(scope="module")
def runs(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Step]:
    lake = tmp_path_factory.mktemp("fleet") / "lake"
    cluster = write_fleet(lake, fleet)
    assert Path(cluster).exists()
    found = list(run_fleet(lake))
    print(f"\n\n{fleet.n_samples} samples in {2 * fleet.n_ports} series\n\n{steps_table(found)}")  # noqa: T201
    return {run.name: run for run in found}


def test_every_step_ends_as_it_should(runs: dict[str, Step]) -> None:
    codes = {name: run.exit_code for name, run in runs.items()}
    assert codes.pop(KILLED) == -9
    assert set(codes.values()) == {0}


def test_every_way_to_the_whole_analysis_has_the_same_answer(runs: dict[str, Step]) -> None:
    answers = {run.answer for name, run in runs.items() if name not in ("bare scan", KILLED)}
    assert runs[ARRAY].answer
    assert len(answers) == 1


def test_memory_is_bounded(runs: dict[str, Step]) -> None:
    assert max(run.peak_bytes for run in runs.values()) <= MAX_BYTES


def test_a_run_that_was_killed_costs_less_when_resumed(runs: dict[str, Step]) -> None:
    assert runs[RESUMED].cpu_s < runs[WHOLE].cpu_s


def test_the_analysis_keeps_to_its_time(fleet: Fleet, runs: dict[str, Step]) -> None:
    if fleet.n_samples < FULL_SAMPLES:
        pytest.skip(f"{fleet.n_samples} samples; {FULL_SAMPLES} are held to a time")
    assert runs[WHOLE].wall_s <= MAX_S * fleet.n_samples / FULL_SAMPLES


@pytest.mark.parametrize("form", FORMS)
def test_dumps_of_a_fleet_become_the_lake_that_its_writer_makes(form: str, tmp_path: Path) -> None:
    fleet = Fleet(n_ports=130, duration_s=20)
    write_fleet(tmp_path / "written", fleet)
    found = ingest_fleet(tmp_path / "ingested", fleet, form=form, folder=tmp_path)
    assert [step.exit_code for step in found.steps] == [0, 0, 0]
    assert f"{fleet.n_samples} samples" in ingested_table(found)
    written, ingested = (Lake.open(tmp_path / name) for name in ("written", "ingested"))
    names = {row["series_id"]: (row["host"], row["device"], row["direction"]) for row in _rows(written, "series")}
    assert names == {
        row["series_id"]: (row["host"], row["device"], row["direction"]) for row in _rows(ingested, "series")
    }
    assert _reads(written) == _reads(ingested)


def test_growth_is_told_by_lakes_of_as_many_series(tmp_path: Path) -> None:
    lakes = list(run_growth((1_600, 16_000), n_series=32, folder=tmp_path))
    assert [lake.fleet.n_samples for lake in lakes] == [1_600, 16_000]
    assert growth_table(lakes).count("\n") == 3
    assert not list(tmp_path.iterdir())


def _rows(lake: Lake, table: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = lake.read(table).to_pylist()
    return rows


def _reads(lake: Lake) -> set[tuple[object, ...]]:
    names = ("series_id", "t_ns", "value")
    batches = pq.read_table(lake.files("samples"), columns=list(names), partitioning=None).to_batches()
    return {row for batch in batches for row in zip(*(batch[name].to_pylist() for name in names), strict=True)}
