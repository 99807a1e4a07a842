"""Checking a lake: nothing wrong unseen, nothing sound called wrong."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from profiler.errors import LakeError
from profiler.store import Lake, Recording, check_lake, compact, recording_id
from tests.profiler.small_recordings import NS, T0_NS, filled, lake, put, put_one, series

__all__ = ["filled", "lake"]


def test_a_lake_that_is_whole_is_said_to_be(lake: Lake) -> None:
    found = check_lake(lake)

    assert found.problems == ()
    assert (found.n_files, found.n_rows) == (21 + 21, 21 * 3 * 50 + 21 * 3)


def test_one_changed_byte_is_found(lake: Lake) -> None:
    path = lake.files("samples")[3]
    raw = bytearray(path.read_bytes())
    raw[100] ^= 1
    path.write_bytes(raw)

    (problem,) = check_lake(lake).problems

    assert str(path) in problem


def test_a_missing_file_and_one_that_does_not_belong_are_found(lake: Lake) -> None:
    missing, other = lake.files("samples")[:2]
    stray = other.with_name("stray.parquet")
    stray.write_bytes(other.read_bytes())
    missing.unlink()

    problems = check_lake(lake).problems

    assert len(problems) == 2
    assert str(missing) in problems[0]
    assert "not in the manifest" in problems[1]
    assert str(stray) in problems[1]


def test_a_file_out_of_order_is_found_even_with_its_hash(lake: Lake) -> None:
    path = lake.files("samples")[0]
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(rows.take(list(range(rows.num_rows))[::-1]), path)
    with closing(sqlite3.connect(lake.root / "manifest.sqlite")) as database:
        database.execute(
            "update files set (sha256, n_bytes) = (?, ?) where path = ?",
            (
                hashlib.sha256(path.read_bytes()).hexdigest(),
                path.stat().st_size,
                str(path.relative_to(lake.root)),
            ),
        )
        database.commit()

    (problem,) = check_lake(lake).problems

    assert "not in order" in problem


def test_readings_that_two_inputs_give_differently_are_a_problem(lake: Lake) -> None:
    one = lake.files("samples")[0]
    put_one(lake, "other", value=5)

    (problem,) = check_lake(lake).problems

    assert problem.startswith(f"{one} and {lake.files('samples')[-1]}: 1 readings stand in both, 1 readings of one")
    assert problem.endswith("make the lake again from only one of the two inputs")


def test_deltas_of_one_time_that_two_inputs_give_differently_add_up_and_contradict_nothing(lake: Lake) -> None:
    delta = replace(series(9), kind="delta")
    put_one(lake, "one", value=5, chosen=delta)
    put_one(lake, "other", value=7, chosen=delta)

    assert check_lake(lake).problems == ()
    assert compact(lake).problems == ()
    assert lake.counter(delta.series_id).value.tolist() == [5 + 7, (T0_NS + NS) // NS]


def test_readings_that_stand_in_two_files_are_counted(lake: Lake) -> None:
    put(lake, "first again", first_s=0, n_series=2)

    (note,) = (note for note in check_lake(lake).notes if "stand in both" in note)

    assert note.endswith("100 readings stand in both")


def test_files_of_other_series_or_other_times_do_not_overlap(lake: Lake) -> None:
    assert not [note for note in check_lake(lake).notes if "stand in both" in note]


@pytest.mark.parametrize("damage", ["truncated", "empty", "a folder"])
def test_a_file_that_cannot_be_read_is_named_and_the_others_are_checked(lake: Lake, damage: str) -> None:
    path = lake.files("samples")[2]
    whole = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "truncated" else b"")

    found = check_lake(lake)

    (problem,) = found.problems
    assert problem.startswith(f"{path}: ")
    assert "restore it from a copy" in problem
    assert found.n_files == 42


def test_a_manifest_that_is_damaged_is_told(lake: Lake) -> None:
    with closing(sqlite3.connect(lake.root / "manifest.sqlite")) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        (page_bytes,) = database.execute("pragma page_size").fetchone()
        (page,) = database.execute("select rootpage from sqlite_schema where name = 'files_by_table'").fetchone()
    with (lake.root / "manifest.sqlite").open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(bytes(page_bytes))

    try:
        told = " ".join(check_lake(lake).problems)
    except LakeError as error:
        told = str(error)

    assert "the manifest is damaged: restore it from a copy" in told


def test_a_check_is_not_misled_by_a_file_sealed_meanwhile(lake: Lake) -> None:
    n_calls = 0

    def write_once(_n_bytes: int) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            put(lake, "meanwhile", first_s=9000)
            compact(lake)

    assert check_lake(lake, advance=write_once).problems == ()


def cut_short(lake: Lake) -> None:
    """Seal a reading, and be interrupted."""
    cut = Recording(recording_id=recording_id("cut", parser="test", parser_version=1), source="cut", format="test")
    with lake.writer(cut) as writer:
        writer.add_series(series(0))
        writer.write_samples(series(0).series_id, [T0_NS + 9000 * NS], [1])
        writer.seal()
        raise KeyboardInterrupt


def test_files_of_a_second_try_that_was_cut_short_are_no_strays(lake: Lake) -> None:
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            cut_short(lake)

    found = check_lake(lake)

    assert found.problems == ()
    assert "files do not count" in found.notes[0]


def test_what_a_killed_writer_left_behind_is_no_stray_and_what_nobody_announced_is(lake: Lake) -> None:
    left = lake.files("samples")[0].with_name(".left-by-nobody.parquet.tmp")
    left.write_bytes(b"PAR1")

    (problem,) = check_lake(lake).problems

    assert "left-by-nobody.parquet.tmp: not in the manifest" in problem
