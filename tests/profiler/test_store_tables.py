"""Opening a lake, its derived tables, and what is said when it is not as it should be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiler.errors import BadInput, LakeError, UsageError
from profiler.schema import SCHEMA_VERSION, TABLES, Flag, arrow_schema
from profiler.store import Lake
from profiler.store.database import MANIFEST_NAME
from tests.profiler.recordings import T0_NS, port, recording, row, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


# Flows and derived tables


def test_flows_are_read_back_by_key(lake: Lake) -> None:
    flows = pa.table({"flow_id": pa.array([1, 2, 1], pa.uint64()), "src": ["a", "b", "c"], "bytes": [10, 20, 30]})
    with lake.writer(recording()) as writer:
        writer.write_flows(flows)
        with pytest.raises(BadInput, match="unknown column colour"):
            writer.write_flows(flows.append_column("colour", pa.array(["red"] * 3)))
    rows = {entry["flow_id"]: entry for entry in lake.read("flows").to_pylist()}
    assert {key: (entry["src"], entry["bytes"], entry["qp"]) for key, entry in rows.items()} == {
        1: ("c", 30, None),
        2: ("b", 20, None),
    }


def test_replace_puts_rows_in_place_of_all_before(lake: Lake) -> None:
    lake.replace("jobs", pa.table({"job_id": ["a", "b", "b"], "n_ranks": [1, 2, 3]}))
    assert lake.read("jobs").select(["job_id", "n_ranks", "source"]).to_pylist() == [
        {"job_id": "a", "n_ranks": 1, "source": None},
        {"job_id": "b", "n_ranks": 3, "source": None},
    ]
    lake.replace("jobs", pa.table({"job_id": ["c"]}))
    assert [entry["job_id"] for entry in lake.read("jobs").to_pylist()] == ["c"]
    assert len(lake.files("jobs")) == 1


def test_tables_replaced_together_change_together_or_not_at_all(lake: Lake) -> None:
    jobs, shifts = pa.table({"job_id": ["a"]}), pa.table({"job_id": ["a"], "shift_s": [0.1]})
    lake.replace_all({"jobs": jobs, "shifts": shifts})
    with pytest.raises(BadInput, match="table shifts: column job_id is missing"):
        lake.replace_all({"jobs": pa.table({"job_id": ["b"]}), "shifts": pa.table({"shift_s": [0.2]})})
    assert lake.read("jobs")["job_id"].to_pylist() == ["a"]
    assert lake.read("shifts")["shift_s"].to_pylist() == [0.1]


@pytest.mark.parametrize("table", ["samples", "series", "flows", "recordings", "weather"])
def test_only_derived_and_known_tables_can_be_replaced(lake: Lake, table: str) -> None:
    with pytest.raises(UsageError, match=table):
        lake.replace(table, pa.table({"job_id": ["a"]}))


def test_rows_that_do_not_fit_the_schema_are_refused(lake: Lake) -> None:
    with pytest.raises(BadInput, match="column n_ranks: expected int32"):
        lake.replace("jobs", pa.table({"job_id": ["a"], "n_ranks": ["many"]}))
    with pytest.raises(BadInput, match="column job_id: 1 nulls"):
        lake.replace("jobs", pa.table({"job_id": pa.array([None], pa.string())}))


def test_an_empty_table_reads_as_no_rows_in_its_schema(lake: Lake) -> None:
    assert lake.read("links").schema.equals(arrow_schema("links"))
    assert lake.read("links").num_rows == 0
    with pytest.raises(UsageError, match="may not fit in memory"):
        lake.read("samples")


# Opening


def test_a_missing_lake_and_other_things_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no such lake; make one with offbeat record"):
        Lake.open(tmp_path / "none")
    with pytest.raises(LakeError, match="not a lake, it has no manifest"):
        Lake.open(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(LakeError, match=r"not empty \(it has notes\.txt\)"):
        Lake.open(tmp_path, create=True)
    with pytest.raises(LakeError, match="not a lake"):
        Lake.open(tmp_path / "notes.txt")
    with pytest.raises(LakeError, match=r"notes\.txt: File exists"):
        Lake.open(tmp_path / "notes.txt", create=True)


def test_a_manifest_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_bytes(b"no database at all, but long enough to have a header" * 20)
    with pytest.raises(LakeError, match="not a database; this is not a lake"):
        Lake.open(tmp_path, create=True)
    (tmp_path / MANIFEST_NAME).unlink()
    with sqlite3.connect(tmp_path / MANIFEST_NAME) as database:
        database.execute("create table diary (day)")
    database.close()
    with pytest.raises(LakeError, match="not the manifest of a lake"):
        Lake.open(tmp_path)


def test_a_lake_of_another_version_says_which(lake: Lake) -> None:
    with sqlite3.connect(lake.root / MANIFEST_NAME) as database:
        database.execute(f"pragma user_version = {SCHEMA_VERSION + 7}")
    database.close()
    with pytest.raises(LakeError, match=f"a newer lake, with schema version {SCHEMA_VERSION + 7}; this Offbeat reads"):
        Lake.open(lake.root)


@pytest.mark.parametrize("loss", ["gone", "empty"])
def test_a_lake_that_lost_its_manifest_says_so_and_is_not_begun_anew(lake: Lake, loss: str) -> None:
    write(lake, "a", [1])
    for path in lake.root.glob("manifest.sqlite*"):
        path.unlink()
    if loss == "empty":
        (lake.root / MANIFEST_NAME).touch()
    for create in (False, True):
        with pytest.raises(LakeError, match=r"its manifest.sqlite is gone.*restore it from a copy"):
            Lake.open(lake.root, create=create)


def test_columns_that_an_older_lake_lacks_are_null(lake: Lake) -> None:
    lake.replace("jobs", pa.table({"job_id": ["a"], "n_ranks": [2]}))
    (path,) = lake.files("jobs")
    pq.write_table(pq.read_table(path, partitioning=None).select(["job_id", "n_ranks"]), path)
    (row,) = lake.read("jobs").to_pylist()
    assert row == {**dict.fromkeys(arrow_schema("jobs").names), "job_id": "a", "n_ranks": 2}


def test_an_older_lake_says_so(lake: Lake) -> None:
    with closing(sqlite3.connect(lake.root / MANIFEST_NAME)) as database:
        database.execute(f"pragma user_version = {SCHEMA_VERSION - 1}")
    with pytest.raises(LakeError, match=r"an older lake.*use the Offbeat that wrote it"):
        Lake.open(lake.root)


def test_units_and_meanings_stand_in_the_files_themselves(lake: Lake) -> None:
    write(lake, "a", [1, 2, 3])
    for path, table in ((lake.files("samples")[0], "samples"), (lake.files("series")[0], "series")):
        fields = pq.read_schema(path)
        for column in TABLES[table].columns:
            found = fields.field(column.name).metadata
            assert found[b"unit"].decode() == column.unit
            assert found[b"meaning"].decode() == column.meaning


def test_a_lake_whose_making_was_cut_short_is_completed_by_the_next_writer(tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).touch()
    with pytest.raises(LakeError, match="its making was cut short"):
        Lake.open(tmp_path)
    assert write(Lake.open(tmp_path, create=True), "a", [1])


def test_a_file_that_is_damaged_or_gone_is_named(lake: Lake) -> None:
    series_id = write(lake, "a", [1, 2, 3])
    (path,) = lake.files("samples")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LakeError, match=rf"{path.name}: the manifest names it, but"):
        lake.counter(series_id)
    path.unlink()
    with pytest.raises(LakeError, match=rf"{path.name}: the manifest names it, but"):
        lake.counter(series_id)


def test_a_table_that_grows_does_so_while_one_of_its_files_is_lost_and_is_merged_when_it_is_back(lake: Lake) -> None:
    def add(run_ns: int) -> None:
        lake.append("runs", pa.table({"run_ns": pa.array([run_ns], pa.int64())}))

    for run_ns in range(32):
        add(run_ns)
    lost = lake.files("runs")[5]
    lost.rename(lost.with_suffix(".away"))
    add(32)
    assert len(lake.files("runs")) == 33
    lost.with_suffix(".away").rename(lost)
    add(33)
    assert len(lake.files("runs")) == 1
    assert sorted(lake.read("runs")["run_ns"].to_pylist()) == list(range(34))


def test_a_lake_moved_elsewhere_still_works(lake: Lake) -> None:
    series_id = write(lake, "a", [1, 2, 3])
    moved = lake.root.rename(lake.root.with_name("moved"))
    assert Lake.open(moved).counter(series_id).value.tolist() == [1, 2, 3]


def test_a_failure_to_seal_reaches_the_caller_and_marks_the_recording(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = lake.writer(recording())
    monkeypatch.setattr("profiler.store.sealer.write_segment", Mock(side_effect=LakeError("disk full")))
    with pytest.raises(LakeError, match="disk full"), writer:
        writer.write_samples(writer.add_series(port()), [T0_NS], [1], flags=Flag.MISSED)
    assert (row(lake, "a")["status"], row(lake, "a")["message"]) == ("error", "disk full")
