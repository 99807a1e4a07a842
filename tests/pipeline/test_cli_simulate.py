"""``offbeat simulate`` as it is typed."""

from __future__ import annotations

import csv
import io
import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.main import main
from tests.data import SAMPLE_DATA
from tests.pipeline.lakes import CLUSTER, two_job_lake

if TYPE_CHECKING:
    from pathlib import Path

VGG = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.114, "rate_bps": 4e8}]}'
FULL = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.25, "rate_bps": 4e8}]}'
TWO = ("--job", f"A={VGG}", "--job", f"B={VGG}", "--capacity", "400Mbps")


def simulate(*arguments: str) -> int:
    return main(["simulate", *arguments])


def answer_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def plan_file(path: Path, *, slot_s: float | None = 0.3) -> Path:
    shifts = [{"job": name, "shift_s": shift_s, "pace_period_s": slot_s} for name, shift_s in (("A", 0.0), ("B", 0.15))]
    path.write_text(json.dumps({"kind": "shift_plan", "version": 1, "shifts": shifts}), encoding="utf-8")
    return path


def test_two_jobs_gain_by_the_advised_shift(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*TWO, "--json") == 0
    answer = answer_of(capsys)
    assert (answer["kind"], answer["version"]) == ("simulation", 1)
    assert [job["p90_s"] for job in answer["planned"]["jobs"]] == pytest.approx([0.255, 0.255])
    assert answer["planned"]["congested_frac"] == pytest.approx(0, abs=1e-9)
    assert answer["links"][0]["congested_frac"] > 0.1
    assert answer["speedup_p90"] == pytest.approx(answer["jobs"][0]["p90_s"] / 0.255, rel=0.02)


def test_the_table_shows_each_job_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*TWO, "--jitter", "0.03") == 0
    printed = capsys.readouterr().out
    assert printed.count("unmanaged") == 2
    assert printed.count("planned") == 2
    assert "shorter in the mean" in printed


def test_csv_has_a_row_a_job_and_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*TWO, "--csv", "--iterations", "100") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["plan"], row["job"]) for row in rows] == [
        ("unmanaged", "A"), ("unmanaged", "B"), ("planned", "A"), ("planned", "B"),
    ]  # fmt: skip


def test_same_seed_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("1", "1", "2"):
        assert simulate(*TWO, "--jitter", "0.03", "--iterations", "60", "--seed", seed, "--json") == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


def test_a_given_plan_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*TWO, "--plan", str(plan_file(tmp_path / "plan.json")), "--json") == 0
    assert [job["p50_s"] for job in answer_of(capsys)["planned"]["jobs"]] == pytest.approx([0.3, 0.3])


def test_with_a_plan_nothing_is_solved_and_no_plan_is_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def solved(*_arguments: object, **_options: object) -> None:
        pytest.fail("solved for shifts that are given")

    monkeypatch.setattr(import_module("pipeline.compat.solve"), "solve", solved)
    overloaded = ("--job", f"A={FULL}", "--job", f"B={FULL}", "--capacity", "400Mbps")
    plan = str(plan_file(tmp_path / "plan.json", slot_s=0.6))
    assert simulate(*overloaded, "--plan", plan, "--iterations", "40", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["planned"]["jobs"][0]["p50_s"] == pytest.approx(0.6)
    assert printed.err == ""


def test_a_plan_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = plan_file(tmp_path / "plan.json")
    path.write_text(path.read_text(encoding="utf-8").replace('"version": 1', '"version": 9'), encoding="utf-8")
    assert simulate(*TWO, "--plan", str(path)) == 1
    assert "plan.json: version is 9, expected 1" in capsys.readouterr().err


def test_without_a_plan_that_helps_the_jobs_are_simulated_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate("--job", f"A={FULL}", "--job", f"B={FULL}", "--capacity", "400Mbps", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["planned"] is None
    assert "no plan: overloaded" in printed.err


def test_a_log_calibrates_jitter_and_weight(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(SAMPLE_DATA / "shared.truth.json")
    assert simulate(*TWO, "--log", log, "--iterations", "200", "--json") == 0
    calibration = answer_of(capsys)["calibration"]
    assert calibration["older_weight_low"] <= 1 <= calibration["older_weight_high"]
    assert [job["job"] for job in calibration["jobs"]] == ["A", "B"]
    assert all(0.01 < job["jitter_frac"] < 0.05 for job in calibration["jobs"])


def test_a_lake_is_simulated_on_all_its_links_with_its_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_job_lake(tmp_path / "lake", duration_s=8.0)
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    arguments = ("--lake", str(tmp_path / "lake"), "--cluster", str(tmp_path / "cluster.toml"), "--json")
    assert simulate(*arguments) == 0
    answer = answer_of(capsys)
    assert [job["job"] for job in answer["jobs"]] == ["A", "B"]
    assert {link["link"].split()[0] for link in answer["links"]} == {"trunk"}
    assert answer["speedup_p90"] > 1.05
    assert simulate(*arguments, "--plan", str(plan_file(tmp_path / "plan.json", slot_s=0.4))) == 0
    assert [job["p50_s"] for job in answer_of(capsys)["planned"]["jobs"]] == pytest.approx([0.4, 0.4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --capacity and the jobs"),
        (("--job", f"A={VGG}"), "give --capacity and the jobs"),
        ((*TWO, "--iterations", "0"), "n_iterations 0; must be at least 1"),
        ((*TWO, "--jitter", "5"), "--jitter 5: expected 0 to 0.5"),
        ((*TWO, "--older-weight", "0"), "older_weight 0.0; must be positive"),
        ((*TWO, "--older-weight", "nan"), "older_weight nan; must be positive"),
        ((*TWO, "--log", "x.json", "--jitter", "0.1"), "leave out --jitter"),
        (("--lake", "lake", "--jitter", "0.1"), "leave them out with --lake"),
        (("--lake", "lake", "--jitter", "0"), "leave them out with --lake"),
        (("--lake", "lake", "--capacity", ""), "leave them out with --lake"),
        ((*TWO, "--cluster", "cluster.toml"), "--cluster tells of the links of a lake"),
        (("--job", f"A={VGG}", "--capacity", "0bps"), "rate '0bps': must be positive"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ("[" * 10**6, "not JSON"), ("[]", "expected a JSON object"), ("{}", "no job")],
)
def test_a_wrong_log_ends_with_1(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.json"
    path.write_text(text)
    assert simulate(*TWO, "--log", str(path)) == 1
    assert message in capsys.readouterr().err
