"""``offbeat lake``: what is printed, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.sql import open_lake
from profiler.store import Lake, check_lake

ROOT = Path(__file__).parents[2]
SYS_ROOT = ROOT / "tests" / "fixtures" / "sys"
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
    assert main(["lake", str(lake)]) == 0
    shown = capsys.readouterr().out
    assert "recordings: 3 ok" in shown
    assert "not counting: 3 files, " in shown
    assert len(Lake.open(lake).files("samples")) == 1


def test_a_lake_that_is_not_whole_ends_with_3(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Lake.open(lake).files("samples")[0].unlink()

    assert main(["lake", str(lake), "--check"]) == 3
    assert "not whole" in capsys.readouterr().out


def test_a_damaged_file_is_named_by_a_compaction_which_ends_with_3(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Lake.open(lake).files("samples")[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    capsys.readouterr()

    assert main(["lake", str(lake), "--compact", "--csv"]) == 3
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].startswith("2,1,4,")
    assert f"left as it is: {path}: changed since it was sealed" in printed.err
    assert main(["lake", str(lake), "--check", "--csv"]) == 3
    assert f"{path}: changed since it was sealed" in capsys.readouterr().out


def test_readings_that_contradict_end_a_check_with_3(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.csv").write_text("t_ns,eth0.rx_bytes\n1700000000000000000,7\n1700000000000000001,9\n")
    assert main(["ingest", str(tmp_path / "other.csv"), "--host", "h0", "--lake", str(lake)]) == 0
    capsys.readouterr()

    assert main(["lake", str(lake), "--check", "--csv"]) == 3
    assert "2 readings of one series and time differ" in capsys.readouterr().out


def test_two_things_at_once_are_refused(lake: Path) -> None:
    assert main(["lake", str(lake), "--check", "--compact"]) == 2


def test_one_process_records_another_ingests_a_third_compacts_and_others_read(tmp_path: Path, lake: Path) -> None:
    command = [sys.executable, "-c", "from pipeline.cli.main import run; run()", "record", "--lake", str(lake)]
    options = ["--sys-root", str(SYS_ROOT), "--iface", "eth0", "--interval", "1ms", "--for", "1s"]
    n_seen = n_ingested = 0
    with subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL) as recorder:
        while recorder.poll() is None:
            first = 1_700_000_100_000_000_000 + 2 * n_ingested
            (tmp_path / f"more{n_ingested}.csv").write_text(TABLE.format(first=first, last=first + 1))
            assert main(["ingest", str(tmp_path / f"more{n_ingested}.csv"), "--lake", str(lake)]) == 0
            n_ingested += 1
            assert main(["lake", str(lake), "--compact"]) == 0
            with open_lake(lake) as database:
                (row,) = database.sql(
                    "select count(*) as n, count(distinct (series_id, t_ns)) as n_different from samples"
                ).to_pylist()
            assert row["n"] == row["n_different"] >= n_seen
            n_seen = row["n"]
    assert recorder.returncode == 0
    assert n_seen >= 6 + 2 * n_ingested
    found = Lake.open(lake)
    assert check_lake(found).problems == ()
    recorded = [row for row in found.read("recordings").to_pylist() if row["format"] == "nic"]
    assert [row["status"] for row in recorded] == ["ok"]
    n_samples = sum(row["n_rows"] for row in found.sizes() if row["table"] == "samples")
    assert n_samples == 6 + 2 * n_ingested + recorded[0]["n_rows"]
