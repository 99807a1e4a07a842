"""``offbeat rank`` as it is typed."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.main import main
from tests.data import SAMPLE_DATA
from tests.pipeline.lakes import CLUSTER, two_job_lake
from tests.pipeline.placements import candidate

if TYPE_CHECKING:
    from pathlib import Path

LONG = '{"period_s": 0.255, "phases": [{"start_s": 0, "width_s": 0.18, "rate_bps": 4e8}]}'
"""On a trunk of 400 Mbit/s two of these collide for 0.105 s of every 0.255 s."""

ACROSS = candidate("across", A="a1 a2", B="b1 b2")
APART = candidate("apart", A="a1 b1", B="a2 b2")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    write(tmp_path, ACROSS, APART)
    return tmp_path


def write(place: Path, *candidates: Any) -> None:
    (place / "candidates.json").write_text(json.dumps({"candidates": candidates}), encoding="utf-8")


def rank(place: Path, *arguments: str, jobs: str = "AB") -> int:
    given = [word for job in jobs for word in ("--job", f"{job}={LONG}")]
    files = [str(place / "candidates.json"), "--cluster", str(place / "cluster.toml")]
    return main(["rank", *files, *given, *arguments])


def test_json_has_the_keys_that_others_build_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(place, "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["kind"], document["version"]) == ("ranking", 1)
    first, last = document["candidates"]
    assert (first["id"], first["score_mean"], first["score_worst"], first["predicted_slowdown"]) == ("apart", 1, 1, 1)
    assert (last["id"], last["worst_link"], last["n_links"]) == ("across", "trunk", 2)
    assert last["score_mean"] == pytest.approx(1 - 0.105 / 0.255)
    # Each iteration moves 0.36 s of traffic through the trunk, where alone it takes 0.255 s.
    assert last["predicted_slowdown"] == pytest.approx(0.36 / 0.255, rel=0.01)
    assert [shift["job"] for shift in last["shifts"]] == ["A", "B"]
    assert captured.err == ""


def test_table_shows_places_scores_and_shifts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(place) == 0
    head, first, last = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "place"
    assert first.split() == ["1", "apart", "1.000", "1.000", "-", "0.0%", "none", "needed"]
    assert last.split()[:5] == ["2", "across", "0.588", "0.588", "trunk"]


def test_csv_has_a_row_a_candidate_in_order(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(place, "--csv", "--by", "time") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["id"] for row in rows] == ["apart", "across"]
    assert float(rows[1]["score_worst"]) == pytest.approx(1 - 0.105 / 0.255)


def test_equal_placements_stay_in_the_order_of_the_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mirrored = candidate("mirrored", A="b1 b2", B="a1 a2")
    for order in ([mirrored, ACROSS], [ACROSS, mirrored]):
        write(place, *order)
        assert rank(place, "--json") == 0
        ranked = json.loads(capsys.readouterr().out)["candidates"]
        assert [one["id"] for one in ranked] == [one["id"] for one in order]


def test_a_lake_tells_what_the_jobs_send_and_where_they_stand(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(two_job_lake(place / "lake", up_ns=150_000_000, duration_s=8.0).root)
    write(place, candidate("stay", A="a1 a2"), candidate("move", A="a1 b1", B="a2 b2"))
    files = [str(place / "candidates.json"), "--lake", lake]
    assert main(["rank", *files, "--json"]) == 1
    assert "knows no link; give the cluster file" in capsys.readouterr().err
    assert main(["rank", *files, "--cluster", str(place / "cluster.toml"), "--by", "time", "--json"]) == 0
    with_file = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in with_file["candidates"]] == ["move", "stay"]
    # The links of the cluster file are in the lake now.
    assert main(["rank", *files, "--by", "time", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] == with_file["candidates"]


def test_what_of_the_cluster_cannot_be_used_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(two_job_lake(place / "lake", up_ns=150_000_000, duration_s=8.0).root)
    (place / "lost.csv").write_text("job_id,rank,host\nlost,0,nowhere1\nlost,1,nowhere2\n")
    for known in (["--lake", lake], []):
        assert rank(place, "--cluster", str(place / "lost.csv"), *known) in (0, 1)
        assert "offbeat: left out job lost" in capsys.readouterr().err, known


def test_the_example_of_the_readme_ranks_the_sample_data(capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [
        f"{job}={SAMPLE_DATA}/alone_{job.lower()}.csv.gz#{port}/receive" for job, port in (("A", "p1"), ("B", "p2"))
    ]
    files = [str(SAMPLE_DATA / "candidates.json"), "--cluster", str(SAMPLE_DATA / "cluster.toml")]
    assert main(["rank", *files, "--job", jobs[0], "--job", jobs[1], "--by", "time", "--json"]) == 0
    ranked = json.loads(capsys.readouterr().out)["candidates"]
    assert [one["id"] for one in ranked] == ["a switch each", "as recorded", "crossed"]
    # Both were 255 ms alone and half of it apart at best.
    assert [shift["shift_s"] for shift in ranked[1]["shifts"]] == [0, pytest.approx(0.1275, rel=0.02)]


def test_what_cannot_be_is_last_with_its_reason_and_ends_with_1_if_nothing_else_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere, taken = candidate("nowhere", A="a1 a9"), candidate("taken", A="b1 a2")
    write(place, nowhere, taken, APART)
    assert rank(place) == 0
    captured = capsys.readouterr()
    assert [line.split()[0] for line in captured.out.splitlines()] == ["place", "1", "-", "-"]
    assert "candidate 'nowhere': job 'A': no link ends at host 'a9'" in captured.err
    assert "candidate 'taken': job 'A': b1:eth0 is taken: job 'B' stands there" in captured.err
    assert rank(place, "--share-ports", "--json") == 0
    assert json.loads(capsys.readouterr().out)["candidates"][1]["id"] == "taken"
    capsys.readouterr()
    write(place, nowhere, taken)
    assert rank(place) == 1


def test_a_budget_that_is_over_leaves_candidates_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rank(place, "--budget", "1ns") == 1
    assert "candidate 'across': not judged: the 1e-09 s given were over" in capsys.readouterr().err
    assert rank(place, "--budget", "60s") == 0


def test_a_job_without_a_profile_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, candidate("x", A="a1 a2"), candidate("y", C="a1 a2", A="b1 b2"))
    assert rank(place, jobs="A") == 0
    problems = capsys.readouterr().err
    assert "job B stands, but no profile of it is given: nothing was counted for it" in problems
    assert "candidate 'y': job 'C': no profile of it is given" in problems


def test_what_is_known_too_little_of_a_job_is_said_beside_the_table(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = {"kind": "profile", "version": 1, "series": [{"status": "constant", "reason": "", "mean_bps": 1e8}]}
    (place / "steady.json").write_text(json.dumps(profile), encoding="utf-8")
    assert rank(place, "--job", f"B={place / 'steady.json'}", jobs="A") == 0
    assert capsys.readouterr().err.splitlines() == [
        "offbeat: job B has no period (constant): it takes capacity and gets no shift"
    ]
    profile["series"] = [{"status": "no_data", "reason": "no counter"}]
    (place / "steady.json").write_text(json.dumps(profile), encoding="utf-8")
    assert rank(place, "--job", f"B={place / 'steady.json'}", jobs="A") == 1
    captured = capsys.readouterr()
    assert "1.000" not in captured.out
    assert "candidate 'apart': job 'B': what it sends is not known (no_data)" in captured.err


def test_names_do_not_command_the_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place, {"id": "\x1b[31mred\n", "jobs": {"A": ["a1", "\x1b]0;x\x07"]}})
    assert rank(place) == 1
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert len(captured.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "not JSON"),
        ("[]", "no candidate"),
        ('{"kind": "profile", "series": []}', "unknown key 'series'; expected candidates"),
        ('[{"id": "x", "jobs": {"A": NaN}}]', "hosts are nan"),
        ('[{"id": "x", "jobs": {"A": ["a1", "a2"]}}, {"id": "x", "jobs": {"A": ["a1"]}}]', "'x' is given twice"),
    ],
)
def test_a_file_of_something_else_ends_with_1_and_says_why(
    content: str, problem: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "candidates.json").write_text(content)
    assert rank(place) == 1
    message = capsys.readouterr().err
    assert "candidates.json" in message
    assert problem in message


def test_wrong_usage_ends_with_2(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(place / "candidates.json")]) == 2
    assert "give --lake, or --cluster" in capsys.readouterr().err
    assert rank(place, "--by", "luck") == 2
    assert rank(place, "--budget", "0s") == 2
    assert main(["rank"]) == 2
