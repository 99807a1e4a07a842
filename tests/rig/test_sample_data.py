"""``sample_data/`` against itself: counters, truth and cluster file tell of the same jobs."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from statistics import median

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "sample_data"
WIRE_BYTES = 5_600_000 * 9_014 / 8_948
RUNS = [("alone_a", "A", "p1"), ("alone_b", "B", "p2"), ("shared", "A", "p1"), ("shared", "B", "p2")]


def read_iterations(run: str, job: str) -> np.ndarray:
    truth = json.loads((FOLDER / f"{run}.truth.json").read_text(encoding="ascii"))
    return np.array(truth[job], dtype=np.int64)


@pytest.mark.parametrize(("run", "job", "port"), RUNS)
def test_a_port_counts_what_its_job_sends_in_each_iteration(run: str, job: str, port: str) -> None:
    with gzip.open(FOLDER / f"{run}.csv.gz", "rt", encoding="ascii") as table:
        names = table.readline().strip().split(",")
        columns = dict(zip(names, np.loadtxt(table, delimiter=",", dtype=np.int64).T, strict=True))
    iterations = read_iterations(run, job)
    assert columns["t_ns"][0] <= iterations[0, 0]
    assert iterations[-1, -1] <= columns["t_ns"][-1]
    # From one Down phase to the next, so that a counter read late tells the same.
    middle_of_down_ns = iterations[:, :2].mean(axis=1)
    sent_bytes = np.diff(np.interp(middle_of_down_ns, columns["t_ns"], columns[f"{port}.rx_bytes"]))
    assert median(sent_bytes) == pytest.approx(WIRE_BYTES, rel=0.02)


@pytest.mark.parametrize(("run", "job"), [("alone_a", "A"), ("alone_b", "B")])
def test_a_job_alone_takes_255_ms_of_which_it_communicates_for_114(run: str, job: str) -> None:
    start, up, end = read_iterations(run, job).T
    assert np.median(end - start) / 1e9 == pytest.approx(0.255, rel=0.02)
    assert np.median(end - up) / 1e9 == pytest.approx(0.114, rel=0.03)


def test_the_jobs_that_share_the_trunk_slow_each_other_down() -> None:
    for job in ("A", "B"):
        start, _, end = read_iterations("shared", job).T
        assert np.quantile(end - start, 0.9) / 1e9 > 1.15 * 0.255


def test_the_cluster_file_has_the_hosts_of_both_jobs_and_the_trunk_between() -> None:
    cluster = tomllib.loads((FOLDER / "cluster.toml").read_text(encoding="ascii"))
    assert {link["id"]: link["capacity"] for link in cluster["link"]} == {
        "trunk": "400Mbps",
        **dict.fromkeys(("a1", "a2", "b1", "b2"), "800Mbps"),
    }
    assert [job["id"] for job in cluster["job"]] == ["A", "B"]


def test_the_readme_names_every_file_and_all_of_it_is_a_few_megabytes() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = [path for path in FOLDER.iterdir() if path.name != "README.md"]
    for path in files:
        assert path.name in readme or path.name.endswith(".truth.json")
    assert sum(path.stat().st_size for path in files) < 5_000_000
