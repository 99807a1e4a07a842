"""The shell of ``offbeat sql``: statements over several lines, commands, completion, and Ctrl-C that ends a query."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input

from pipeline.cli.answer_format import AnswerFormat
from pipeline.cli.shell import COMMANDS, Shell, history_file, run_shell
from pipeline.sql import Database, list_queries, open_lake
from tests.pipeline.lakes import two_job_lake
from tests.pipeline.processor_time import await_work, processor_s

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_job_lake(tmp_path_factory.mktemp("lakes") / "lake", duration_s=1.0).root


@pytest.fixture(scope="module")
def database(lake: Path) -> Iterator[Database]:
    with open_lake(lake) as database:
        yield database


@pytest.fixture
def shell(database: Database) -> Shell:
    return Shell(database, output=AnswerFormat.CSV)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def typed(database: Database, keys: str) -> None:
    with create_pipe_input() as keyboard, create_app_session(input=keyboard):
        keyboard.send_text(keys)
        run_shell(database, output=AnswerFormat.CSV)


def completions(shell: Shell, text: str) -> list[str]:
    found = shell.completer().get_completions(Document(text), CompleteEvent(completion_requested=True))
    return [one.text for one in found]


def test_a_statement_ends_with_its_semicolon_and_not_before(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(database, "select count(*) as n\rfrom series\r;\r.quit\r")
    assert capsys.readouterr().out.split() == ["n", "3"]


@pytest.mark.parametrize("comment", [" -- done", "/* all; of it */", "  "])
def test_a_comment_after_the_semicolon_changes_nothing(
    database: Database, capsys: pytest.CaptureFixture[str], comment: str
) -> None:
    typed(database, f"select 42 as n;{comment}\r.quit\r")
    assert capsys.readouterr().out.split() == ["n", "42"]


@pytest.mark.parametrize(
    "first", ["select 'a;", "select 1 -- n;", "select 1 /* ; -- n;", 'select 1 as "a;', "select $$;"]
)
def test_a_semicolon_in_quotes_or_in_a_comment_ends_no_statement(
    database: Database, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    typed(database, f"{first}\r\x03select 2 as two;\r.quit\r")
    printed = capsys.readouterr()
    assert printed.out.split() == ["two", "2"]
    assert "Error" not in printed.err


def test_the_end_of_input_leaves(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    typed(database, "select 1 as one;\r\x04")
    assert capsys.readouterr().out.split() == ["one", "1"]


def test_ctrl_c_gives_up_what_was_typed(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    typed(database, "select 'wrong\r\x03select 2 as two;\r.quit\r")
    assert capsys.readouterr().out.split() == ["two", "2"]


def test_what_was_typed_is_kept_for_the_next_session_for_its_user_alone(database: Database) -> None:
    typed(database, "select 1;\r.quit\r")
    assert "select 1;" in history_file().read_text()
    assert history_file().stat().st_mode & 0o077 == 0


def test_history_that_cannot_be_kept_is_said_and_no_obstacle(
    database: Database, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    typed(database, "select 1 as one;\r.quit\r")
    printed = capsys.readouterr()
    assert printed.out.split() == ["one", "1"]
    assert "statements are not kept" in printed.err


def test_several_statements_are_answered_in_order(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.answer("select 1 as a; select 2 as b;")
    assert capsys.readouterr().out.split() == ["a", "1", "b", "2"]


def test_a_command_for_each_that_help_lists(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.answer(".help")
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [command.split()[0] for command in COMMANDS]
    for command in listed:
        shell.answer(command)
        assert "no such command" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (".tables", "samples,table,counter readings; one row a read"),
        (".columns samples", "window_ns,integer,ns,time the value covers or was read in; 0 if a point"),
        (".columns rates", "rate_bps,double,,"),
        (".functions", "compat(a struct, b struct, capacity_bps real)"),
        (".queries", "jobs_by_link,"),
        (".query samples_by_series host=sw1", "sw1,p1,"),
        (".show jobs_by_link", "-- purpose: the jobs that meet"),
        (".show rates", "from rates_between(null, null)"),
        (".show fold_s", "create macro fold_s"),
    ],
)
def test_commands_answer(shell: Shell, capsys: pytest.CaptureFixture[str], command: str, expected: str) -> None:
    assert shell.answer(command)
    assert expected in capsys.readouterr().out


def test_the_shell_tells_a_name_that_the_lake_does_not_have(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.answer(".query coverage_by_host host=a11")
    assert "the lake has no host 'a11'" in capsys.readouterr().err


def test_the_format_of_answers_can_be_changed(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.answer(".format json")
    assert shell.answer("select 1 as one;")
    assert '"one": 1' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (".nosuch", "no such command"),
        (".query", ".queries lists them"),
        (".query nosuch", "does not exist"),
        (".query jobs_by_link trunk", "expected NAME=VALUE"),
        (".columns nosuch", "no table or view 'nosuch'"),
        (".show nosuch", "nosuch"),
        (".format parquet", "expected table, json or csv"),
        ("delete from series;", "read-only"),
        ("select nosuch from series;", "LINE 1"),
        ("selec;", "syntax error"),
    ],
)
def test_errors_are_told_and_end_no_session(
    shell: Shell, capsys: pytest.CaptureFixture[str], text: str, complaint: str
) -> None:
    assert shell.answer(text)
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("text", "expected", "not_expected"),
    [
        ("select * from sam", ["samples"], "sum"),
        ("from series join link_j", ["link_jobs"], "link_id"),
        ("select rates.rate", ["rate_bps"], "rates"),
        ("select * from rates where is_u", [], "is_up"),
        ("select * from job_timeline where is_u", ["is_up"], "union"),
        ("select comp", ["compat"], "compat.jobs"),
        ("select * from series or", ["order"], "origin"),
        (".que", [".queries", ".query"], "select"),
        (".query jobs", ["jobs_by_link"], "jobs"),
        (".columns rat", ["rates"], "rate_bps"),
    ],
)
def test_names_that_can_stand_there_are_completed(
    shell: Shell, text: str, expected: list[str], not_expected: str
) -> None:
    found = completions(shell, text)
    assert set(expected) <= set(found)
    assert not_expected not in found


def test_every_query_can_be_completed(shell: Shell) -> None:
    assert completions(shell, ".query ") == [query.name for query in list_queries()]


LONG = "select count(*) from range(100000000000) where range % 7 = 3;"


def test_ctrl_c_ends_a_query_and_asks_again(lake: Path) -> None:
    leader, follower = pty.openpty()
    command = subprocess.Popen(
        [sys.executable, "-c", "from pipeline.cli.main import run; run()", "sql", "--lake", str(lake), "--csv"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(follower)
    try:
        _await(leader, "offbeat>")
        os.write(leader, f"{LONG}\r".encode())
        await_work(command.pid, processor_s(command.pid) + 1)
        os.kill(command.pid, signal.SIGINT)
        _await(leader, "interrupted")
        os.write(leader, b"select 6 * 7 as answer;\r")
        _await(leader, "answer\r\n42")
        os.write(leader, b".quit\r")
        assert command.wait(timeout=60) == 0
    finally:
        command.kill()
        command.wait()
        os.close(leader)


def _await(terminal: int, text: str) -> None:
    seen, end_s = "", time.monotonic() + 60
    while text not in seen.replace("\r\r\n", "\r\n"):
        ready, _, _ = select.select([terminal], [], [], max(0.0, end_s - time.monotonic()))
        assert ready, f"no {text!r} in {seen!r}"
        seen += os.read(terminal, 65536).decode(errors="replace")
