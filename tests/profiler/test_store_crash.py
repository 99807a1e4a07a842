"""The lake when its writer is killed, the disk is full, or the folder is read-only: nothing sealed is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.errors import LakeError
from profiler.store import Lake, check_lake, compact
from tests.profiler.killable_writer import N_SERIES
from tests.profiler.recordings import T0_NS, port, recording, row, write

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def forker() -> Iterator[subprocess.Popen[str]]:
    """The process that forks writers."""
    command = [sys.executable, "-m", "tests.profiler.killable_writer"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def fill(folder: Path) -> None:
    """Write into a file until the disk is full."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def read_prefix(lake: Lake, name: str) -> int:
    """Return how many values of a writer the lake holds, having checked that each series holds 0, 1, 2, ..."""
    lengths = []
    for i_series in range(N_SERIES):
        counter = lake.counter(port(f"{name}-{i_series}").series_id)
        np.testing.assert_array_equal(counter.value, np.arange(len(counter)))
        np.testing.assert_array_equal(counter.t_ns, T0_NS + counter.value)
        lengths.append(len(counter))
    return min(lengths)


def write_and_kill(
    forker: subprocess.Popen[str], lake: Lake, name: str, *, once: str, after_s: float
) -> tuple[int, int]:
    """Let a writer go on for a while, read meanwhile, and kill it; return what was said safe, and what was seen.

    The while begins ``once`` the writer is "forked", or has "sealed" something.
    """
    assert forker.stdin is not None
    assert forker.stdout is not None
    forker.stdin.write(f"{lake.root} {name}\n")
    forker.stdin.flush()
    lines = iter(forker.stdout.readline, "dead\n")
    heard: list[str] = []
    while not any(line.startswith("pid") for line in heard) or (once == "sealed" and len(heard) < 2):
        heard.append(next(lines))
    (pid,) = (int(line.split()[1]) for line in heard if line.startswith("pid"))
    killer = threading.Timer(after_s, os.kill, (pid, signal.SIGKILL))
    killer.start()
    seen = 0
    while killer.is_alive():
        now = read_prefix(lake, name)
        assert now >= seen
        seen = now
        time.sleep(0.01)
    said = [int(line) for line in (*heard, *lines) if line.strip().isdigit()]
    return max(said, default=0), seen


def test_a_writer_killed_at_any_moment_loses_nothing_sealed_and_no_reader_is_ever_wrong(
    tmp_path: Path, forker: subprocess.Popen[str]
) -> None:
    moments = random.Random(5)  # noqa: S311 - no secret
    held = []
    for i_kill in range(20):
        lake = Lake.open(tmp_path / f"lake{i_kill // 5}", create=True)
        name, once = f"w{i_kill}", ("forked", "sealed")[i_kill % 2]
        said, seen = write_and_kill(forker, lake, name, once=once, after_s=moments.uniform(0.0, 0.2))
        held.append(read_prefix(lake, name))
        assert held[-1] >= max(said, seen)
    assert all(held[1::2])
    assert {entry["status"] for entry in lake.read("recordings").to_pylist()} == {"partial"}
    write(lake, "w19", [7], device="w19-0")
    assert lake.counter(port("w19-0").series_id).value.tolist() == [7]
    assert row(lake, "w19")["status"] == "ok"


def test_two_processes_write_into_one_new_lake_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from profiler.store import Lake; from tests.profiler.recordings import write;"
        "lake = Lake.open(sys.argv[1], create=True);"
        "[write(lake, f'{sys.argv[2]}{i}', [i], device=sys.argv[2]) for i in range(15)]"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, tmp_path / "lake", name], cwd=ROOT) for name in ("one", "two")
    ]
    assert [process.wait(30) for process in processes] == [0, 0]
    lake = Lake.open(tmp_path / "lake")
    assert {entry["status"] for entry in lake.read("recordings").to_pylist()} == {"ok"}
    assert len(lake.files("samples")) == 30
    assert sorted(entry["device"] for entry in lake.read("series").to_pylist()) == ["one", "two"]


@needs_root
def test_a_full_disk_keeps_what_was_sealed_and_says_what_to_do(small_disk: Path) -> None:
    lake = Lake.open(small_disk / "lake", create=True)
    kept = write(lake, "small", [1, 2, 3])
    noise = np.random.default_rng(1).integers(0, 2**60, 500_000)
    with pytest.raises(LakeError, match=r"No space left on device; free some space and run again"):
        write(lake, "large", noise.tolist())
    assert lake.counter(kept).value.tolist() == [1, 2, 3]
    assert not list(lake.root.glob("samples/**/.*.tmp"))
    assert row(lake, "large")["status"] == "error"
    assert "No space left" in str(row(lake, "large")["message"])
    assert write(lake, "large", [4])
    assert lake.holds(recording("large").recording_id)


@needs_root
def test_a_disk_full_to_the_last_byte_fails_clearly_and_can_still_be_read(small_disk: Path) -> None:
    lake = Lake.open(small_disk / "lake", create=True)
    kept = write(lake, "small", [1, 2, 3])
    fill(small_disk)
    with pytest.raises(LakeError, match=r"full|No space left"):
        write(lake, "large", list(range(10_000)))
    assert lake.counter(kept).value.tolist() == [1, 2, 3]
    (small_disk / "filler").unlink()
    assert write(lake, "large", [4])


@needs_root
def test_a_disk_full_while_merging_keeps_the_small_files(small_disk: Path) -> None:
    lake = Lake.open(small_disk / "lake", create=True)
    noise = np.random.default_rng(1).integers(0, 2**60, (8, 6_000))
    ids = [write(lake, f"part{i}", values.tolist(), device=f"eth{i}") for i, values in enumerate(noise)]
    fill(small_disk)
    for _ in range(3):  # SQLite's own words differ, by what it finds beside the manifest
        with pytest.raises(LakeError, match=r"No space left on device; free some|the disk is full: free some"):
            compact(lake)
    for series_id, values in zip(ids, noise, strict=True):
        np.testing.assert_array_equal(lake.counter(series_id).value, values)
    assert check_lake(lake).problems == ()
    (small_disk / "filler").unlink()
    assert check_lake(lake).problems == ()


@needs_root
@pytest.mark.parametrize("leftover", ["wal kept", "wal gone"])
def test_a_lake_on_a_read_only_file_system_is_read_but_not_written(small_disk: Path, leftover: str) -> None:
    lake = Lake.open(small_disk / "lake", create=True)
    series_id = write(lake, "a", [1, 2, 3])
    if leftover == "wal gone":
        for path in lake.root.glob("manifest.sqlite-*"):
            path.unlink()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert Lake.open(lake.root).counter(series_id).value.tolist() == [1, 2, 3]
    assert lake.holds(recording("a").recording_id)
    with pytest.raises(LakeError, match="Read-only file system; choose a lake elsewhere"):
        write(lake, "b", [1])
    with pytest.raises(LakeError, match=r"read-?only"):
        lake.replace("jobs", lake.read("jobs"))
    with pytest.raises(LakeError, match="Read-only file system; choose a lake elsewhere"):
        Lake.open(small_disk / "other", create=True)
