"""``offbeat sql``: any SQL on the command line, read-only."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline.cli import query_bar
from pipeline.cli.main import main
from pipeline.sql import list_functions
from tests.pipeline.lakes import two_job_lake
from tests.pipeline.processor_time import await_work

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_job_lake(tmp_path_factory.mktemp("lakes") / "lake").root


def test_an_answer_in_json(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "select device, sum(bytes) as sent_bytes from rates group by device order by device"
    assert main(["sql", "--lake", str(lake), statement, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    one_job_bytes = 80 * 300_000_000 * 0.1 / 8
    assert document == {
        "kind": "rows",
        "version": 1,
        "columns": ["device", "sent_bytes"],
        "rows": [
            {"device": "p1", "sent_bytes": one_job_bytes},
            {"device": "p2", "sent_bytes": one_job_bytes},
            {"device": "t1", "sent_bytes": 2 * one_job_bytes},
        ],
    }


def test_every_type_of_sql_can_be_printed(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = (
        "select 1::hugeint as h, 1.5::decimal(9, 2) as d, timestamp '2026-01-02 03:04:05' as t, interval 3 hour as i, "
        "[1.5::decimal(9, 1)] as l, {'a': 1::hugeint} as s, 'ab'::blob as b, null as n, 'nan'::double as x"
    )
    assert main(["sql", "--lake", str(lake), statement, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row.pop("i")
    assert row == {
        "h": 1,
        "d": 1.5,
        "t": "2026-01-02T03:04:05",
        "l": [1.5],
        "s": {"a": 1},
        "b": "6162",
        "n": None,
        "x": None,
    }


@pytest.mark.parametrize("comment", ["-- the first\n", "--the first\n", "/* the first */ "])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_statement_may_begin_with_a_comment(
    lake: Path, capsys: pytest.CaptureFixture[str], comment: str, *, is_first: bool
) -> None:
    statement, options = [f"{comment}select 1 as one"], ["--lake", str(lake), "--csv"]
    assert main(["sql", *(statement + options if is_first else options + statement)]) == 0
    assert capsys.readouterr().out == "one\n1\n"


def test_an_option_that_there_is_not_is_no_statement(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--lake", str(lake), "--nosuch", "select 1"]) == 2
    assert "--nosuch" in capsys.readouterr().err


def test_a_statement_from_stdin(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 1 as one"))
    assert main(["sql", "--lake", str(lake), "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["one", "1"]


@pytest.mark.parametrize("text", [".help", "select 1;\n  .tables\nselect 2"])
def test_commands_of_the_prompt_are_told_from_sql_in_a_pipe(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["sql", "--lake", str(lake)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "what begins with a dot is for the prompt of offbeat sql at a terminal; give SQL alone" in printed.err


def test_a_statement_from_a_file(lake: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "question.sql").write_text("-- how many\nselect count(*) as n from series;\n")
    assert main(["sql", "--lake", str(lake), "--file", str(tmp_path / "question.sql"), "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["n", "3"]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["delete from samples"], 2, "read-only"),
        (["select nosuch from series"], 2, "LINE 1: select nosuch from series\n               ^^^^^^"),
        (["select 1", "--file", "x.sql"], 2, "not both"),
        (["select 1", "--export", "x.duckdb"], 2, "takes no statement"),
        (["select 1; select 2", "--csv"], 2, "expected one SQL statement, found 2"),
        (["select 1; select 2", "--out", "x.json"], 2, "expected one SQL statement, found 2"),
        ([""], 2, "expected one SQL statement, found 0"),
        (["select compat(null, null, null"], 2, "syntax error"),
        (["--file", "nowhere.sql"], 1, "nowhere.sql"),
    ],
)
def test_errors_say_what_is_wrong(
    lake: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, complaint: str
) -> None:
    assert main(["sql", "--lake", str(lake), *arguments]) == code
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


def test_an_export_is_read_by_any_duckdb_client(lake: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "lake.duckdb"
    assert main(["sql", "--lake", str(lake), "--export", str(target)]) == 0
    assert str(target) in capsys.readouterr().err
    with duckdb.connect(str(target), read_only=True) as client:
        assert client.sql("select count(*) from samples").fetchall() == [(3 * 20_001,)]
    assert main(["sql", "--lake", str(lake), "--export", str(target)]) == 2
    assert main(["sql", "--lake", str(lake), "--export", str(target), "--force"]) == 0


def test_columns_of_one_name_are_told_apart(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "select 1 as a, 2 as a, 3 as a_1"
    assert main(["sql", "--lake", str(lake), statement, "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["a,a_1,a_1_1", "1,2,3"]
    assert main(["sql", "--lake", str(lake), statement, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"] == ["a", "a_1", "a_1_1"]
    assert document["rows"] == [{"a": 1, "a_1": 2, "a_1_1": 3}]


def test_control_characters_do_not_reach_the_terminal(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "select 'red' || chr(27) || '[31m' || chr(0) || chr(133) || 'é' as \"n\x1b\""
    assert main(["sql", "--lake", str(lake), statement]) == 0
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [r"n\x1b", r"red\x1b[31m\x00\x85é"]


LONG = "select count(*) from range(100000000000) where range % 7 = 3"


@pytest.mark.parametrize("statement", [LONG, "explain analyze " + LONG])
def test_ctrl_c_ends_a_query_and_stdout_stays_empty(lake: Path, statement: str) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", "from pipeline.cli.main import run; run()", "sql", "--lake", str(lake), statement],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        await_work(command.pid, 4)  # of which Python's start takes one
        command.send_signal(signal.SIGINT)
        printed, complaint = command.communicate(timeout=60)
    finally:
        command.kill()
    assert (command.returncode, printed, complaint) == (130, "", "offbeat: interrupted\n")


def test_a_reader_that_goes_early_sees_no_traceback(lake: Path) -> None:
    command = subprocess.Popen(
        [sys.executable, "-c", "from pipeline.cli.main import run; run()", "sql", "--lake", str(lake), "select 1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    command.stdout.close()
    command.stdout = None
    _, complaint = command.communicate(timeout=60)
    assert (command.returncode, complaint) == (1, b"")


def test_several_statements_of_a_file_are_answered_one_after_the_other(
    lake: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "questions.sql").write_text("-- two\nselect 1 as a;\nselect 2 as b;\n")
    assert main(["sql", "--lake", str(lake), "--file", str(tmp_path / "questions.sql")]) == 0
    assert capsys.readouterr().out.split() == ["a", "1", "b", "2"]


def test_functions_are_listed_without_a_lake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--functions", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["function"].partition("(")[0] for row in rows] == [function.name for function in list_functions()]
    assert all(row["example"] for row in rows)


def test_sql_without_a_lake_says_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "select 1"]) == 2
    assert "give --lake" in capsys.readouterr().err


def test_a_bar_is_drawn_on_a_terminal_alone_and_taken_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_bar, "LONG_S", 0.0)
    with query_bar.QueryBar() as bar:
        bar.show(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with query_bar.QueryBar() as bar:
        bar.show(0.5)
        bar.close()
        drawn = capsys.readouterr()
        bar.show(0.9)
    assert "reading the lake" in drawn.err
    assert capsys.readouterr() == ("", "")
    assert drawn.out == ""
