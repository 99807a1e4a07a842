"""Inputs into a lake: each once, whatever becomes of the others, and whenever the process dies."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from profiler.errors import BadInput, LakeError, UsageError
from profiler.importers import IMPORTERS, Options, ingest, read_counters, read_mapping
from profiler.importers.contents import kind_of
from profiler.importers.inputs import Input
from profiler.importers.paths import inputs_of, total_bytes
from profiler.store import Lake
from tests.data import ROOT
from tests.profiler.dumps import CAPTURE, TABLE, n_samples, put, statuses, tar_of


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


# Once


def test_samples_flows_and_series_are_in_the_lake(lake: Lake, tmp_path: Path) -> None:
    report = ingest(put(tmp_path / "t.csv", TABLE), put(tmp_path / "c.pcap", CAPTURE), lake=lake)

    assert statuses(report) == ["read", "read"]
    assert report.is_complete
    assert [found.coverage.n_rows for found in report.inputs] == [2, 2]
    assert sorted(lake.read("series")["layer"].to_pylist()) == ["capture", "capture", "netdev"]
    assert lake.read("flows")["bytes"].to_pylist() == [300]
    assert lake.read("recordings")["status"].to_pylist() == ["ok", "ok"]
    assert sum(found.coverage.n_samples for found in report.inputs) == n_samples(lake)


def test_twice_is_a_no_op_whatever_the_file_is_called(lake: Lake, tmp_path: Path) -> None:
    ingest(put(tmp_path / "a.csv", TABLE), lake=lake)
    report = ingest(tmp_path / "a.csv", put(tmp_path / "b.csv", TABLE), lake=lake)

    assert statuses(report) == ["already there", "already there"]
    assert report.is_complete
    assert n_samples(lake) == 2


def test_other_parameters_are_another_recording(lake: Lake, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", TABLE)
    ingest(path, lake=lake)

    assert statuses(ingest(path, lake=lake, host="leaf-1")) == ["read"]
    assert sorted(lake.read("series")["host"].to_pylist()) == ["a", "leaf-1"]


def test_parameters_that_an_importer_does_not_use_do_not_make_another_recording(lake: Lake, tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", TABLE)
    ingest(path, lake=lake)

    assert statuses(ingest(path, lake=lake, options=Options(bin_s=0.01))) == ["already there"]


def test_a_bin_is_as_wide_as_asked(lake: Lake, tmp_path: Path) -> None:
    ingest(put(tmp_path / "c.pcap", CAPTURE), lake=lake, options=Options(bin_s=0.01))

    for series_id in lake.read("series")["series_id"].to_pylist():
        assert lake.counter(series_id).t_ns.tolist() == [1_000_000_000, 1_010_000_000]


# The others are read all the same


def test_one_bad_file_does_not_keep_the_others_out(lake: Lake, tmp_path: Path) -> None:
    good, bad = put(tmp_path / "good.csv", TABLE), put(tmp_path / "bad.csv", "<html>")
    report = ingest(bad, tmp_path / "missing.csv", good, lake=lake)

    assert statuses(report) == ["failed", "failed", "read"]
    assert not report.is_complete
    assert "looks like HTML page" in report.inputs[0].message
    assert "missing.csv: no such file" in report.inputs[1].message


def test_partly_sound_file_is_stored_in_part_and_said_to_be(lake: Lake, tmp_path: Path) -> None:
    path = put(tmp_path / "cut.pcap", CAPTURE[:-1])
    report = ingest(path, lake=lake)

    assert statuses(report) == ["partial"]
    assert not report.is_complete
    row = lake.read("recordings").to_pylist()[0]
    assert (row["status"], row["message"]) == ("partial", report.inputs[0].message)
    assert lake.read("flows")["bytes"].to_pylist() == [100]
    again = ingest(path, lake=lake)
    assert statuses(again) == ["already there, partly"]
    assert not again.is_complete
    assert again.inputs[0].message == f"{path}: already there, partly: {report.inputs[0].message}"


def test_file_that_failed_can_be_tried_again(lake: Lake, tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", "t_ns,a.rx_bytes\nx,1\n")
    first, second = ingest(path, lake=lake), ingest(path, lake=lake)

    assert statuses(first) == statuses(second) == ["failed"]
    assert lake.read("recordings")["status"].to_pylist() == ["error"]


def test_format_can_be_forced_and_must_be_known(lake: Lake, tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", TABLE)

    report = ingest(path, lake=lake, format="capture")
    assert statuses(report) == ["failed"]
    assert "looks like text, not like a capture" in report.inputs[0].message
    with pytest.raises(UsageError, match="expected one of recorder, capture, nsys"):
        ingest(path, lake=lake, format="pcap")


@pytest.mark.parametrize("told", [{"bin_s": 0.0}, {"bin_s": 3.0}, {"bin_s": float("nan")}])
def test_bins_that_cannot_be_are_refused(told: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"expected 1e-06 s to 2\.0 s"):
        Options(**told)


def test_every_importer_stands_under_its_own_name() -> None:
    assert {name: importer.name for name, importer in IMPORTERS.items()} == {name: name for name in IMPORTERS}


# Folders, archives, standard input


def test_folder_is_walked_and_what_is_no_dump_is_passed_over(lake: Lake, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    put(dumps / "a.csv", TABLE)
    put(dumps / "deep" / "c.pcap", CAPTURE)
    put(dumps / "README.md", "# Dumps\n")
    put(dumps / ".hidden.csv", TABLE.replace("3", "4"))
    report = ingest(dumps, lake=lake)

    assert {Path(found.source).name: found.status for found in report.inputs} == {
        ".hidden.csv": "skipped",
        "README.md": "skipped",
        "a.csv": "read",
        "c.pcap": "read",
    }
    assert report.is_complete


def test_folder_with_nothing_to_read_fails(lake: Lake, tmp_path: Path) -> None:
    put(tmp_path / "notes" / "README.md", "# Notes\n")
    report = ingest(tmp_path / "notes", lake=lake)

    assert statuses(report) == ["skipped", "failed"]
    assert "nothing in it that an importer reads" in report.inputs[1].message


def test_empty_folder_fails(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert statuses(ingest(tmp_path / "empty", lake=lake)) == ["failed"]


def test_members_of_an_archive_are_inputs_of_their_own(lake: Lake, tmp_path: Path) -> None:
    other = TABLE.replace("3\n", "9\n")
    archive = tar_of(tmp_path / "all.tar.xz", [("x/a.csv", TABLE.encode()), ("x/b.csv", other.encode())])
    put(tmp_path / "a.csv", TABLE)
    ingest(tmp_path / "a.csv", lake=lake)
    report = ingest(archive, lake=lake)

    assert [found.source.rpartition("!")[2] for found in report.inputs] == ["x/a.csv", "x/b.csv"]
    assert statuses(report) == ["already there", "read"]
    assert sorted(lake.read("series")["host"].to_pylist()) == ["a", "b"]


def test_cut_archive_gives_its_sound_members(lake: Lake, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 2**60, (4, 5000)).tolist()
    rows = ["".join(f"{3000 + i},{value}\n" for i, value in enumerate(column)) for column in values]
    members = [(f"{i}.csv", (TABLE + text).encode()) for i, text in enumerate(rows)]
    archive = tar_of(tmp_path / "all.tar.xz", members)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size * 2 // 3])
    report = ingest(archive, lake=lake)

    assert statuses(report)[:2] == ["read", "read"]
    assert statuses(report)[-1] == "failed"
    assert "end early" in report.inputs[-1].message


def test_standard_input_is_read_as_a_file_is(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest(put(tmp_path / "t.csv", TABLE), lake=lake)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    assert statuses(ingest("-", lake=lake)) == ["already there"]

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CAPTURE)))
    assert statuses(ingest("-", lake=lake)) == ["read"]


def test_pipe_is_read_as_a_file_is(lake: Lake, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", 'printf %s "$0" > "$1"', TABLE, str(tmp_path / "pipe")]):
        report = ingest(tmp_path / "pipe", lake=lake)

    assert statuses(report) == ["read"]
    assert statuses(ingest(put(tmp_path / "t.csv", TABLE), lake=lake)) == ["already there"]


def test_temporary_copies_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    archive = tar_of(tmp_path / "all.tar.xz", [("a.csv", TABLE.encode())])
    names = [source.path.name for source in inputs_of(archive) if isinstance(source, Input)]

    assert len(names) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_total_of_a_progress_bar_is_that_of_all_files(tmp_path: Path) -> None:
    put(tmp_path / "dumps" / "a.csv", TABLE)
    put(tmp_path / "dumps" / "deep" / "b.csv", TABLE)

    assert total_bytes([tmp_path / "dumps", tmp_path / "dumps" / "a.csv"]) == 3 * len(TABLE)
    assert total_bytes(["-"]) is None


def test_progress_comes_to_the_size_of_the_files(lake: Lake, tmp_path: Path) -> None:
    steps: list[int] = []
    ingest(put(tmp_path / "a.csv", TABLE), put(tmp_path / "c.pcap", CAPTURE), lake=lake, advance=steps.append)

    assert sum(steps) == len(TABLE) + len(CAPTURE)


def test_shipped_mapping_is_known_by_name_and_a_wrong_name_says_which_are() -> None:
    assert read_mapping("zhejianglab").time.column == "SaveTimeUTC"
    with pytest.raises(UsageError, match="give a TOML file or one of: zhejianglab"):
        read_mapping("no-such-mapping")


@pytest.mark.parametrize(
    ("head", "kind"),
    [(b"\x1f\x8b\x08", "gzip"), (b"\x0a\x0d\x0d\x0a", "pcapng"), (b"a;b\n1;2", "text"), (b"\0\0", "binary data")],
)
def test_kind_is_told_by_content(head: bytes, kind: str) -> None:
    assert kind_of(head) == kind


# Memory


def test_read_counters_of_nothing_says_so(tmp_path: Path) -> None:
    put(tmp_path / "notes" / "README.md", "# Notes\n")
    with pytest.raises(BadInput, match="holds no file that an importer reads"):
        read_counters(tmp_path / "notes")


def test_lake_that_is_no_lake_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "full" / "x", "y")
    with pytest.raises(LakeError, match="not a lake, and not empty"):
        ingest(put(tmp_path / "a.csv", TABLE), lake=tmp_path / "full")


PEAK = """
import resource, sys
from profiler.importers import ingest
report = ingest(sys.argv[1], lake=sys.argv[2])
assert report.is_complete, report
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_mib(path: Path, lake: Path) -> int:
    command = [sys.executable, "-c", PEAK, str(path), str(lake)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)


def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    for name, n_rows in (("small", 100_000), ("large", 600_000)):
        rows = "".join(f"{1_796_003_288_000_000_000 + i * 10**6},{7 * i},{9 * i}\n" for i in range(n_rows))
        put(tmp_path / f"{name}.csv", f"t_ns,a.rx_bytes,a.tx_bytes\n{rows}")

    small, large = (peak_mib(tmp_path / f"{name}.csv", tmp_path / name) for name in ("small", "large"))

    assert large < small + 60


def test_process_killed_half_way_leaves_nothing_that_the_next_try_does_not_mend(tmp_path: Path) -> None:
    rows = "".join(f"{1_796_003_288_000_000_000 + i * 10**6},{7 * i}\n" for i in range(600_000))
    path = put(tmp_path / "t.csv", f"t_ns,a.rx_bytes\n{rows}")
    command = [sys.executable, "-c", PEAK, str(path), str(tmp_path / "lake")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    while process.poll() is None and not (tmp_path / "lake" / "writers.lock").exists():
        time.sleep(0.002)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    lake = Lake.open(tmp_path / "lake", create=True)
    assert statuses(ingest(path, lake=lake)) in (["read"], ["already there"])
    assert n_samples(lake) == 600_000
    assert lake.read("recordings")["status"].to_pylist() == ["ok"]


@pytest.mark.parametrize("change", ["grows", "is replaced", "is gone"])
def test_file_that_changes_while_it_is_read_is_read_in_part(lake: Lake, tmp_path: Path, change: str) -> None:
    path = put(tmp_path / "t.csv", TABLE)

    def meddle(_: int) -> None:
        if change == "grows":
            path.write_text(TABLE + "3000,7\n")
            return
        path.unlink(missing_ok=True)
        if change == "is replaced":
            put(path, TABLE)

    (found,) = ingest(path, lake=lake, advance=meddle).inputs

    assert found.status == "partial"
    assert "ingest it again" in found.message
    assert statuses(ingest(put(tmp_path / "t.csv", TABLE + "3000,7\n4000,9\n"), lake=lake)) == ["read"]
    (series,) = lake.read("series").to_pylist()
    assert lake.counter(series["series_id"]).value.tolist() == [1, 3, 7, 9]
