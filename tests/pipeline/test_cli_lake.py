"""``offbeat lake``: what is printed, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from profiler.store import Lake

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "t_ns,eth0.rx_bytes\n{first},1\n{last},3\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for i in range(3):
        text = TABLE.format(first=1_700_000_000_000_000_000 + 2 * i, last=1_700_000_000_000_000_001 + 2 * i)
        (tmp_path / f"h{i}.csv").write_text(text)
    assert main(["ingest", *(str(tmp_path / f"h{i}.csv") for i in range(3)), "--lake", str(tmp_path / "lake")]) == 0
    return tmp_path / "lake"


def test_it_shows_what_is_there(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    assert main(["lake", str(lake)]) == 0
    shown = capsys.readouterr().out
    assert "samples" in shown
    assert "2023-11-14 22:13:20" in shown
    assert "recordings: 3 ok" in shown
    assert main(["lake", str(lake), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["tables"][0] == {
        "table": "samples",
        "n_files": 3,
        "n_rows": 6,
        "n_bytes": document["tables"][0]["n_bytes"],
        "t_first_ns": 1_700_000_000_000_000_000,
        "t_last_ns": 1_700_000_000_000_000_005,
    }


def test_it_compacts_and_checks(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lake", str(lake), "--compact"]) == 0
    assert main(["lake", str(lake), "--check"]) == 0
    assert "whole: " in capsys.readouterr().out
    assert len(Lake.open(lake).files("samples")) == 1


def test_a_lake_that_is_not_whole_ends_with_3(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Lake.open(lake).files("samples")[0].unlink()

    assert main(["lake", str(lake), "--check"]) == 3
    assert "not whole" in capsys.readouterr().out


def test_two_things_at_once_are_refused(lake: Path) -> None:
    assert main(["lake", str(lake), "--check", "--compact"]) == 2
