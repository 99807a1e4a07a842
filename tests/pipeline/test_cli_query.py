"""``offbeat query``: named questions on the command line."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from pipeline.cli.main import main
from pipeline.sql import find_query, list_queries, open_lake
from tests.pipeline.lakes import add_advice, two_job_lake

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lakes") / "lake"
    add_advice(root, two_job_lake(root))
    return root


def test_the_list_names_every_query_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["query"] for row in rows] == [query.name for query in list_queries()]
    (row,) = (row for row in rows if row["query"] == "links_by_load")
    assert row["params"] == "n_links=50, since=null, until=null, bin_s=1.0"


def test_json_has_kind_version_and_columns(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "jobs_by_link", "--lake", str(lake), "--param", "link_id=trunk", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["version"], document["name"]) == ("query", 1, "jobs_by_link")
    assert [row["job_id"] for row in document["rows"]] == ["A", "B", "A", "B"]
    assert list(document["rows"][0]) == document["columns"]


def test_csv_is_the_same_rows(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "shifts_by_job", "--lake", str(lake), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["job_id"], row["shift_s"], row["hold_s"]) for row in rows] == [("A", "0.0", ""), ("B", "0.125", "")]


def test_no_rows_still_have_columns(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "shifts_by_job", "--lake", str(lake), "--param", "job_id=nobody", "--csv"]) == 0
    assert capsys.readouterr().out == "job_id,period_s,shift_s,pace_period_s,stretch_frac,hold_s\n"


@pytest.mark.parametrize(
    ("query", "param", "told"),
    [
        ("jobs_by_link", "link_id=trunkk", "the lake has no link 'trunkk'; did you mean trunk?"),
        ("links_by_job", "job_id=nosuch", "the lake has no job 'nosuch'\n"),
        ("profiles_by_series", "status=peridic", "no profile of status 'peridic'; those of the lake: periodic\n"),
        ("compat_by_link", "verdict=no_such", "no link of verdict 'no_such'; those of the lake: paced\n"),
        ("coverage_by_host", "host=a11", "the lake has no host 'a11'"),
    ],
)
@pytest.mark.parametrize("flag", ["--format=table", "--json"])
def test_a_name_that_the_lake_does_not_have_is_told(
    lake: Path, capsys: pytest.CaptureFixture[str], query: str, param: str, told: str, flag: str
) -> None:
    assert main(["query", query, "--lake", str(lake), "--param", param, flag]) == 0
    assert told in capsys.readouterr().err


def test_no_rows_of_a_name_that_is_known_are_nothing_to_tell(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = ["--param", "link_id=trunk", "--param", "min_jobs=9"]
    assert main(["query", "jobs_by_link", "--lake", str(lake), *params]) == 0
    assert capsys.readouterr().err == ""


def test_an_empty_answer_is_told_on_a_terminal_too_narrow_for_its_heads(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["query", "jobs_by_link", "--lake", str(lake), "--param", "min_jobs=9"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "no rows of link_id, direction, tier" in printed.err


def test_a_table_is_the_default(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "shifts_by_job", "--lake", str(lake)]) == 0
    assert "0.125" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["jobs_on_link"], "did you mean jobs_by_link"),
        (["jobs_by_link", "--param", "link=trunk"], "it has: link_id, min_jobs"),
        (["jobs_by_link", "--param", "min_jobs=two"], "expected type count, a whole number from 0 on"),
        (["jobs_by_link", "--param", "min_jobs=-1"], "expected type count, a whole number from 0 on"),
        (["jobs_by_link", "--param", "min_jobs"], "expected NAME=VALUE"),
        (["jobs_by_link", "--param", "link_id=a", "--param", "link_id=b"], "link_id was given 'a' before"),
        (["history_by_job", "--param", "changed=7"], "expected type flag, 0 or 1"),
        (["utilisation_by_link", "--param", "bin_s=1e-9"], "seconds from 1e-6 to 86400, or 0"),
        (["utilisation_by_link", "--param", "bin_s=-1"], "seconds from 1e-6 to 86400, or 0"),
        (["links_by_load", "--param", "bin_s=1e12"], "seconds from 1e-6 to 86400, or 0"),
        (["unplaced_by_link", "--param", "min_bps=nan"], "expected type real, a finite number"),
        (
            ["samples_by_series", "--param", "since=2026-11-30T10:00", "--param", "until=2026-11-30T11:00+02:00"],
            "since=2026-11-30T10:00:00 is after until=2026-11-30T09:00:00, both in UTC",
        ),
        ([], "--list"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_right(
    lake: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(["query", *arguments, "--lake", str(lake)]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


def test_a_missing_lake_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "jobs_by_link", "--lake", str(tmp_path / "nowhere")]) == 1
    assert "no such lake" in capsys.readouterr().err


def test_the_sql_of_a_query_can_be_read_without_a_lake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "jobs_by_link", "--show"]) == 0
    assert capsys.readouterr().out == find_query("jobs_by_link").text


@pytest.mark.parametrize("name", ["rates", "fold_s"])
def test_the_sql_of_a_view_or_function_can_be_read_too(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["query", name, "--show"]) == 0
    assert capsys.readouterr().out.startswith("-- purpose: ")


def test_a_query_without_a_lake_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "jobs_by_link"]) == 2
    assert "give --lake" in capsys.readouterr().err


def test_an_answer_goes_to_a_file_with_its_columns(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "jobs.parquet"
    assert main(["query", "jobs_by_link", "--lake", str(lake), "--out", str(target)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"wrote {target}: 12 rows" in printed.err
    with open_lake(lake) as database:
        assert pq.read_table(target).equals(database.run("jobs_by_link"))
