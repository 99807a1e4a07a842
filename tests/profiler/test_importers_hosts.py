"""Tables that name no host: those of several hosts never become one series in silence."""

from __future__ import annotations

import io
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from profiler.errors import BadInput
from profiler.importers import IngestReport, ingest, read_counters
from profiler.store import Lake

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "t_ns,eth0.rx_bytes\n"
ONE = HEADER + "1000,1\n2000,3\n3000,5\n4000,9\n"
SAME_TIMES = HEADER + "1000,100\n2000,300\n3000,500\n4000,900\n"
OTHER_TIMES = HEADER + "1500,100\n2500,300\n3500,500\n4500,900\n"
LATER = HEADER + "5000,11\n6000,13\n"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


def dump(folder: Path, content: str, name: str = "counters.csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)
    return folder / name


def statuses(report: IngestReport) -> list[str]:
    return [found.status for found in report.inputs]


def hosts(lake: Lake) -> dict[str, list[int]]:
    return {row["host"]: lake.counter(row["series_id"]).value.tolist() for row in lake.read("series").to_pylist()}


def test_files_of_one_name_are_told_apart_by_their_folders(lake: Lake, tmp_path: Path) -> None:
    paths = [dump(tmp_path / "all" / "h1", ONE), dump(tmp_path / "all" / "h2", SAME_TIMES)]
    expected = {"h1-counters": [1, 3, 5, 9], "h2-counters": [100, 300, 500, 900]}

    assert ingest(*paths, lake=lake).is_complete
    assert hosts(lake) == expected
    folder = Lake.open(tmp_path / "folder", create=True)
    assert ingest(tmp_path / "all", lake=folder).is_complete
    assert hosts(folder) == expected
    counters, problems = read_counters(tmp_path / "all")
    assert {series.host: value.tolist() for series, _, value, _ in counters} == expected
    assert problems == []


def test_file_whose_name_is_its_own_keeps_it(lake: Lake, tmp_path: Path) -> None:
    dump(tmp_path / "all" / "deep", ONE, "leaf.csv")
    dump(tmp_path / "all", LATER, "leaf2.csv")
    ingest(tmp_path / "all", lake=lake)

    assert sorted(hosts(lake)) == ["leaf", "leaf2"]


@pytest.mark.parametrize("other", [SAME_TIMES, OTHER_TIMES])
def test_table_that_contradicts_another_of_its_name_is_refused(lake: Lake, tmp_path: Path, other: str) -> None:
    ingest(dump(tmp_path / "h1", ONE), lake=lake)
    second = dump(tmp_path / "h2", other)
    report = ingest(second, lake=lake)

    assert statuses(report) == ["failed"]
    message = report.inputs[0].message
    assert str(second) in message
    assert "eth0 receive" in message
    assert f"contradicts {tmp_path / 'h1' / 'counters.csv'}" in message
    assert "--host" in message
    assert hosts(lake) == {"counters": [1, 3, 5, 9]}
    assert statuses(ingest(second, lake=lake, host="h2")) == ["read"]
    assert sorted(hosts(lake)) == ["counters", "h2"]


@pytest.mark.parametrize("more", [ONE + LATER.removeprefix(HEADER), LATER])
def test_table_that_grew_or_goes_on_is_the_same_host(lake: Lake, tmp_path: Path, more: str) -> None:
    ingest(dump(tmp_path / "monday", ONE), lake=lake)

    assert statuses(ingest(dump(tmp_path / "tuesday", more), lake=lake)) == ["read"]
    assert hosts(lake) == {"counters": [1, 3, 5, 9, 11, 13]}


def test_table_whose_last_cell_was_cut_does_not_keep_the_whole_one_out(lake: Lake, tmp_path: Path) -> None:
    ingest(dump(tmp_path / "copied too early", ONE + "5000,1"), lake=lake)

    assert statuses(ingest(dump(tmp_path / "copied again", ONE + LATER.removeprefix(HEADER)), lake=lake)) == ["read"]
    assert hosts(lake) == {"counters": [1, 3, 5, 9, 11, 13]}


def test_second_host_on_standard_input_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for content in (ONE, SAME_TIMES):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        found += statuses(ingest("-", lake=lake))

    assert found == ["read", "failed"]
    assert hosts(lake) == {"stdin": [1, 3, 5, 9]}


def test_contradicting_member_of_an_archive_is_a_problem_and_the_others_are_read(lake: Lake, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for host, content in (("h1", ONE), ("h2", SAME_TIMES)):
            archive.add(dump(tmp_path / host, content), f"{host}/counters.csv")
    counters, problems = read_counters(tmp_path / "all.tar")

    assert [value.tolist() for _, _, value, _ in counters] == [[1, 3, 5, 9]]
    assert len(problems) == 1
    assert "h2/counters.csv: eth0 receive" in problems[0]
    assert statuses(ingest(tmp_path / "all.tar", lake=lake)) == ["read", "failed"]


def test_one_bad_file_does_not_keep_the_others_from_being_profiled(tmp_path: Path) -> None:
    good, bad = dump(tmp_path / "all", ONE, "good.csv"), dump(tmp_path / "all", HEADER + "x,1\n", "bad.csv")
    counters, problems = read_counters(good.parent)

    assert [series.host for series, _, _, _ in counters] == ["good"]
    assert len(problems) == 1
    assert "bad.csv: line 2" in problems[0]
    with pytest.raises(BadInput, match=r"bad\.csv: line 2"):
        read_counters(bad)
