"""Files that commands write: whole, and never over another unless asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.outfile import check_target, write_text
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_never_overwritten_unless_asked(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write_text("old", target)

    with pytest.raises(UsageError, match=r"report\.html: exists; give --force"):
        write_text("new", target)
    assert target.read_text() == "old"

    write_text("new", target, existing="replace")
    assert target.read_text() == "new"


def test_nothing_but_the_file_is_left_behind(tmp_path: Path) -> None:
    write_text("text", tmp_path / "file")

    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_text_that_cannot_be_written_leaves_the_old_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_text("old", target)

    with pytest.raises(UnicodeEncodeError):
        write_text("half of it \ud800", target, existing="replace")

    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_file_is_as_readable_as_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    write_text("x", tmp_path / "ours")

    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        check_target(tmp_path / "none" / "report.html", existing="keep")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        check_target(tmp_path, existing="replace")
