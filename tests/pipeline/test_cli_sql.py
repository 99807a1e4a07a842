"""``offbeat sql``: any SQL on the command line, read-only."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline.cli.main import main
from tests.pipeline.lakes import two_job_lake

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


def test_a_statement_from_stdin(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 1 as one"))
    assert main(["sql", "--lake", str(lake), "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["one", "1"]


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
