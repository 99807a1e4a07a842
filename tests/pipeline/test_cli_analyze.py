"""``offbeat analyze`` on the command line."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.analysis import Skipped
from pipeline.cli.analysis_table import readable_omissions
from pipeline.cli.main import main
from pipeline.cli.plan_options import Goal, read_options
from pipeline.cli.printer import Format, print_lines
from pipeline.cli.run_rows import print_runs
from pipeline.runs import Clock, Request, Run
from profiler.pacer import Pacer
from profiler.store import Lake
from tests.pipeline.analyses import analysis as made
from tests.pipeline.lakes import CLUSTER, make_lake, port, two_job_lake

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    two_job_lake(folder / "lake", duration_s=8.0)
    (folder / "cluster.toml").write_text(CLUSTER)
    return folder


def analyze(place: Path, *arguments: str) -> int:
    return main(["analyze", "--lake", str(place / "lake"), "--cluster", str(place / "cluster.toml"), *arguments])


def test_the_answer_is_a_table_and_advice_in_words(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place) == 0
    printed = capsys.readouterr()
    assert "trunk" in printed.out
    assert "A and B collide" in printed.out
    assert printed.err == ""


def test_json_is_one_document(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["version"], len(document["links"])) == ("analysis", 1, 2)


def test_the_terminal_shows_the_shift_of_each_job(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    header = rows.index(["job", "shift", "slot", "slower", "by", "lasts"])
    assert {row[0] for row in rows[header + 1 : header + 3]} == {"A", "B"}


def test_what_was_skipped_is_listed_up_to_a_number() -> None:
    skipped = tuple(Skipped(what=f"h{i}", why="noise") for i in range(23))
    lines = readable_omissions(made(skipped=skipped, warnings=("it is long",)))
    assert lines[0] == "Skipped h0: noise"
    assert lines[-2:] == ["and 3 more", "The plan: it is long"]
    assert len(lines) == 22


def test_a_name_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(["job \x1b[2J\x00 is here"])
    assert capsys.readouterr().out == "job \\x1b[2J\\x00 is here\n"


def test_csv_is_one_row_a_link(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["link"], row["direction"], row["jobs"]) for row in rows] == [
        ("trunk", "backward", "A, B"),
        ("trunk", "forward", "A, B"),
    ]


def test_the_pacer_reads_the_plan(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    assert analyze(place, "--plan", str(plan), "--json") == 0
    shifts = {shift["job"]: shift for shift in json.loads(capsys.readouterr().out)["shifts"]}
    for job in ("A", "B"):
        pacer = Pacer.from_plan(plan, job=job)
        assert pacer.is_on == (shifts[job]["pace_period_s"] is not None)


def test_a_plan_is_not_overwritten_unless_told(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("precious")
    assert analyze(place, "--plan", str(plan)) == 2
    assert "--force" in capsys.readouterr().err
    assert plan.read_text() == "precious"
    assert analyze(place, "--plan", str(plan), "--force") == 0
    assert json.loads(plan.read_text())["version"] == 1


def test_a_lake_in_which_nothing_beats_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    t_ns = np.arange(5_000) * 1_000_000
    make_lake(tmp_path / "lake", {port("h1", "eth0", "transmit"): (t_ns, np.zeros_like(t_ns))})
    assert main(["analyze", "--lake", str(tmp_path / "lake"), "--csv"]) == 3
    assert capsys.readouterr().out.startswith("link,direction,capacity_bps")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--lake", "nowhere"], 1, "nowhere: no such lake"),
        (["--cluster", "nowhere.toml"], 1, "nowhere.toml"),
        (["--plan", "nowhere/plan.json"], 2, "there is no folder nowhere"),
    ],
)
def test_errors_say_what_is_wrong(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, complaint: str
) -> None:
    assert analyze(place, *arguments) == code
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


def test_pinned_jobs_keep_their_shifts_and_the_plan_says_what_it_is_good_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyze(place, "--objective", "worst", "--pin", "A=20ms", "--json") == 0
    free = json.loads(capsys.readouterr().out)["plan"]
    shifts_s = {shift["job"]: shift["shift_s"] for shift in free["shifts"]}
    assert shifts_s["A"] == pytest.approx(0.02)
    assert free["objective"] == "worst"
    assert free["score"] + free["gap"] >= free["score"] > free["score_random"]

    assert (
        analyze(place, "--pin", "A=0s", "--pin", f"B={shifts_s['B'] - shifts_s['A']}s", "--weight", "B=3", "--json")
        == 0
    )
    pinned = json.loads(capsys.readouterr().out)["plan"]
    assert pinned["objective"] == "mean"
    assert pinned["score"] == pytest.approx(free["score"], abs=1e-6)
    assert pinned["shifts"][0]["shift_s"] == 0


def test_pins_that_collide_are_no_plan_to_follow(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--pin", "A=0s", "--pin", "B=20ms", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert [shift["pace_period_s"] for shift in document["shifts"]] == [None, None]
    assert "simulated iterations would go from" in document["plan"]["warnings"][0]
    assert "while jobs A, B stay pinned" in document["links"][0]["reason"]
    assert document["plan"]["elapsed_s"] > 0


@pytest.mark.parametrize("none", ["0", "0s", "0ms", "0us", "0µs", "0ns", "0.0 s", "0min"])
def test_no_shift_is_a_pin_in_any_unit(none: str) -> None:
    options = read_options(Goal.MEAN, weight=(), pin=[f"A={none}"], budget=None)
    assert options.pinned == {"A": 0.0}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pin", "A"], "--pin 'A': write the job's name, = and its value, such as A=130ms"),
        (["--weight", "A"], "such as A=2"),
        (["--pin", "A=soon"], "soon"),
        (["--weight", "A=large"], "'large' is not a number"),
        (["--weight", "A=0"], "job A has weight 0"),
        (["--pin", "A=0s", "--pin", "A=1s"], "job A has a value already"),
        (["--budget", "0s"], "must be positive"),
    ],
)
def test_options_of_the_plan_that_make_no_sense_are_wrong_usage(
    place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert analyze(place, *arguments) == 2
    assert told in capsys.readouterr().err


# shards of a job array


def test_shards_and_a_merge_give_what_one_run_gives(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = ["--work", str(tmp_path / "work")]
    for shard in ("1/2", "2/2"):
        assert analyze(place, *work, "--shard", shard, "--json") == 0
        run = json.loads(capsys.readouterr().out)
        assert (run["kind"], run["version"], run["shard"], run["failed"]) == ("shard_run", 1, shard, 0)
    assert analyze(place, *work, "--merge", "--json") == 0
    merged = json.loads(capsys.readouterr().out)
    assert analyze(place, "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    for document in (merged, whole):
        document["plan"].pop("elapsed_s")
    assert merged == whole


def test_a_merge_of_nothing_is_refused_and_touches_nothing(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = ["--work", str(tmp_path / "work")]
    assert analyze(place, *work, "--shard", "1/1", "--window", "10m") == 0
    assert analyze(place, *work, "--merge", "--window", "10m") == 0
    tables = ("profiles", "compat", "shifts", "links", "runs")
    before = [Lake.open(place / "lake").files(table) for table in tables]
    capsys.readouterr()

    assert analyze(place, *work, "--merge") == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "give the --window, --cluster and --work of the --shard runs" in printed.err
    assert [Lake.open(place / "lake").files(table) for table in tables] == before


def test_shards_that_were_finished_with_another_cluster_file_are_told_once(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.toml").write_text(CLUSTER.replace("Mbps", "0Mbps"))
    other = ["--cluster", str(tmp_path / "other.toml")]
    command = ["analyze", "--lake", str(place / "lake"), "--work", str(tmp_path / "work")]
    told = []
    for arguments in (["--shard", "1/1", *other], [], [], ["--shard", "1/1", *other]):
        main([*command, *arguments])
        told.append("1 shard is finished for other capacities" in capsys.readouterr().err)
    assert told == [False, True, False, False]


def test_a_merge_of_shards_for_another_cluster_file_says_so(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.toml").write_text(CLUSTER.replace("Mbps", "0Mbps"))
    command = ["analyze", "--lake", str(place / "lake"), "--work", str(tmp_path / "work")]
    assert main([*command, "--shard", "1/1", "--cluster", str(tmp_path / "other.toml")]) == 0
    capsys.readouterr()
    assert main([*command, "--merge"]) == 2
    assert "is finished, only 1 for other capacities of the ports, of another --cluster, in" in capsys.readouterr().err


# a run every so often


def test_a_row_a_run_is_printed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--every", "10ms", "--runs", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["time", "took", "series", "anew", "periodic", "links", "changes"]
    assert [line.split()[-5:] for line in lines[1:]][1] == ["3", "0", "3", "2", "none"]


def test_runs_as_json_are_a_document_a_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--every", "10ms", "--runs", "2", "--json") == 0
    runs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(run["kind"], run["series"], run["changes"]) for run in runs] == [("analysis_run", 3, [])] * 2
    assert runs[0]["run_ns"] < runs[1]["run_ns"]


def test_runs_as_csv_have_one_header(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert analyze(place, "--every", "10ms", "--runs", "1", "--csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["series"], row["changes"], row["error"]) for row in rows] == [("3", "", "")]


def test_ctrl_c_between_runs_ends_with_130(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_duration_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.runs.Clock", lambda: Clock(sleep=interrupted))
    assert analyze(place, "--every", "1h") == 130
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert printed.err == "offbeat: interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--shard", "1/2", "--merge"], "--shard only profiles ports"),
        (["--shard", "0/2"], "counted from 1 to N"),
        (["--every", "5m", "--merge"], "--every goes on by itself"),
        (["--runs", "2"], "--runs ends --every"),
        (["--every", "soon"], "duration 'soon'"),
        (["--window", "1ms"], "window 0.001 s: too short"),
        (["--workers", "0"], "workers 0: must be at least 1"),
        (["--workers", "0", "--merge"], "workers 0: must be at least 1"),
        (["--every", "5m", "--runs", "0"], "every 300 s, 0 runs: both must be positive"),
    ],
)
def test_options_without_meaning_are_refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert analyze(place, "--work", str(tmp_path), *arguments) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(("n_late", "told"), [(1, "1 run was left out"), (2, "2 runs were left out")])
def test_runs_that_were_left_out_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, n_late: int, told: str
) -> None:
    late = Run(run_ns=0, duration_s=1.0, n_late=n_late)
    monkeypatch.setattr("pipeline.runs.repeat", lambda *_args, **_options: iter([late]))
    print_runs(Request(lake="lake"), every_s=1.0, n_runs=1, output=Format.TABLE)
    assert told in capsys.readouterr().err
