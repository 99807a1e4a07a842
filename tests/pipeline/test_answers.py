"""Answers of SQL, printed and written: the same rows in every format, and never more than a few batches in memory."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import answers
from pipeline.cli.main import main
from pipeline.sql import Answer, open_lake
from profiler.errors import LakeError, UsageError
from tests.pipeline.lakes import two_job_lake

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_job_lake(tmp_path_factory.mktemp("lakes") / "lake", duration_s=2.0).root


NUMBERS = (
    "select range as n, range * 0.5 as half, case when range % 3 = 0 then null else 'x' || range end as name from range"
)


@pytest.mark.parametrize("n", [0, 1, 25_000])
def test_every_format_gives_the_same_rows(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], n: int
) -> None:
    statement = f"{NUMBERS}({n}) order by n"
    for suffix in ("parquet", "csv", "json"):
        assert main(["sql", "--lake", str(lake), statement, "--out", str(tmp_path / f"a.{suffix}")]) == 0
    assert f"{n} row" in capsys.readouterr().err
    expected = [{"n": i, "half": i / 2, "name": None if i % 3 == 0 else f"x{i}"} for i in range(n)]
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == expected
    assert json.loads((tmp_path / "a.json").read_text())["rows"] == expected
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["n"]), float(row["half"]), row["name"] or None) for row in rows] == [
        tuple(row.values()) for row in expected
    ]


def test_json_is_that_of_the_standard_library(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for statement in ("select 1 as a, [1, 2] as b union all select 2, [] order by a", "select 1 as a where false"):
        assert main(["sql", "--lake", str(lake), statement, "--json"]) == 0
        printed = capsys.readouterr().out
        assert printed == json.dumps(json.loads(printed), indent=2) + "\n"


def test_parquet_goes_to_a_pipe(lake: Path) -> None:
    command = [sys.executable, "-c", "from pipeline.cli.main import run; run()", "sql", "--lake", str(lake)]
    done = subprocess.run([*command, "from range(3)", "--format", "parquet"], capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).to_pylist() == [{"range": 0}, {"range": 1}, {"range": 2}]


def test_parquet_is_not_drawn_on_a_terminal(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["sql", "--lake", str(lake), "select 1", "--format", "parquet"]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["select 1 as a", "--out", "answer.txt"], "name a .parquet, .csv or .json file"),
        (["select 1 as a", "--out", "nowhere/answer.csv"], "there is no folder"),
        (["select interval 3 day as i", "--out", "answer.parquet"], "cast that column"),
        (["select 1 as a", "--out", "there.csv"], "exists"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(
    lake: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("precious")
    assert main(["sql", "--lake", str(lake), *arguments]) == 2
    assert complaint in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "precious"


def test_an_error_amid_the_rows_leaves_no_file(lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "select case when range < 100000 then 1 else error('enough') end as a from range(200000)"
    assert main(["sql", "--lake", str(lake), statement, "--out", str(tmp_path / "a.csv")]) == 2
    assert "enough" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_long_table_is_printed_in_parts_each_under_its_heads(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "TABLE_ROWS", 10)
    assert main(["sql", "--lake", str(lake), "select range as n from range(25)"]) == 0
    words = capsys.readouterr().out.split()
    assert words.count("n") == 3
    assert [int(word) for word in words if word != "n"] == list(range(25))


def test_nested_values_of_a_csv_are_json(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--lake", str(lake), "select {'a': [1, 2]} as s", "--csv"]) == 0
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [["s"], ['{"a": [1, 2]}']]


def test_rows_are_drawn_as_they_are_asked_for(lake: Path) -> None:
    with open_lake(lake, memory_limit="200MB", threads=1) as database:
        answer = database.stream("select range as a, repeat('x', 1000) as b from range(100000000)")
        before = pa.total_allocated_bytes()
        for _ in range(20):
            assert next(answer).num_rows <= 20_480
        assert pa.total_allocated_bytes() - before < 100_000_000
        assert database.sql("select 1 as one").to_pylist() == [{"one": 1}]


def test_an_answer_is_given_up_for_the_next_one_and_says_so(lake: Path) -> None:
    with open_lake(lake) as database:
        first = database.stream("from range(1000000)")
        assert next(first)["range"][0].as_py() == 0
        assert database.sql("select 7 as n").to_pylist() == [{"n": 7}]
        with pytest.raises(UsageError, match="given up"):
            next(first)


def test_progress_goes_from_nought_to_one(lake: Path) -> None:
    told: list[float] = []
    with open_lake(lake, threads=1) as database:
        database.stream("select count(*) from range(100000000) where range % 7 = 3", on_progress=told.append).read()
    assert told == sorted(told)
    assert told
    assert all(0 <= part <= 1 for part in told)


def test_a_table_is_an_answer_too() -> None:
    table = pa.table({"a": [1, 2]})
    assert Answer.of_table(table).read().equals(table)


def test_what_memory_does_not_hold_is_spilled_or_named(lake: Path) -> None:
    with open_lake(lake, memory_limit="40MB", threads=1) as database:
        rows = database.sql("select count(distinct range) as n from range(2000000)").to_pylist()
        assert rows == [{"n": 2_000_000}]
        with pytest.raises(LakeError, match="--memory"):
            database.sql("select list(range) as a from range(100000000)")


def test_memory_that_is_none_is_refused(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--lake", str(lake), "select 1", "--memory", "lots"]) == 2
    assert "memory 'lots'" in capsys.readouterr().err
