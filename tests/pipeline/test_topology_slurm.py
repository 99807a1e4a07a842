"""Jobs of Slurm in each shape that its versions give them: truth by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.topology import Cluster, read_cluster
from profiler.errors import BadInput
from tests.pipeline.clusterfiles import FABRIC, pod, put, why

if TYPE_CHECKING:
    from pathlib import Path

PLAIN: dict[str, Any] = {
    "job_id": 7,
    "job_state": "RUNNING",
    "nodes": "n[1-2]",
    "start_time": 1_700_000_000,
    "array_job_id": 0,
    "array_task_id": None,
    "het_job_id": 0,
    "het_job_offset": 0,
}
"""As up to v0.0.39."""
WRAPPED: dict[str, Any] = {
    "job_id": 7,
    "job_state": ["RUNNING"],
    "nodes": "n[1-2]",
    "start_time": {"set": True, "infinite": False, "number": 1_700_000_000},
    "end_time": {"set": True, "infinite": True, "number": 0},
    "array_job_id": {"set": True, "infinite": False, "number": 0},
    "array_task_id": {"set": False, "infinite": False, "number": 0},
    "het_job_id": {"set": True, "infinite": False, "number": 0},
    "het_job_offset": {"set": True, "infinite": False, "number": 0},
    "job_resources": {"nodes": "n[1-2]", "allocated_nodes": []},
}
"""As of v0.0.40."""
NESTED: dict[str, Any] = {
    **WRAPPED,
    "nodes": "",
    "job_resources": {"nodes": {"count": 2, "list": "n[1-2]", "allocation": [{"name": "n1"}, {"name": "n2"}]}},
}
"""As from v0.0.41 on, of a job whose own list is left blank."""
ACCOUNTED: dict[str, Any] = {
    "job_id": 7,
    "state": {"current": ["RUNNING"], "reason": "None"},
    "nodes": "n[1-2]",
    "time": {"start": 1_700_000_000, "end": 0},
    "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}},
    "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
}
"""As of sacct."""

TEXT = """JobId=7 JobName=train NodeList=evil
   UserId=amy(1000) GroupId=amy(1000) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   StartTime=2026-03-01T10:00:00 EndTime=2026-03-02T10:00:00 Deadline=N/A
   ReqNodeList=(null) ExcNodeList=n9
   NodeList=n[1-2]
   BatchHost=n1

JobId=9 ArrayJobId=8 ArrayTaskId=1 JobName=sweep
   JobState=PENDING Reason=Resources Dependency=(null)
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=
"""


def cluster_of(folder: Path, content: str | dict[str, Any]) -> Cluster:
    return read_cluster(put(folder, "fabric.out", FABRIC), put(folder, "jobs", content))


@pytest.mark.parametrize("job", [PLAIN, WRAPPED, NESTED, ACCOUNTED], ids=["plain", "wrapped", "nested", "sacct"])
def test_one_job_is_the_same_in_every_version(tmp_path: Path, job: dict[str, Any]) -> None:
    cluster = cluster_of(tmp_path, {"jobs": [job], "errors": [], "warnings": []})

    [found] = cluster.jobs
    assert (found.job_id, found.n_ranks, found.start_ns) == ("7", 4, 1_700_000_000_000_000_000)
    assert found.source == str(tmp_path / "jobs")
    assert {rank.host for rank in cluster.placements} == {"n1", "n2"}


@pytest.mark.parametrize(
    ("states", "reason", "said"),
    [
        (["PENDING"], "Resources", "PENDING (Resources)"),
        (["SUSPENDED"], "None", "SUSPENDED"),
        (["PENDING", "REQUEUED"], "BeginTime", "PENDING, REQUEUED (BeginTime)"),
        (["COMPLETED", "COMPLETING"], "None", "COMPLETED, COMPLETING"),
        ([], "", "not told"),
    ],
)
def test_a_job_that_does_not_run_is_named_with_its_state(
    tmp_path: Path, states: list[str], reason: str, said: str
) -> None:
    job = {**WRAPPED, "job_state": states, "state_reason": reason}

    assert why(cluster_of(tmp_path, {"jobs": [job]}))["job 7"] == f"its state is {said}"


def test_a_job_whose_node_fails_while_it_runs_on_still_sends(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, {"jobs": [{**WRAPPED, "job_state": ["RUNNING", "SIGNALING"]}]})

    assert [job.job_id for job in cluster.jobs] == ["7"]


def test_the_parts_of_a_heterogeneous_job_are_one_job_in_order(tmp_path: Path) -> None:
    parts = [
        {**WRAPPED, "job_id": 101 - i, "nodes": f"n{2 - i}", "het_job_id": {"number": 100}, "het_job_offset": 1 - i}
        for i in range(2)
    ]

    cluster = cluster_of(tmp_path, {"jobs": parts})

    assert [job.job_id for job in cluster.jobs] == ["100"]
    assert [rank.host for rank in cluster.placements] == ["n1", "n2"] * 2
    assert cluster.omissions[0].what == "adapter H-5"
    assert len(cluster.omissions) == 1


def test_a_heterogeneous_job_of_which_a_part_waits_is_named(tmp_path: Path) -> None:
    parts = [
        {**WRAPPED, "job_id": 100, "nodes": "n1", "het_job_id": 100},
        {**WRAPPED, "job_id": 101, "nodes": "", "het_job_id": 100, "het_job_offset": 1, "job_state": ["PENDING"]},
    ]

    cluster = cluster_of(tmp_path, {"jobs": parts})

    assert cluster.jobs == ()
    assert "PENDING" in why(cluster)["job 101"]


def test_tasks_of_an_array_are_jobs_and_named_as_squeue_does(tmp_path: Path) -> None:
    tasks = [
        {**WRAPPED, "job_id": 20, "array_job_id": {"number": 20}, "array_task_id": {"set": True, "number": 0}},
        {**WRAPPED, "job_id": 21, "array_job_id": 20, "array_task_id": 1, "job_state": ["FAILED"]},
    ]

    cluster = cluster_of(tmp_path, {"jobs": tasks})

    assert [job.job_id for job in cluster.jobs] == ["20"]
    assert "FAILED" in why(cluster)["job 21 (20_1)"]


@pytest.mark.parametrize("one_line", [False, True])
def test_the_text_of_scontrol_is_read_as_its_json(tmp_path: Path, one_line: bool) -> None:
    text = "\n".join(" ".join(block.split()) for block in TEXT.split("\n\n")) if one_line else TEXT

    cluster = cluster_of(tmp_path, text)

    assert [job.job_id for job in cluster.jobs] == ["7"]
    assert {rank.host for rank in cluster.placements} == {"n1", "n2"}
    assert why(cluster)["job 9 (8_1)"] == "its state is PENDING (Resources)"


def test_a_list_without_jobs_says_so(tmp_path: Path) -> None:
    assert why(cluster_of(tmp_path, {"jobs": []}))[str(tmp_path / "jobs")] == "it lists no jobs"
    assert why(cluster_of(tmp_path, "No jobs in the system\n"))[str(tmp_path / "jobs")] == "it lists no jobs"


def test_what_slurm_complains_of_is_told(tmp_path: Path) -> None:
    errors = [{"description": "Unable to query jobs", "error": "Protocol authentication error"}]

    with pytest.raises(BadInput, match="Slurm says: Unable to query jobs: Protocol authentication error"):
        cluster_of(tmp_path, {"jobs": [], "errors": errors})
    told = why(cluster_of(tmp_path, {"jobs": [PLAIN], "errors": errors}))
    assert "Unable to query" in told[str(tmp_path / "jobs")]


def test_a_bare_list_of_jobs_or_of_pods_is_read(tmp_path: Path) -> None:
    jobs, pods = ([PLAIN], [pod(f"w{i}", f"n{i}", job_name="a") for i in (1, 2)])

    assert [job.job_id for job in cluster_of(tmp_path, json.dumps(jobs)).jobs] == ["7"]
    assert [job.job_id for job in cluster_of(tmp_path, json.dumps(pods, indent=1)).jobs] == ["ml/a"]


@pytest.mark.parametrize("wrong", [3, None, [], {"job_id": {"set": False}}, {"job_id": [1]}, {"job_id": ""}])
def test_entries_that_are_no_jobs_are_named_and_the_others_read(tmp_path: Path, wrong: object) -> None:
    cluster = cluster_of(tmp_path, {"jobs": [wrong, PLAIN]})

    assert [job.job_id for job in cluster.jobs] == ["7"]
    assert "no job_id" in why(cluster)[f"entry 1 of jobs in {tmp_path / 'jobs'}"]
