"""Pods of the operators that run training jobs: whose they are, in which order, on which devices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.topology import Cluster, read_cluster
from tests.pipeline.clusterfiles import FABRIC, pod, put, why

if TYPE_CHECKING:
    from pathlib import Path

JOBSET = "jobset.sigs.k8s.io__"
TRAINING = "training.kubeflow.org__"
VOLCANO = "volcano.sh__"


def cluster_of(folder: Path, *pods: dict[str, Any]) -> Cluster:
    return read_cluster(put(folder, "fabric.out", FABRIC), put(folder, "pods.json", {"kind": "List", "items": [*pods]}))


def hosts_of(cluster: Cluster) -> list[str]:
    """Return the hosts of the first rail."""
    return [rank.host for rank in cluster.placements if rank.device == "mlx5_0"]


def with_devices(given: dict[str, Any], *devices: str) -> dict[str, Any]:
    status = [{"name": "default/eth0"}, *({"device-info": {"pci": {"rdma-device": device}}} for device in devices)]
    given["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/network-status": json.dumps(status)}
    return given


@pytest.mark.parametrize(
    ("first", "second", "job"),
    [
        (
            {
                f"{JOBSET}jobset_name": "llm",
                f"{JOBSET}job_index": "0",
                "batch.kubernetes.io__job_completion_index": "1",
            },
            {
                f"{JOBSET}jobset_name": "llm",
                f"{JOBSET}job_index": "1",
                "batch.kubernetes.io__job_completion_index": "0",
            },
            "ml/llm",
        ),
        (
            {f"{TRAINING}job_name": "llm", f"{TRAINING}replica_type": "master", f"{TRAINING}replica_index": "0"},
            {f"{TRAINING}job_name": "llm", f"{TRAINING}replica_type": "worker", f"{TRAINING}replica_index": "0"},
            "ml/llm",
        ),
        (
            {f"{VOLCANO}job_name": "llm", f"{VOLCANO}task_spec": "worker", f"{VOLCANO}task_index": "9"},
            {f"{VOLCANO}job_name": "llm", f"{VOLCANO}task_spec": "worker", f"{VOLCANO}task_index": "10"},
            "ml/llm",
        ),
        (
            {"leaderworkerset.sigs.k8s.io__name": "llm", "leaderworkerset.sigs.k8s.io__group_index": "3"},
            {
                "leaderworkerset.sigs.k8s.io__name": "llm",
                "leaderworkerset.sigs.k8s.io__group_index": "3",
                "leaderworkerset.sigs.k8s.io__worker_index": "1",
            },
            "ml/llm-3",
        ),
        ({"job_name": "llm"}, {"job_name": "llm"}, "ml/llm"),
    ],
    ids=["jobset", "pytorchjob", "volcano", "leaderworkerset", "job"],
)
def test_the_pods_of_each_operator_are_one_job_in_order_of_rank(
    tmp_path: Path, first: dict[str, str], second: dict[str, str], job: str
) -> None:
    cluster = cluster_of(tmp_path, pod("llm-b", "n1", **second), pod("llm-a", "n2", **first))

    assert [found.job_id for found in cluster.jobs] == [job]
    assert hosts_of(cluster) == ["n2", "n1"]


def test_a_launcher_is_no_rank(tmp_path: Path) -> None:
    label = {f"{TRAINING}job_name": "mpi"}
    workers = [pod(f"w{i}", f"n{i}", **label, **{f"{TRAINING}replica_index": f"{i}"}) for i in (1, 2)]

    cluster = cluster_of(tmp_path, pod("l", "n9", **label, **{f"{TRAINING}job_role": "launcher"}), *workers)

    assert hosts_of(cluster) == ["n1", "n2"]
    assert why(cluster)["pod ml/l"] == "it launches the job and is none of its ranks"


def test_services_and_daemons_are_no_jobs(tmp_path: Path) -> None:
    pods = [pod(f"dns-{i}", f"n{i}") for i in (1, 2)]
    for one, kind in zip(pods, ("ReplicaSet", "DaemonSet"), strict=True):
        one["metadata"]["ownerReferences"] = [{"kind": kind, "name": "dns"}]

    cluster = cluster_of(tmp_path, *pods)

    assert cluster.jobs == ()
    assert why(cluster)["pod ml/dns-1"] == "no label names its job, and ReplicaSet dns is none"


def test_what_owns_a_pod_names_its_job_where_no_label_does(tmp_path: Path) -> None:
    pods = [pod(f"w{i}", f"n{i}") for i in (1, 2)]
    for one in pods:
        one["metadata"]["ownerReferences"] = [{"kind": "PyTorchJob", "name": "llm"}]

    assert [job.job_id for job in cluster_of(tmp_path, *pods).jobs] == ["ml/llm"]


def test_a_pod_that_waits_tells_what_the_scheduler_said(tmp_path: Path) -> None:
    waiting = pod("w0", None, phase="Pending", job_name="a")
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes: no GPU"}]

    assert why(cluster_of(tmp_path, waiting))["pod ml/w0"] == "its phase is Pending: 0/3 nodes: no GPU"


def test_the_devices_of_a_pod_are_those_that_its_network_status_names(tmp_path: Path) -> None:
    pods = [with_devices(pod(f"w{i}", f"n{i}", job_name="a"), "mlx5_1") for i in (1, 2)]

    cluster = cluster_of(tmp_path, *pods)

    assert [rank.end for rank in cluster.placements] == ["n1:mlx5_1/1", "n2:mlx5_1/1"]


def test_virtual_functions_that_no_link_knows_leave_all_adapters(tmp_path: Path) -> None:
    pods = [with_devices(pod(f"w{i}", f"n{i}", job_name="a"), "mlx5_17") for i in (1, 2)]

    cluster = cluster_of(tmp_path, *pods)

    assert len(cluster.placements) == 4
    assert "no link ends there" in why(cluster)["device n1:mlx5_17 and 1 more of job ml/a"]


def test_a_damaged_network_status_is_told_and_the_pod_placed(tmp_path: Path) -> None:
    pods = [pod(f"w{i}", f"n{i}", job_name="a") for i in (1, 2)]
    pods[0]["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/network-status": "[{"}

    cluster = cluster_of(tmp_path, *pods)

    assert len(cluster.placements) == 4
    assert "network-status is damaged" in why(cluster)["devices of pod ml/w1"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("metadata", 3), ("spec", []), ("status", "Running"), ("kind", "Node"), ("metadata", {"labels": ["a"]})],
)
def test_items_of_wrong_types_are_named_and_the_others_read(tmp_path: Path, key: str, value: object) -> None:
    pods = [pod(f"w{i}", f"n{i}", job_name="a") for i in (1, 2)]

    cluster = cluster_of(tmp_path, {**pod("w3", "n1", job_name="a"), key: value}, *pods)

    assert [job.job_id for job in cluster.jobs] == ["ml/a"]
    assert len(cluster.omissions) == 2
