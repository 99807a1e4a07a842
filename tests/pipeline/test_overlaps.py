"""How long jobs share links: told in parts, the same as the query tells of the whole lake."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline.batch import Work
from pipeline.derived import open_derived
from pipeline.flow import analyze
from pipeline.overlaps import find, find_overlaps, reads
from pipeline.overlaps.find import _contention
from pipeline.sql import open_lake
from profiler.schema import arrow_schema
from tests.pipeline.fleets import profiles
from tests.pipeline.lakes import make_lake, on_off_counter, port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipeline.batch import PortProfiles
    from pipeline.sql.database import Database
    from profiler.store import Lake

PAIR = """
[[link]]
id = "trunk{i}"
a = "sw{i}:up"
b = "top{i}:up"
capacity = "400Mbps"
[[link]]
id = "a{i}"
a = "a{i}:eth0"
b = "sw{i}:p1"
capacity = "800Mbps"
[[link]]
id = "b{i}"
a = "b{i}:eth0"
b = "sw{i}:p2"
capacity = "800Mbps"
[[link]]
id = "c{i}"
a = "c{i}:eth0"
b = "top{i}:p1"
capacity = "800Mbps"
[[link]]
id = "d{i}"
a = "d{i}:eth0"
b = "top{i}:p2"
capacity = "800Mbps"
[[job]]
id = "A{i}"
ranks = [{{host = "a{i}", device = "eth0"}}, {{host = "c{i}", device = "eth0"}}]
[[job]]
id = "B{i}"
ranks = [{{host = "b{i}", device = "eth0"}}, {{host = "d{i}", device = "eth0"}}]
"""
SHARED_MS = (80, 30)
"""Of the 100 ms that each job sends in 250 ms, how many the other one sends too, by trunk."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two trunks with two jobs each."""
    folder = tmp_path_factory.mktemp("overlaps")
    reads = {}
    for i, shared_ms in enumerate(SHARED_MS):
        for name, start_ms in (("p1", 0), ("p2", 100 - shared_ms)):
            reads[port(f"sw{i}", name, "receive")] = on_off_counter(
                period_ns=250_000_000,
                up_ns=100_000_000,
                rate_bps=300e6,
                start_ns=start_ms * 1_000_000,
                duration_s=6.0,
            )
    lake = make_lake(folder / "lake", reads)
    cluster = folder / "cluster.toml"
    cluster.write_text("".join(PAIR.format(i=i) for i in range(len(SHARED_MS))))
    analyze(lake.root, cluster=cluster)
    return lake


@pytest.fixture(scope="module")
def profiled(lake: Lake) -> PortProfiles:
    """Its profiles."""
    return profiles(lake)


@pytest.fixture
def found(profiled: PortProfiles, tmp_path: Path) -> PortProfiles:
    """Its profiles, and a folder in which nothing is kept yet."""
    work = Work(tmp_path / "work")
    work.prepare()
    return replace(profiled, work=work)


@pytest.fixture(scope="module")
def database(lake: Lake) -> Iterator[Database]:
    """What is known of it, without samples."""
    with open_derived(lake) as database:
        yield database


@pytest.fixture(scope="module")
def crossings(database: Database) -> list[dict[str, Any]]:
    """The jobs on each trunk."""
    rows: list[dict[str, Any]] = database.run("jobs_by_link", min_jobs=2).to_pylist()
    return rows


@pytest.mark.parametrize("n_samples", [1, reads.GROUP_SAMPLES])
def test_parts_tell_what_the_query_tells_of_the_whole(
    lake: Lake,
    database: Database,
    crossings: list[dict[str, Any]],
    found: PortProfiles,
    monkeypatch: pytest.MonkeyPatch,
    n_samples: int,
) -> None:
    monkeypatch.setattr(reads, "GROUP_SAMPLES", n_samples)
    rows, faults = find_overlaps(database, crossings, found=found)
    with open_lake(lake.root) as whole_lake:
        whole = whole_lake.run("contention_by_link").to_pylist()
    assert faults == ()
    assert len(rows) == 4
    assert sorted(rows, key=repr) == sorted(whole, key=repr)
    for row in rows:
        shared_ms = SHARED_MS[int(row["link_id"].removeprefix("trunk"))]
        assert row["shared_frac"] == pytest.approx(shared_ms / 250, abs=0.01)


def test_a_file_that_is_damaged_leaves_open_what_needs_it(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles
) -> None:
    path = found.files[0].path
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[: len(whole) // 2])
        rows, (fault,) = find_overlaps(database, crossings, found=found)
    finally:
        path.write_bytes(whole)
    assert rows == []
    assert fault.what == "the time that jobs share on trunk0, trunk1"
    assert path.name in fault.why
    assert len(find_overlaps(database, crossings, found=found)[0]) == 4


def test_what_was_told_is_told_again_without_a_sample_and_anew_where_it_is_torn(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = find_overlaps(database, crossings, found=found)
    with monkeypatch.context() as patch:
        patch.setattr(reads, "read_segments", None)
        assert find_overlaps(database, crossings, found=found) == (rows, ())
    (found.work.folder / "overlaps.index").write_bytes(b'{"0": [')
    assert find_overlaps(database, crossings, found=found) == (rows, ())


def test_only_links_of_which_something_is_new_are_told_anew(
    lake: Lake,
    database: Database,
    crossings: list[dict[str, Any]],
    found: PortProfiles,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One trunk where its jobs' thresholds are others, both where the samples are."""
    told: list[str] = []

    def contention(tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
        told.extend({row["link_id"] for row in tables["link_jobs"].to_pylist()})
        return _contention(tables)

    monkeypatch.setattr(find, "_contention", contention)
    rows, _ = find_overlaps(database, crossings, found=found)
    assert sorted(told) == ["trunk0", "trunk1"]
    told.clear()
    with open_derived(lake, {"phases": _faster(lake, {row["series_id"] for row in crossings[-2:]})}) as faster:
        again, _ = find_overlaps(faster, crossings, found=found)
    assert told == [crossings[-1]["link_id"]]
    assert sorted(again, key=repr) == sorted(rows, key=repr)
    told.clear()
    other = replace(found, files=[replace(file, sha256="other") for file in found.files])
    assert sorted(find_overlaps(database, crossings, found=other)[0], key=repr) == sorted(rows, key=repr)
    assert sorted(told) == ["trunk0", "trunk1"]


def _faster(lake: Lake, series_ids: set[int]) -> pa.Table:
    """Return table ``phases``, the rates of some series a hundredth higher."""
    phases = [
        {**row, "rate_bps": row["rate_bps"] * (1.01 if row["series_id"] in series_ids else 1.0)}
        for row in lake.read("phases").to_pylist()
    ]
    return pa.Table.from_pylist(phases, schema=arrow_schema("phases"))
