"""``offbeat compat`` as it is typed."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.main import main
from tests.data import SAMPLE_DATA
from tests.pipeline.jobs import measured, vgg

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.phases import TrafficProfile

VGG = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.114, "rate_bps": 4e8}]}'
HALF = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.18, "rate_bps": 4e8}]}'


def answer_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def profile_file(path: Path, *profiles: TrafficProfile) -> Path:
    document = {"kind": "profile", "version": 1, "series": [profile.to_dict() for profile in profiles]}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def series(device: str, direction: str, *, status: str = "periodic") -> TrafficProfile:
    profile = measured(vgg(), error_s=2e-4, jitter_frac=0.04)
    return replace(profile, host="sw1", device=device, direction=direction, status=status)  # type: ignore[arg-type]


def test_two_inline_jobs_are_apart_by_half_their_slack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", "--json"]) == 0
    answer = answer_of(capsys)
    assert answer["verdict"] == "compatible"
    assert [shift["shift_s"] for shift in answer["shifts"]] == [0, 0.1275]
    assert answer["score_best"] == 1


def test_table_ends_with_the_reason_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps"]) == 0
    shown = capsys.readouterr().out
    assert "127.5 ms" in shown
    assert "compatible: shifted, the jobs score 1.000 against 0.800 by chance" in shown


def test_csv_has_a_row_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["job"], row["shift_s"]) for row in rows] == [("A", "0.0"), ("B", "0.1275")]


def test_answer_that_nothing_helps_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={HALF}", "--job", f"B={HALF}", "--capacity", "400Mbps", "--json"]) == 3
    assert answer_of(capsys)["verdict"] == "overloaded"


def test_profile_files_of_measured_jobs_are_paced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = profile_file(tmp_path / "a.json", series("p1", "transmit"), series("p1", "receive", status="idle"))
    assert main(["compat", "--job", f"A={one}", "--job", f"B={one}", "--capacity", "400Mbps", "--json"]) == 0
    answer = answer_of(capsys)
    assert answer["verdict"] == "paced"
    assert answer["shifts"][1]["pace_period_s"] == pytest.approx(0.255 * 1.04, rel=1e-6)


def test_file_of_several_series_asks_which_and_takes_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = profile_file(tmp_path / "both.json", series("p1", "transmit"), series("p2", "transmit"))
    assert main(["compat", "--job", f"A={both}", "--capacity", "400Mbps"]) == 2
    problem = capsys.readouterr().err
    assert "several series" in problem
    assert "sw1/p1/transmit, sw1/p2/transmit" in problem
    assert main(["compat", "--job", f"A={both}#p2/transmit", "--capacity", "400Mbps", "--json"]) == 0
    assert answer_of(capsys)["verdict"] == "uncontended"
    assert main(["compat", "--job", f"A={both}#p3", "--capacity", "400Mbps"]) == 2
    assert "no series 'p3'" in capsys.readouterr().err


def test_counters_are_profiled_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [
        f"{job}={SAMPLE_DATA}/alone_{job.lower()}.csv.gz#{port}/transmit" for job, port in (("A", "p1"), ("B", "p2"))
    ]
    assert main(["compat", "--job", jobs[0], "--job", jobs[1], "--capacity", "400Mbps", "--json"]) == 0
    answer = answer_of(capsys)
    assert answer["verdict"] == "paced"
    assert answer["score_paced"] == pytest.approx(1, abs=0.01)
    assert answer["shifts"][1]["shift_s"] == pytest.approx(answer["shifts"][1]["pace_period_s"] / 2, rel=0.03)


def hindered_jobs(path: Path, *, varies: float) -> list[str]:
    """Two jobs as seen on a full link: 114 ms at 400 Mbit/s took 154, in half of the iterations ``varies`` more."""
    hindered = vgg(period_s=0.295, up_s=0.154, rate_bps=0.114 / 0.154 * 400e6).to_dict()
    hindered["phases"][0] |= {"peak_bps": 400e6, "width_low_s": 0.154, "width_high_s": 0.154 + varies}
    path.write_text(json.dumps({"kind": "profile", "version": 1, "series": [hindered]}), encoding="utf-8")
    return ["compat", "--job", f"A={path}", "--job", f"B={path}", "--capacity", "400Mbps", "--json"]


def test_profiles_measured_on_a_shared_link_are_corrected_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = hindered_jobs(tmp_path / "hindered.json", varies=0.0)
    assert main([*jobs, "--shared"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["shifts"][1]["shift_s"] == pytest.approx(0.1275)
    assert "295 ms was corrected to 255 ms" in captured.err
    assert main(jobs) == 0
    assert answer_of(capsys)["shifts"][1]["repeat_s"] == 0.295


def test_profiles_that_look_hindered_are_corrected_unless_they_are_said_to_be_the_jobs_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = hindered_jobs(tmp_path / "hindered.json", varies=0.05)
    assert main(jobs) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["shifts"][1]["repeat_s"] == pytest.approx(0.255)
    assert "295 ms was corrected to 255 ms, what it would be alone; --alone takes it as it is" in captured.err
    assert main([*jobs, "--alone"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["shifts"][1]["repeat_s"] == 0.295
    assert "was probably measured while the link was full" in captured.err


def test_explained_answer_tells_which_bursts_overlap_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", "--explain"]
    assert main(jobs) == 0
    told = capsys.readouterr().out
    assert "before, by chance: demand exceeds 400 Mbit/s for 50.96 ms of every 255 ms, by 2.55 MB in all" in told
    assert "after, at the best shifts: demand never exceeds 400 Mbit/s (score 1.000)" in told
    assert "A up 1 + B up 1  50.96 ms, 2.55 MB  -" in told
    assert "B up 1: from 0 µs for 114 ms at 400 Mbit/s" in told
    assert main([*jobs, "--json"]) == 0
    explanation = answer_of(capsys)["explanation"]
    assert explanation["before"]["excess_bytes"] == pytest.approx(0.114**2 / 0.255 * 400e6 / 8)
    assert main([*jobs, "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["overlap"], row["after_bytes"]) == ("A up 1 + B up 1", "0.0")


def test_jobs_that_fit_leave_nothing_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--capacity", "400Mbps", "--explain"]) == 0
    assert capsys.readouterr().out.endswith(
        "after, at the best shifts: demand never exceeds 400 Mbit/s (score 1.000)\n"
    )
    assert main(["compat", "--job", f"A={VGG}", "--capacity", "400Mbps", "--explain", "--csv"]) == 0
    header = "link,direction,overlap,before_s,before_bytes,after_s,after_bytes"
    assert capsys.readouterr().out.splitlines() == [header]


def test_answer_tells_its_bound_its_method_and_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", "--budget", "5s"]
    assert main([*jobs, "--json"]) == 0
    answer = answer_of(capsys)
    assert (answer["method"], answer["bound"], answer["gap"], answer["is_proved"]) == ("exact kernel", 1.0, 0.0, True)
    assert 0 < answer["elapsed_s"] < 60
    assert main([*jobs, "--jitter", "0.1"]) == 0
    told = capsys.readouterr().out
    assert "no shifts score better than the best (exact kernel, " in told
    assert "each job off by up to 10% of its period" in told
    assert "B    127.5 ms  111.4 ms to 143.6 ms" in told


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "0s"], "must be positive"),
        (["--budget", "5"], "expected a number with a unit"),
        (["--jitter", "0.7"], "must lie in 0 to 0.5"),
    ],
)
def test_senseless_option_is_refused(options: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", *options]) == 2
    assert problem in capsys.readouterr().err


def test_the_score_of_the_grid_is_called_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps"]) == 0
    assert "cassini 1.000 (claimed by the 5-degree grid)" in capsys.readouterr().out


def test_link_with_a_job_of_no_known_rate_shows_no_scores(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = '{"kind": "profile", "version": 1, "series": [{"status": "aperiodic"}]}'
    jobs = ["--job", f"A={VGG}", "--job", f"B={VGG}", "--job", f"C={nothing}"]
    assert main(["compat", *jobs, "--capacity", "400Mbps"]) == 3
    told = capsys.readouterr().out
    assert "give its mean rate" in told
    assert "score" not in told.replace("cannot be scored", "")


def test_horizon_is_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ["--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps", "--json"]
    assert main(["compat", *jobs, "--horizon", "300s"]) == 0
    assert answer_of(capsys)["horizon_s"] == 300
    assert main(["compat", *jobs, "--horizon", "300"]) == 2


def test_shifts_that_are_no_advice_are_not_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = ["--job", f"A={HALF}", "--job", f"B={HALF}", "--capacity", "400Mbps"]
    assert main(["compat", *jobs]) == 3
    assert " ms" not in capsys.readouterr().out.split("overloaded")[0]
    assert main(["compat", *jobs, "--json"]) == 3
    assert [(shift["job"], shift["advised"]) for shift in answer_of(capsys)["shifts"]] == [("A", False), ("B", False)]


@pytest.mark.parametrize(("horizon", "problem"), [("0.1ns", "1 µs to 1e9 s"), ("1000h", "too often to try")])
def test_horizon_that_cannot_be_answered_says_which_can(
    horizon: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = ["--job", f"A={VGG}", "--job", f"B={VGG.replace('0.255', '0.255100001')}", "--capacity", "400Mbps"]
    assert main(["compat", *jobs, "--horizon", horizon]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("job", "code", "problem"),
    [
        ("A", 2, "expected NAME=PROFILE"),
        ("=x.json", 2, "expected NAME=PROFILE"),
        ("A={", 1, "--job A: inline: not JSON"),
        ('A={"period_s": 1}', 1, "--job A: inline: profile: a periodic profile needs a period and its phases"),
        ('A={"phases": []}', 1, "period_s"),
        ('A={"period_s": 0.1, "phases": [{"start_s": 0, "width_s": 0.2, "rate_bps": 1}]}', 1, "longer than its period"),
        (
            'A={"period_s": 0.1, "phases": [{"start_s": 0, "width_s": 0.05, "rate_bps": -1}]}',
            1,
            "--job A: inline: profile: phase at 0.0 s, 0.05 s long, at -1.0 bit/s: width must be positive",
        ),
        ('A={"period_s": 0.1, "phasen": []}', 1, "unknown key 'phasen'; did you mean 'phases'?"),
        (
            'A={"period_s": 1e10, "phases": [{"start_s": 0, "width_s": 1, "rate_bps": 1}]}',
            2,
            "job A: period_s 10000000000.0: must lie in",
        ),
        ("A=/nowhere/a.json", 1, "/nowhere/a.json"),
    ],
)
def test_bad_job_says_which_and_why(job: str, code: int, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", job, "--capacity", "400Mbps"]) == code
    assert problem in capsys.readouterr().err


def test_file_that_is_no_profile_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (b"[1, 2]", b"not json", b"\xff\x00\xfe", b'{"kind": "profile", "series": 7}', b'{"kind": "ranking"}'):
        path = tmp_path / "x.json"
        path.write_bytes(text)
        assert main(["compat", "--job", f"A={path}", "--capacity", "400Mbps"]) == 1
        assert str(path) in capsys.readouterr().err


def test_job_given_twice_and_capacity_without_sense_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "--job", f"A={VGG}", "--job", f"A={VGG}", "--capacity", "400Mbps"]) == 2
    assert "given twice" in capsys.readouterr().err
    assert main(["compat", "--job", f"A={VGG}", "--capacity", "0"]) == 2
    assert "rate '0'" in capsys.readouterr().err
