"""Compacting a lake: nothing lost, nothing wrong hidden, whenever the process dies."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from profiler.errors import LakeError
from profiler.importers import ingest
from profiler.store import Lake, Recording, check_lake, compact, compaction, recording_id, spans
from profiler.store.locks import LakeLock
from tests.profiler.rights import rights_of_nobody
from tests.profiler.small_recordings import NS, T0_NS, filled, lake, open_to_all, put, put_one, readings, series

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["filled", "lake", "open_to_all"]


def test_every_reading_of_small_files_is_in_the_large_one(lake: Lake) -> None:
    before = readings(lake)

    done = compact(lake)

    assert (done.n_before, done.n_after, done.n_rows) == (20, 1, 20 * 3 * 50)
    assert len(lake.files("samples")) == 2
    assert readings(lake) == before
    assert not check_lake(lake).problems


def test_twice_is_no_more_than_once(lake: Lake) -> None:
    compact(lake)

    assert compact(lake).n_before == 0


def test_files_come_to_about_the_target(lake: Lake) -> None:
    sizes = [path.stat().st_size for path in lake.files("samples")]

    compact(lake, target_bytes=5 * max(sizes) + 1)

    assert len(lake.files("samples")) == 5


def test_what_is_left_of_a_day_goes_into_its_last_file(lake: Lake) -> None:
    sizes = [path.stat().st_size for path in lake.files("samples")[:20]]

    compact(lake, target_bytes=6 * max(sizes) + 1)

    assert len(lake.files("samples")) == 3 + 1


@pytest.mark.parametrize("block_rows", [40, 149, 10_000])
def test_a_series_of_many_blocks_is_merged_whole_and_in_order(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(compaction, "_BLOCK_ROWS", block_rows)
    monkeypatch.setattr(spans, "_BATCH_ROWS", 7)
    put(lake, "overlapping", first_s=33)
    put(lake, "the same again", first_s=33)
    before = readings(lake)
    n_rows = check_lake(lake).n_rows

    compact(lake)

    assert readings(lake) == before
    found = check_lake(lake)
    assert found.problems == ()
    assert found.n_rows == n_rows
    assert len(lake.files("samples")) == 2


def test_merging_again_leaves_no_recording_without_files(lake: Lake) -> None:
    compact(lake)
    put(lake, "late", first_s=5000)
    compact(lake)

    formats = [row["format"] for row in lake.read("recordings").to_pylist()]

    assert formats.count("compaction") == 1
    assert formats.count("test") == 22


def test_recordings_count_each_sample_once_however_often_files_are_merged(lake: Lake, tmp_path: Path) -> None:
    def counted(of: Lake) -> tuple[int, dict[str, int]]:
        return sum(row["n_rows"] or 0 for row in of.read("recordings").to_pylist()), of.states()

    for n, name in enumerate(["late", "later"], start=22):
        put(lake, name, first_s=100 * n)
        compact(lake)
        assert counted(lake) == (n * 3 * 50, {"ok": n})

    copy = tmp_path / "copy"
    ingest(lake.root, lake=copy)
    assert counted(Lake.open(copy)) == (23 * 3 * 50, {"ok": 23})
    put(Lake.open(copy), "more", first_s=9000)
    compact(Lake.open(copy))
    assert counted(Lake.open(copy)) == (24 * 3 * 50, {"ok": 24})


def test_what_replaced_files_take_up_is_told(lake: Lake) -> None:
    replaced = lake.files("samples")[:20]
    n_before = lake.leftovers()["n_files"]
    size = sum(path.stat().st_size for path in replaced)

    compact(lake)

    assert (n_before, lake.leftovers()) == (0, {"n_files": 20, "n_bytes": size})


def test_inputs_that_were_ingested_stay_known(lake: Lake) -> None:
    key = put(lake, "again", first_s=5000)

    compact(lake)

    assert lake.holds(key)
    with pytest.raises(LakeError, match="in the lake already"):
        put(lake, "again", first_s=5000)


def test_a_compacted_lake_goes_into_another_one_whole(lake: Lake, tmp_path: Path) -> None:
    before = readings(lake)
    compact(lake)

    ingest(lake.root, lake=tmp_path / "copy")

    assert readings(Lake.open(tmp_path / "copy")) == before


def test_a_recording_that_is_being_written_is_left_alone(lake: Lake) -> None:
    key = recording_id("live", parser="test", parser_version=1)
    with lake.writer(Recording(recording_id=key, source="live", format="test")) as writer:
        writer.add_series(series(0))
        writer.write_samples(series(0).series_id, [T0_NS + 7000 * NS], [1])
        writer.seal()
        compact(lake)
        assert len(lake.files("samples", recording_id=key)) == 1
        writer.write_samples(series(0).series_id, [T0_NS + 7001 * NS], [2])
    t_ns, value = readings(lake)[series(0).series_id]
    assert dict(zip(t_ns, value, strict=True))[T0_NS + 7001 * NS] == 2


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def test_damage_is_left_as_it_is_and_named_and_the_others_are_merged(lake: Lake) -> None:
    flipped, missing = lake.files("samples")[3:5]
    flip_a_bit(flipped)
    evidence = flipped.read_bytes()
    missing.unlink()

    done = compact(lake)

    assert (done.n_before, done.n_after, done.n_rows) == (18, 1, 18 * 3 * 50)
    assert [problem.split(";")[0] for problem in done.problems] == [
        f"{flipped}: changed since it was sealed (its SHA-256 differs)",
        f"{missing}: missing",
    ]
    assert flipped.read_bytes() == evidence
    assert sorted(check_lake(lake).problems) == sorted(done.problems)


def test_a_file_of_another_number_of_rows_than_was_sealed_is_not_merged(lake: Lake) -> None:
    path = lake.files("samples")[3]
    with closing(sqlite3.connect(lake.root / "manifest.sqlite")) as database:
        database.execute("update files set n_rows = 149 where path = ?", (str(path.relative_to(lake.root)),))
        database.commit()

    done = compact(lake)

    assert done.n_before == 19
    assert done.problems[0].startswith(f"{path}: 150 rows, 149 in the manifest")


def test_nothing_is_replaced_by_a_merge_that_lost_rows(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = readings(lake)
    monkeypatch.setattr(compaction, "_pieces", lambda paths: [pq.read_table(path) for path in paths[1:]])

    with pytest.raises(LakeError, match="2850 rows merged of 3000; nothing was replaced"):
        compact(lake)

    assert readings(lake) == before


def test_readings_that_contradict_are_not_merged_into_one_file_that_hides_it(lake: Lake) -> None:
    put_one(lake, "other", value=5)

    done = compact(lake)

    assert (done.n_before, len(done.problems)) == (20, 1)
    assert "1 readings of one series and time differ" in done.problems[0]
    assert "1 readings of one series and time differ" in check_lake(lake).problems[0]
    assert compact(lake).n_before == 0


def test_what_no_reader_needs_any_more_is_deleted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = lake.files("samples")[:20]
    compact(lake)
    assert all(path.exists() for path in replaced), "a reader may hold the older list"

    monkeypatch.setattr(compaction, "SWEEP_AFTER_S", -1)
    compact(lake)

    assert not [path for path in replaced if path.exists()]
    assert check_lake(lake).problems == ()


def test_a_file_that_we_may_not_read_is_not_called_damaged(lake: Lake, open_to_all: None) -> None:  # noqa: ARG001
    path = lake.files("samples")[3]
    path.chmod(0)
    with rights_of_nobody():
        found = check_lake(lake)
        with pytest.raises(LakeError, match=r"Permission denied\); run as a user who may") as failure:
            lake.counter(series(0).series_id)

    said = f"{path}: may not be read (Permission denied); run as a user who may, or change its permissions"
    assert (found.problems, found.unread, found.is_whole) == ((), (said,), None)
    assert "restore" not in str(failure.value)


def test_one_at_a_time(lake: Lake) -> None:
    lock = LakeLock(lake.root, hashlib.sha256(b"compaction").hexdigest(), work="compacting it")
    try:
        with pytest.raises(LakeError, match="another process is compacting it; wait until it ends"):
            compact(lake)
    finally:
        lock.release()
