"""Copies of lakes in buckets: whole at any instant, whatever is written, replaced or left behind meanwhile."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.cli.main import main
from profiler.errors import LakeError, UsageError
from profiler.store import Lake, Recording, compact, push
from profiler.store.remote.address import RemotePath
from profiler.store.remote.faults import told
from profiler.store.remote.push import send
from profiler.store.remote.tags import is_tag_of, tag_of
from profiler.store.sealer import SWEEP_AFTER_S
from tests.pipeline.fleets import add_host, fleet
from tests.pipeline.lakes import T0_NS, port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pipeline.buckets import S3Server


pytestmark = pytest.mark.usefixtures("keys")


def test_what_is_written_meanwhile_is_not_copied_by_halves(server: S3Server, tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    with lake.writer(Recording(recording_id="e" * 64, source="live", format="test")) as writer:
        series_id = writer.add_series(port("live", "eth0", "transmit"))
        writer.write_samples(series_id, [T0_NS, T0_NS + 1], [1, 2])
        writer.seal()
        writer.write_samples(series_id, [T0_NS + 2], [3])
        push(lake, server.address("live"))
        copy = Lake.open(server.address("live"))
        assert copy.counter(series_id).value.tolist() == [1, 2]
        assert copy.states() == {"ok": 1, "partial": 1}
    push(lake, server.address("live"))
    assert Lake.open(server.address("live")).counter(series_id).value.tolist() == [1, 2, 3]


def test_files_that_a_merge_replaced_stay_for_an_hour_and_then_go(server: S3Server, tmp_path: Path) -> None:
    lake, address, now_ns = fleet(tmp_path / "lake", n_hosts=2), server.address("merged"), T0_NS
    push(lake, address, now_ns=now_ns)
    old = set(server.keys("merged/samples/"))
    assert compact(lake).n_before == 2
    assert push(lake, address, now_ns=now_ns).n_deleted == 0
    assert old < set(server.keys("merged/samples/"))
    later_ns = now_ns + int((SWEEP_AFTER_S + 1) * 1e9)
    assert push(lake, address, now_ns=later_ns).n_deleted == 2
    assert not old & set(server.keys("merged/samples/"))
    assert main(["lake", address, "--check"]) == 0


def test_what_a_push_that_was_cut_short_left_goes_with_a_later_one_and_nothing_else(
    server: S3Server, tmp_path: Path
) -> None:
    lake, address, now_ns = fleet(tmp_path / "lake", n_hosts=2), server.address("strays"), T0_NS
    left = {f"strays/{path.relative_to(lake.root)}" for path in lake.files("samples")}
    for key in (*left, foreign := "strays/samples/notes.parquet"):
        server.put(key, b"sent before the push was cut short")
    compact(lake)
    assert push(lake, address, now_ns=now_ns).n_deleted == 0
    assert main(["lake", address, "--check"]) == 3  # of what is not ours it says what to do
    server.delete(foreign)
    assert main(["lake", address, "--check"]) == 0
    server.put(foreign, b"not ours")
    assert push(lake, address, now_ns=now_ns + int((SWEEP_AFTER_S + 1) * 1e9)).n_deleted == 2
    assert set(server.keys("strays/samples/")) & {*left, foreign} == {foreign}


def test_another_lake_is_not_copied_over(server: S3Server, tmp_path: Path) -> None:
    one, other = fleet(tmp_path / "one", n_hosts=1), Lake.open(tmp_path / "other", create=True)
    add_host(other, "h7")
    push(one, server.address("taken"))
    with pytest.raises(UsageError, match="has another lake, with 1 recordings that this one lacks"):
        push(other, server.address("taken"))
    with pytest.raises(UsageError, match="not in a bucket"):
        push(other, tmp_path / "folder")


def test_a_lake_of_which_a_file_is_gone_is_not_copied(server: S3Server, tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    lake.files("samples")[0].unlink()
    with pytest.raises(LakeError, match="missing; restore it"):
        push(lake, server.address("gone"))
    assert "gone/manifest.sqlite" not in server.keys("gone/")


def test_an_object_of_other_bytes_but_the_same_size_is_sent_again(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, address = fleet(tmp_path / "lake", n_hosts=2), server.address("worn")
    push(lake, address)
    key = server.keys("worn/samples/")[0]
    whole = server.get(key)
    server.put(key, whole[:200] + bytes(1800) + whole[2000:])
    assert main(["lake", address, "--check"]) == 3
    told = capsys.readouterr().out
    assert f"s3://bucket/{key}: changed since it was sealed" in told
    assert "--push ADDRESS" in told
    again = push(lake, address)
    assert (again.n_files, again.n_bytes, again.n_kept) == (1, len(whole), 3)
    assert server.get(key) == whole
    assert main(["lake", address, "--check"]) == 0
    assert push(lake, address).n_kept == 4


def test_a_file_that_is_worn_here_does_not_replace_a_sound_object(server: S3Server, tmp_path: Path) -> None:
    lake, address = fleet(tmp_path / "lake", n_hosts=1), server.address("sound")
    push(lake, address)
    (key,) = server.keys("sound/samples/")
    (path,) = lake.files("samples")
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes(1800) + whole[2000:])
    assert push(lake, address).n_kept == 2
    server.put(key, whole[:-1])
    with pytest.raises(LakeError, match=rf"{path.name}: changed since it was sealed .*; restore it from a copy"):
        push(lake, address)
    assert server.get(key) == whole[:-1]


def test_what_an_earlier_push_sent_before_it_was_cut_short_is_known_by_its_bytes(
    server: S3Server, tmp_path: Path
) -> None:
    lake, address = fleet(tmp_path / "lake", n_hosts=2), server.address("short")
    push(lake, address)
    server.delete("short/manifest.sqlite")
    keys = server.keys("short/samples/")
    server.put(keys[0], server.get(keys[0])[::-1])
    server.put(keys[1], server.get(keys[1]))  # whole, as other programs put it
    again = push(lake, address)
    assert (again.n_files, again.n_kept) == (1, 3)
    assert main(["lake", address, "--check"]) == 0


def test_a_file_sent_in_parts_has_the_tag_of_its_bytes(server: S3Server, tmp_path: Path) -> None:
    path, place = tmp_path / "large", RemotePath.parse(server.address("large"))
    path.write_bytes(np.random.default_rng(1).bytes(25 << 20))
    send(path, place)
    assert server.get("large") == path.read_bytes()
    assert is_tag_of(path, tag_of(place))
    with path.open("r+b") as file:
        file.write(b"x" * 99)
    assert not is_tag_of(path, tag_of(place))


def test_a_large_file_is_sent_in_pieces(server: S3Server, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    sent = subprocess.run(
        [sys.executable, "-c", _SENDING, str(path), server.address("pieces")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert server.client.head_object(Bucket="bucket", Key="pieces")["ContentLength"] == 64 << 20
    assert int(sent.stdout) < 40 << 20, "more than some parts of it was in memory"


_SENDING = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from profiler.store.remote.address import RemotePath
from profiler.store.remote.push import send
path, place = Path(sys.argv[1]), RemotePath.parse(sys.argv[2])
small = path.with_name("small")
small.write_bytes(bytes(1 << 20))
send(small, place.parent / "small")  # what the first one loads is no part of it
before = getrusage(RUSAGE_SELF).ru_maxrss
send(path, place)
print((getrusage(RUSAGE_SELF).ru_maxrss - before) << 10)
"""


def _copy_by_hand(server: S3Server, lake: Lake, folder: str, names: tuple[str, ...]) -> None:
    for path in lake.root.rglob("*.parquet"):
        server.put(f"{folder}/{path.relative_to(lake.root)}", path.read_bytes())
    for name in names:
        server.put(f"{folder}/{name}", (lake.root / name).read_bytes())


def test_changes_in_the_log_of_a_copied_manifest_are_taken_in(server: S3Server, tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    with closing(sqlite3.connect(lake.root / "manifest.sqlite")) as reader:
        reader.execute("begin")
        reader.execute("select * from files").fetchall()  # as long as it reads, the log is not emptied
        add_host(lake, "h5")
        _copy_by_hand(server, lake, "logged", ("manifest.sqlite", "manifest.sqlite-wal"))
    assert {row["host"] for row in Lake.open(server.address("logged")).read("series").to_pylist()} == {"h0", "h5"}


def test_a_log_older_than_its_manifest_is_refused(server: S3Server, tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    server.put("stale/manifest.sqlite-wal", b"of an earlier copy")
    _copy_by_hand(server, lake, "stale", ("manifest.sqlite",))
    while _modified(server, "stale/manifest.sqlite") == _modified(server, "stale/manifest.sqlite-wal"):  # whole seconds
        _copy_by_hand(server, lake, "stale", ("manifest.sqlite",))
    with pytest.raises(LakeError, match=r"older than manifest\.sqlite"):
        Lake.open(server.address("stale"))
    push(lake, server.address("stale"))
    assert Lake.open(server.address("stale")).read("series").num_rows == 2


def _modified(server: S3Server, key: str) -> object:
    return server.client.head_object(Bucket="bucket", Key=key)["LastModified"]


def test_a_damaged_manifest_says_how_to_copy_it_safely(server: S3Server, tmp_path: Path) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    torn = tmp_path / "torn"
    shutil.copytree(lake.root, torn)
    content = bytearray((torn / "manifest.sqlite").read_bytes())
    content[8192:12288] = bytes(4096)
    (torn / "manifest.sqlite").write_bytes(content)
    _copy_by_hand(server, Lake(torn), "torn", ("manifest.sqlite",))
    with pytest.raises(LakeError, match=r"copy it again with offbeat lake LAKE --push"):
        Lake.open(server.address("torn"))


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("AWS Error ACCESS_DENIED during HeadObject", "does not let us read"),
        ("When reading: AWS Error UNKNOWN (HTTP status 403) during HeadObject", "AWS_ACCESS_KEY_ID"),
        (
            "AWS Error NETWORK_CONNECTION: curlCode: 28, Timeout was reached; Details: slow",
            "does not answer in time",
        ),
        ("AWS Error NETWORK_CONNECTION: curlCode: 6, Could not resolve hostname", "cannot be reached"),
        ("google::cloud::Status(UNAVAILABLE: Could not create a OAuth2 access token to", "GOOGLE_APPLICATION"),
        ("AWS Error UNKNOWN (HTTP status 301) during HeadObject operation", "another region"),
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation", "no such bucket"),
        ("AWS Error RESOURCE_NOT_FOUND during CreateMultipartUpload operation: No response body.", "no such bucket"),
        ("something else\nin two lines", "something else"),
    ],
)
def test_what_a_bucket_complains_of_says_what_to_do(message: str, what: str) -> None:
    assert what in told(OSError(message))
    assert "\n" not in told(OSError(message))


def test_the_command_tells_what_it_copied(server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fleet(tmp_path / "lake", n_hosts=1)
    assert main(["lake", str(lake.root), "--push", server.address("told"), "--csv"]) == 0
    size = sum(path.stat().st_size for path in lake.root.rglob("*.parquet"))
    assert capsys.readouterr().out == f"n_files,n_bytes,n_kept,n_deleted\n2,{size},0,0\n"
    assert main(["lake", str(lake.root), "--push", server.address("told"), "--check"]) == 2
