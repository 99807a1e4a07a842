"""How long jobs share links: told in parts, the same as the query tells of the whole lake."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline.batch import Work
from pipeline.derived import open_derived
from pipeline.flow import analyze
from pipeline.overlaps import find, find_overlaps, reads
from pipeline.overlaps.find import _contention
from pipeline.overlaps.known import read_known
from pipeline.sql import open_lake
from pipeline.sql.database import Database
from profiler.schema import arrow_schema
from tests.pipeline.fleets import profiles
from tests.pipeline.lakes import make_lake, on_off_counter, port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipeline.batch import PortProfiles
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
    return replace(profiled, work=_empty(tmp_path / "work"))


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
    assert rows == whole
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


def test_what_was_told_is_told_again_without_a_sample(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = find_overlaps(database, crossings, found=found)
    with monkeypatch.context() as patch:
        patch.setattr(reads, "read_segments", None)
        assert find_overlaps(database, crossings, found=found) == (rows, ())


def _damaged(content: bytes) -> dict[str, bytes]:
    digest, _, text = content.partition(b"\n")
    return {
        "torn": content[: len(content) // 2],
        "empty": b"",
        "other digits": content.replace(b'"n_jobs": 2', b'"n_jobs": 3'),
        "no digest": text,
        "a list": b"[]",
        "a number": b"5",
        "null": b"null",
        "rows that are numbers": json.dumps(dict.fromkeys(json.loads(text), 5)).encode(),
        "empty rows": json.dumps({key: {} for key in json.loads(text)}).encode(),
        "a list and its digest": _with_digest(b"[]"),
        "rows that are numbers and their digest": _with_digest(json.dumps(dict.fromkeys(json.loads(text), 5)).encode()),
        "not text": b"\xff\n" + digest,
    }


def _with_digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def test_what_was_kept_is_told_anew_where_it_is_damaged_in_any_way(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles
) -> None:
    rows, _ = find_overlaps(database, crossings, found=found)
    path = found.work.folder / "overlaps.index"
    sound = path.read_bytes()
    assert read_known(found.work)
    for how, content in _damaged(sound).items():
        assert content != sound, how
        path.write_bytes(content)
        assert read_known(found.work) == {}, how
    assert find_overlaps(database, crossings, found=found) == (rows, ())
    assert path.read_bytes() == sound


def test_rows_are_in_the_order_of_the_query_whatever_was_kept(
    lake: Lake, database: Database, crossings: list[dict[str, Any]], found: PortProfiles
) -> None:
    with open_lake(lake.root) as whole_lake:
        whole = whole_lake.run("contention_by_link").to_pylist()
    assert len({(row["over_bytes"], row["shared_s"]) for row in whole}) > 1
    known = [row for row in crossings if row["link_id"] == whole[-1]["link_id"]]
    assert {row["link_id"] for row in find_overlaps(database, known, found=found)[0]} == {whole[-1]["link_id"]}
    assert find_overlaps(database, crossings, found=found)[0] == whole


def test_a_link_on_which_the_query_fails_is_named_and_the_others_are_told(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _ = find_overlaps(database, crossings, found=replace(found, work=_empty(found.work.folder / "other")))

    def contention(tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
        if "trunk1" in tables["link_jobs"]["link_id"].to_pylist():
            with Database({}) as failing:
                failing.sql("select cast('nan'::double as bigint)").to_pylist()
        return _contention(tables)

    monkeypatch.setattr(find, "_contention", contention)
    told, (fault,) = find_overlaps(database, crossings, found=found)
    assert told == [row for row in rows if row["link_id"] == "trunk0"]
    assert fault.what == "the time that jobs share on trunk1"
    assert fault.why.startswith("query contention_by_link fails on what the lake has of it: Conversion Error")


def test_a_link_of_a_series_that_is_not_profiled_is_named(
    database: Database, crossings: list[dict[str, Any]], found: PortProfiles
) -> None:
    (lost, *_) = (row["series_id"] for row in crossings if row["link_id"] == "trunk1" and row["is_measured"])
    known = {series_id: one for series_id, one in found.series.items() if series_id != lost}
    told, faults = find_overlaps(database, crossings, found=replace(found, series=known))
    assert {row["link_id"] for row in told} >= {"trunk0"}
    assert {fault.what for fault in faults} == {"the time that jobs share on trunk1"}
    assert all(str(lost) in fault.why for fault in faults)


def _empty(folder: Path) -> Work:
    work = Work(folder)
    work.prepare()
    return work


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
