"""Shards that fail: files that are damaged, memory that runs out, nodes that differ; each is told, the rest goes on."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.batch import BatchOptions, SeriesProfile, Work, outcome
from pipeline.batch.files import INDEX_NAME
from pipeline.batch.outcome import run_shard
from pipeline.flow import analyze
from profiler.errors import LakeError, NotHere
from tests.pipeline.fleets import add_host, fleet, profiles, rows, sample_file, shards_of
from tests.pipeline.lakes import CLUSTER, two_job_lake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from profiler.phases import TrafficProfile
    from profiler.store import Lake


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake that no test adds to."""
    return fleet(tmp_path_factory.mktemp("settled") / "lake")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return fleet(tmp_path / "lake", n_hosts=3)


@pytest.fixture(params=["cut", "gone", "no Parquet"])
def damaged(request: pytest.FixtureRequest, lake: Lake) -> Lake:
    path = sample_file(lake, "h1")
    if request.param == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:200] if request.param == "cut" else b"nothing of the kind")
    return lake


def test_a_file_that_cannot_be_read_is_named_and_the_rest_goes_on(damaged: Lake) -> None:
    found = profiles(damaged)
    (fault,) = found.faults
    assert fault.what == str(sample_file(damaged, "h1"))
    assert "restore it from a copy" in fault.why
    by_host = {one.profile.host: one.profile.status for one in found.series.values()}
    assert by_host == {"h0": "periodic", "h1": "no_data", "h2": "periodic"}
    reasons = {one.profile.reason for one in found.series.values() if one.profile.host == "h1"}
    name = sample_file(damaged, "h1").name
    assert reasons == {f"no window of time between two reads; {name} cannot be read, and may hold its readings"}


def damage_page(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[40:400] = bytes(360)
    path.write_bytes(whole)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def forget_results(lake: Lake) -> None:
    for result in (lake.root / "work").glob("*.shard"):
        result.unlink()


@pytest.mark.parametrize("damage", [damage_page, cut], ids=["page", "cut"])
@pytest.mark.parametrize("is_known", [True, False], ids=["index", "no index"])
def test_a_damaged_file_is_left_out_whatever_is_cached(
    lake: Lake, damage: Callable[[Path], None], *, is_known: bool
) -> None:
    before = rows(profiles(lake).series.values())
    first = lake.files("samples")
    add_host(lake, "h1", start_s=4.0, period_s=0.25)
    profiles(lake)
    (path,) = set(lake.files("samples")) - set(first)
    damage(path)
    forget_results(lake)
    if not is_known:
        (lake.root / "work" / INDEX_NAME).unlink()
    found = profiles(lake)
    (fault,) = found.faults
    assert fault.what == str(path)
    assert "restore it from a copy" in fault.why
    assert rows(found.series.values()) == before


def flip_unnoticed(path: Path) -> None:
    """Change one byte so that the file reads as before, but tells other readings."""
    whole, before = path.read_bytes(), pq.read_table(path, partitioning=None)
    for place in range(len(whole) // 5, len(whole) // 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            after = pq.read_table(path, partitioning=None)
        except (OSError, pa.ArrowException):
            continue
        if after.num_rows == before.num_rows and not after.equals(before):
            return
    raise AssertionError(f"{path}: every changed byte makes it unreadable")


@pytest.mark.parametrize("is_kept", [True, False], ids=["index kept", "index new"])
def test_a_file_that_reads_but_tells_other_readings_is_left_out_and_named(lake: Lake, *, is_kept: bool) -> None:
    before = rows(profiles(lake).series.values())
    first = lake.files("samples")
    add_host(lake, "h1", start_s=4.0, period_s=0.25)
    (path,) = set(lake.files("samples")) - set(first)
    if is_kept:
        profiles(lake)
        forget_results(lake)
    flip_unnoticed(path)
    found = profiles(lake)
    (fault,) = found.faults
    assert fault.what == str(path)
    assert "changed since it was sealed: its SHA-256 differs" in fault.why
    assert rows(found.series.values()) == before


def test_a_share_does_not_profile_what_was_not_sealed(lake: Lake) -> None:
    path = sample_file(lake, "h1")
    flip_unnoticed(path)
    for shard in shards_of(lake, lake.root / "work"):
        done = run_shard(shard, Work(lake.root / "work"))
        assert done.is_unread == (shard.host == "h1")
        assert (done.fault or "").startswith(str(path) if done.is_unread else "")


def test_an_analysis_says_what_it_could_not_read_and_answers_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    lake = two_job_lake(tmp_path / "lake", duration_s=8.0)
    add_host(lake, "h1", duration_s=4.0)
    sample_file(lake, "h1").unlink()
    found = analyze(lake.root, cluster=tmp_path / "cluster.toml")
    (fault,) = found.faults
    assert "h1-" in fault.what
    assert [(link.link, sorted(link.demands)) for link in found.links] == [("trunk", ["A", "B"])] * 2
    document = found.to_dict()
    assert document["skipped"][0] == {"what": fault.what, "why": fault.why}
    assert document["warnings"] == [f"{fault.what}: {fault.why}"]


def fails(error: Exception) -> Iterator[SeriesProfile]:
    raise error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (LakeError("a.parquet: torn"), "a.parquet: torn"),
        (MemoryError(), "memory ran out"),
        (ZeroDivisionError("by 0"), "failed with ZeroDivisionError: by 0; the fault is Offbeat's"),
    ],
)
def test_whatever_a_shard_fails_of_is_told(
    settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    shard = shards_of(settled, tmp_path)[0]
    monkeypatch.setattr(outcome, "profile_shard", lambda _shard: next(fails(error)))
    ended = run_shard(shard, Work(tmp_path))
    assert ended.key == shard.key
    assert ended.fault is not None
    assert told in ended.fault


def test_a_series_that_takes_all_memory_fails_its_shard_and_is_not_kept_as_without_data(
    settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(_series: object) -> TrafficProfile:
        raise MemoryError

    monkeypatch.setattr("profiler.batch.outcome.profile", exhausted)
    found = profiles(settled, BatchOptions(work=tmp_path))
    assert len(found.faults) == 4
    assert Work(tmp_path).keys() == set()


def test_another_version_of_offbeat_on_a_node_is_told(settled: Lake, tmp_path: Path) -> None:
    ended = run_shard(replace(shards_of(settled, tmp_path)[0], version="9.9"), Work(tmp_path))
    assert ended.fault is not None
    assert "the caller 9.9; install the same on every node" in ended.fault


def test_a_work_folder_that_cannot_be_made_says_what_to_do(settled: Lake, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError, match="--work DIR"):
        profiles(settled, BatchOptions(work=tmp_path / "file" / "work"))


def test_without_ray_it_is_told_how_to_get_it(settled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotHere, match=r"pip install 'offbeat\[ray\]', or use --engine local"):
        profiles(settled, BatchOptions(engine="ray", work=tmp_path))


def test_only_our_own_leftovers_are_swept_from_a_folder_of_the_user(lake: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    key = "0" * 64
    theirs = [folder / name for name in (".notes.tmp", ".draft.shard.tmp", "results.shard", f"{key}.csv")]
    ours = [folder / f"{key}.shard", folder / f".{key}.shard.{'a' * 12}.tmp", folder / f".{INDEX_NAME}.{'b' * 12}.tmp"]
    for path in (*theirs, *ours):
        path.write_text("kept")
        os.utime(path, (0, 0))

    profiles(lake, BatchOptions(work=folder))

    assert [path for path in (*theirs, *ours) if path.exists()] == theirs
