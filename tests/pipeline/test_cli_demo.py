"""``offbeat demo`` on the sample data, against what the jobs wrote down."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from pipeline.demo import SAMPLE_DATA, Check, Truth, find_sample_data
from profiler.errors import NotHere

if TYPE_CHECKING:
    from pathlib import Path

MAX_SECONDS_WARM = 20.0

needs_sample_data = pytest.mark.skipif(not SAMPLE_DATA.is_dir(), reason=f"{SAMPLE_DATA} is not there: not a checkout")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the demo ran once."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    assert main(["demo", "--out", str(folder)]) == 0
    return folder


@needs_sample_data
def test_demo_ends_with_the_advice_in_words_and_the_reports_path(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began_s = time.process_time()
    assert main(["demo", "--out", str(out)]) == 0
    took_s = time.process_time() - began_s

    printed = capsys.readouterr()
    assert "Start B's all-reduce" in printed.out
    assert "trunk (both directions): shift and pace." in printed.out
    assert printed.out.endswith(f"Report: {out / 'report.html'}\n")
    assert "reading the counters" in printed.err
    assert "reading the counters" not in printed.out
    assert took_s < MAX_SECONDS_WARM


@needs_sample_data
def test_demo_finds_what_the_jobs_wrote_down(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(out), "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    checks = found["checks"]
    assert found["kind"] == "demo"
    assert {check["job"] for check in checks} == {"A", "B"}
    assert len(checks) == 8
    for check in checks:
        assert abs(check["off_frac"]) < (0.10 if check["figure"].startswith("Up time") else 0.03), check


@needs_sample_data
def test_demo_leaves_a_lake_that_other_commands_read(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lake,) = out.glob("lake-*")

    assert main(["sql", "--lake", str(lake), "select count(*) as n from series", "--csv"]) == 0

    assert capsys.readouterr().out.split() == ["n", "6"]


@needs_sample_data
def test_demo_writes_a_page_that_shows_the_trunk(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")

    assert 'id="link-1-2-2"' in page
    assert "After: held to slots of" in page


@needs_sample_data
def test_demo_names_a_truth_file_that_is_not_one_before_it_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(SAMPLE_DATA, copy)
    (copy / "alone_a.truth.json").write_text("{ not json")

    assert main(["demo", "--data", str(copy), "--out", str(tmp_path / "out")]) == 1

    assert f"{copy / 'alone_a.truth.json'}: " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_demo_without_sample_data_says_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1

    assert "the sample data come with the source" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(NotHere, match="--data"):
        find_sample_data(tmp_path)


def test_truth_is_the_median_iteration_and_communication() -> None:
    ms = 1_000_000
    iterations = [(0, 140 * ms, 250 * ms), (255 * ms, 395 * ms, 509 * ms), (510 * ms, 660 * ms, 780 * ms)]

    assert Truth.of(iterations) == Truth(period_s=0.260, p90_period_s=0.264, up_s=0.114)


def test_a_check_tells_how_far_off_a_figure_is() -> None:
    right = Check(job="A", figure="period", found_s=0.2575, true_s=0.25)

    assert right.off_frac == pytest.approx(0.03)
    assert Check(job="A", figure="period", found_s=None, true_s=0.25).off_frac is None
