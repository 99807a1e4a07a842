"""``--leave-out-lost``: the rest of a lake is answered from, what is lost is named, and the exit code tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline.cli.main import main
from tests.pipeline.fleets import fleet, sample_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profiler.store import Lake

COUNT = "select host, count(*) as n from samples join series using (series_id) group by host order by host"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return fleet(tmp_path / "lake", n_hosts=2)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def damage_page(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[40:400] = bytes(360)
    path.write_bytes(whole)


@pytest.mark.parametrize("damage", [cut, damage_page, lambda path: path.unlink()], ids=["cut", "page", "gone"])
def test_the_rest_is_answered_from_and_each_lost_file_is_named(
    lake: Lake, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    assert main(["sql", "--lake", str(lake.root), COUNT, "--csv"]) == 0
    whole = capsys.readouterr().out.splitlines()
    path = sample_file(lake, "h1")
    damage(path)

    assert main(["sql", "--lake", str(lake.root), COUNT, "--csv"]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "--leave-out-lost" in refused.err

    assert main(["sql", "--lake", str(lake.root), COUNT, "--csv", "--leave-out-lost"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == whole[:2]
    assert printed.err.count("offbeat: left out ") == 1
    assert str(path) in printed.err


def test_a_query_is_answered_without_it_too(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    sample_file(lake, "h1").unlink()
    query = ["query", "coverage_by_host", "--lake", str(lake.root), "--csv"]
    assert main(query) == 1
    assert "--leave-out-lost" in capsys.readouterr().err
    assert main([*query, "--leave-out-lost"]) == 1
    hosts = [line.partition(",")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert "h0" in hosts


@pytest.mark.parametrize("i_lost", range(4))
def test_a_lost_file_of_many_is_named_whichever_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], i_lost: int
) -> None:
    lake = fleet(tmp_path / "four", n_hosts=4)
    path = sample_file(lake, f"h{i_lost}")
    path.unlink()
    assert main(["sql", "--lake", str(lake.root), COUNT]) == 1
    told = capsys.readouterr().err
    assert path.name in told
    assert "--leave-out-lost" in told


def test_where_nothing_is_lost_the_answer_is_whole(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--lake", str(lake.root), COUNT, "--csv", "--leave-out-lost"]) == 0
    assert capsys.readouterr().err == ""


def test_an_export_leaves_it_out(lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample_file(lake, "h1").unlink()
    export = ["sql", "--lake", str(lake.root), "--export", str(tmp_path / "views.duckdb")]
    assert main(export) == 1
    assert main([*export, "--leave-out-lost"]) == 1
    assert "left out" in capsys.readouterr().err
    with duckdb.connect(str(tmp_path / "views.duckdb"), read_only=True) as client:
        assert [host for host, _ in client.sql(COUNT).fetchall()] == ["h0"]
