"""What a path stands for: everything in a folder or an archive is read or named with the reason."""

from __future__ import annotations

import os
import socket
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from profiler.errors import BadInput
from profiler.importers import ingest, read_counters
from profiler.importers.inputs import Unread
from profiler.importers.paths import inputs_of, total_bytes
from tests.profiler.dumps import TABLE, put, tar_of

if TYPE_CHECKING:
    from pathlib import Path


def why(root: Path) -> dict[str, str]:
    """Return what is not read of a path, and why, by its name below the path."""
    return {
        source.name.removeprefix(f"{root}").lstrip("/!"): source.why
        for source in inputs_of(root)
        if isinstance(source, Unread)
    }


def test_everything_in_a_folder_is_read_or_named(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(folder / "sub" / "t.csv", TABLE)
    put(folder / ".git" / "t.csv", TABLE)
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "loop").symlink_to(".")
    (folder / "same.csv").symlink_to(folder / "sub" / "t.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    report = ingest(folder, lake=tmp_path / "lake")

    assert why(folder) == {
        ".git": "hidden; name it to have it read",
        "dangling": "a link to nothing; check the path",
        "loop": "a link to a folder; name it to have it read",
        "pipe": "neither a file nor a folder; a pipe is read if it is named",
        "socket": "neither a file nor a folder; a pipe is read if it is named",
    }
    assert {found.source.rpartition("/")[2]: found.status for found in report.inputs} == {
        ".git": "skipped",
        "dangling": "failed",
        "loop": "skipped",
        "pipe": "skipped",
        "same.csv": "read",
        "socket": "skipped",
        "t.csv": "already there",
    }


def test_a_folder_that_may_not_be_looked_into_keeps_nothing_else_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in" / "a.csv", TABLE)
    put(tmp_path / "in" / "locked" / "b.csv", TABLE)
    listed = type(tmp_path).iterdir

    def refused(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(type(tmp_path), "iterdir", refused)
    report = ingest(tmp_path / "in", lake=tmp_path / "lake")

    assert [found.status for found in report.inputs] == ["read", "failed"]
    assert "in/locked: Permission denied; its files were not read" in report.inputs[1].message
    counters, problems = read_counters(tmp_path / "in")
    assert len(counters) == 1
    assert problems == [report.inputs[1].message]


def test_members_of_an_archive_that_are_no_plain_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "all.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(put(tmp_path / "t.csv", TABLE), "x/t.csv")
        archive.add(tmp_path / "t.csv", "x/._t.csv")
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.FIFOTYPE, "pipe"), (tarfile.DIRTYPE, "folder")):
            member = tarfile.TarInfo(f"x/{name}")
            member.type, member.linkname = kind, "t.csv"
            archive.addfile(member)
    named = why(path)

    assert list(named) == ["x/._t.csv", "x/link", "x/pipe"]
    assert named["x/._t.csv"].startswith("hidden")
    assert named["x/link"].startswith("no plain file")


def test_a_member_of_holes_writes_no_disk_full(tmp_path: Path) -> None:
    member = tarfile.TarInfo("holes.csv")
    member.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (1 << 32, 0)
    header[483:495] = b"%011o\0" % (1 << 32)
    header[148:156] = b"%06o\0 " % (sum(header) - sum(header[148:156]) + 8 * 32)
    path = put(tmp_path / "holes.tar", bytes(header) + bytes(1024))

    assert why(path)["holes.csv"].startswith("no plain file but a link, device or file with holes")


def test_a_path_that_is_none_keeps_no_other_out(tmp_path: Path) -> None:
    report = ingest(tmp_path / "none", put(tmp_path / "t.csv", TABLE), lake=tmp_path / "lake")

    assert [found.status for found in report.inputs] == ["failed", "read"]
    assert report.inputs[0].message == f"{tmp_path / 'none'}: no such file or folder; check the path"
    assert total_bytes([tmp_path / "none"]) == 0


def test_standard_input_that_is_closed_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(BadInput, match="standard input is closed"):
        list(inputs_of("-"))


def test_an_archive_of_nothing_but_hidden_files_fails(tmp_path: Path) -> None:
    report = ingest(tar_of(tmp_path / "all.tar.xz", [(".a.csv", TABLE.encode())]), lake=tmp_path / "lake")

    assert [found.status for found in report.inputs] == ["skipped", "failed"]
