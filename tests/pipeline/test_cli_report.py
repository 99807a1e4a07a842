"""``offbeat report``, with an analysis made by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from tests.pipeline.analyses import colliding_pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a lake whose analysis is that of two colliding jobs."""
    monkeypatch.setattr("pipeline.flow.analyze", lambda *_args, **_options: colliding_pair())
    return tmp_path / "lake"


def test_report_writes_the_page_and_prints_its_path(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.html"

    assert main(["report", "--lake", str(lake), "-o", str(target)]) == 0

    assert capsys.readouterr().out == f"{target}\n"
    page = target.read_text(encoding="utf-8")
    assert "A and B collide on t1" in page
    assert f"from the lake {lake}" in page


def test_report_prints_its_path_as_json_too(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"

    assert main(["report", "--lake", str(lake), "-o", str(target), "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"kind": "report", "version": 1, "path": str(target)}


def test_report_keeps_a_file_that_is_there_unless_forced(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.html"
    target.write_text("mine")

    assert main(["report", "--lake", str(lake), "-o", str(target)]) == 2
    assert "exists; give --force" in capsys.readouterr().err
    assert target.read_text() == "mine"

    assert main(["report", "--lake", str(lake), "-o", str(target), "--force"]) == 0
    assert target.read_text() != "mine"


def test_report_names_a_lake_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"

    assert main(["report", "--lake", str(tmp_path / "none"), "-o", str(target)]) == 1

    assert "none: no such lake" in capsys.readouterr().err
    assert not target.exists()
