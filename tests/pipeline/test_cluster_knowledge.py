"""What fabrics, schedulers and tables know of a network: truth by hand, and by counting real files."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.topology import Cluster, read_cluster
from pipeline.topology.slurm import expand_hostlist
from profiler.errors import BadInput
from tests.data import shared

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """# Topology file
Switch 4 "S-1" # "MF0;leaf1:MQM/U1" enhanced port 0 lid 1 lmc 0
[1] "H-1"[1](a1) # "n1 mlx5_0" lid 11 4xHDR
[2] "H-2"[1](a2) # "n1 mlx5_1" lid 12 4xHDR
[3] "S-2"[9] # "MF0;spine:MQM/U1" lid 2 4xNDR
Switch 4 "S-3" # "MF0;leaf2:MQM/U1" enhanced port 0 lid 3 lmc 0
[1] "H-3"[1](a3) # "n2 mlx5_0" lid 13 4xHDR
[2] "H-4"[1](a4) # "n2 mlx5_1" lid 14 4xHDR
[3] "S-2"[8] # "MF0;spine:MQM/U1" lid 2 4xNDR
[4] "H-5"[1](a5) # "MT4129 ConnectX7   Mellanox Technologies" lid 15 4xHDR
Switch 4 "S-2" # "MF0;spine:MQM/U1" enhanced port 0 lid 2 lmc 0
[9] "S-1"[3] # "MF0;leaf1:MQM/U1" lid 1 4xNDR
[8] "S-3"[3] # "MF0;leaf2:MQM/U1" lid 3 4xNDR
Ca 1 "H-1" # "n1 mlx5_0"
[1](a1) "S-1"[1] # lid 11 lmc 0 "MF0;leaf1:MQM/U1" lid 1 4xHDR
Ca 1 "H-2" # "n1 mlx5_1"
[1](a2) "S-1"[2] # lid 12 lmc 0 "MF0;leaf1:MQM/U1" lid 1 4xHDR
Ca 1 "H-3" # "n2 mlx5_0"
[1](a3) "S-3"[1] # lid 13 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
Ca 1 "H-4" # "n2 mlx5_1"
[1](a4) "S-3"[2] # lid 14 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
Ca 1 "H-5" # "MT4129 ConnectX7   Mellanox Technologies"
[1](a5) "S-3"[4] # lid 15 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
"""
"""Two hosts with two rails each, a leaf each, and a spine."""


def put(folder: Path, name: str, content: str | dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def why(cluster: Cluster) -> dict[str, str]:
    return {omission.what: omission.why for omission in cluster.omissions}


def slurm(*jobs: tuple[int, str, Any]) -> dict[str, Any]:
    return {"jobs": [{"job_id": job_id, "nodes": nodes, "job_state": state} for job_id, nodes, state in jobs]}


def pod(name: str, node: str | None, phase: str = "Running", **labels: str) -> dict[str, Any]:
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "labels": named},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }


# InfiniBand fabrics


def test_each_cable_of_a_fabric_is_one_link_with_the_rate_of_its_lanes(tmp_path: Path) -> None:
    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC))

    found = {(link.a, link.b): (link.capacity_bps, link.tier) for link in cluster.links}
    assert found == {
        ("n1:mlx5_0/1", "leaf1:1"): (200e9, "host"),
        ("n1:mlx5_1/1", "leaf1:2"): (200e9, "host"),
        ("n2:mlx5_0/1", "leaf2:1"): (200e9, "host"),
        ("n2:mlx5_1/1", "leaf2:2"): (200e9, "host"),
        ("H-5:1", "leaf2:4"): (200e9, "host"),
        ("leaf1:3", "spine:9"): (400e9, "leaf"),
        ("spine:8", "leaf2:3"): (400e9, "leaf"),
    }
    assert set(why(cluster)) == {"adapter H-5"}
    assert "names no host" in why(cluster)["adapter H-5"]


def test_a_real_fabric_has_its_switches_adapters_and_cables() -> None:
    path = shared("infiniband/ibnetdiscover_example.out")
    text = path.read_text()

    cluster = read_cluster(path)

    n_ends = len(re.findall(r"^\[\d+\]", text, re.MULTILINE))
    assert len(cluster.links) == n_ends // 2 == 1114
    assert Counter(link.tier for link in cluster.links)["host"] == 582
    switches = {end.partition(":")[0] for link in cluster.links for end in (link.a, link.b) if "-IB" in end}
    assert len(switches) == 40
    assert {link.capacity_bps for link in cluster.links} == {400e9}


def test_a_speed_that_is_not_known_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 3: speed 4xZDR is not known"):
        read_cluster(put(tmp_path, "fabric.out", FABRIC.replace("4xHDR", "4xZDR", 1)))


# Rails


def test_a_job_of_a_scheduler_has_a_ring_on_each_rail(tmp_path: Path) -> None:
    jobs = put(tmp_path, "jobs.json", slurm((7, "n[1-2]", "RUNNING")))

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), jobs)

    assert [(rank.rank, rank.end) for rank in cluster.placements] == [
        (0, "n1:mlx5_0/1"),
        (1, "n2:mlx5_0/1"),
        (2, "n1:mlx5_1/1"),
        (3, "n2:mlx5_1/1"),
    ]
    weights = {(path.link_id, path.direction): path.weight_frac for path in cluster.paths}
    assert {weight for (link, _), weight in weights.items() if link.startswith("n")} == {1.0}
    assert {weight for (link, _), weight in weights.items() if "spine" in link} == {2.0}
    assert len(weights) == 2 * 6


def test_jobs_that_cannot_be_placed_are_named_with_the_reason(tmp_path: Path) -> None:
    jobs = slurm((1, "n1,n9", "RUNNING"), (2, "n1", ["RUNNING"]), (3, "n[1-2]", "PENDING"), (4, "", "RUNNING"))

    cluster = read_cluster(put(tmp_path, "jobs.json", jobs), put(tmp_path, "fabric.out", FABRIC))

    found = why(cluster)
    assert cluster.jobs == ()
    assert "no link ends at its host n9" in found["job 1"]
    assert "one host" in found["job 2"]
    assert "PENDING" in found["job 3"]
    assert "no nodes" in found["job 4"]


# Slurm


def test_the_jobs_of_a_real_rest_interface_are_read(tmp_path: Path) -> None:
    path = shared("prometheus/slurmrestd_jobs.json")

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), path)

    found = why(cluster)
    assert found["job 20464"] == "no link ends at its host naboo222"
    assert "COMPLETED" in found["job 23772"]


def test_numbers_that_newer_versions_wrap_are_read(tmp_path: Path) -> None:
    jobs: dict[str, Any] = slurm((7, "n[1-2]", ["RUNNING", "COMPLETING"]))
    jobs["jobs"][0]["job_id"] = {"set": True, "infinite": False, "number": 7}

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "jobs.json", jobs))

    assert [job.job_id for job in cluster.jobs] == ["7"]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a", ["a"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-10,2]b", ["a08b", "a09b", "a10b", "a2b"]),
        ("a[1-2]c[1-2],z", ["a1c1", "a1c2", "a2c1", "a2c2", "z"]),
        ("", []),
    ],
)
def test_lists_of_nodes_are_expanded_as_slurm_does(text: str, nodes: list[str]) -> None:
    assert list(expand_hostlist(text)) == nodes


@pytest.mark.parametrize("text", ["a[1-", "a[x-y]", "a[1-9999999]", "a[0-999]b[0-999]c[0-999]"])
def test_lists_that_are_none_or_fill_memory_are_refused(tmp_path: Path, text: str) -> None:
    jobs = put(tmp_path, "jobs.json", slurm((1, text, "RUNNING")))

    with pytest.raises(BadInput, match="job 1: nodes"):
        read_cluster(jobs)


# Kubernetes


def test_pods_of_one_job_are_its_ranks_in_order_of_their_index(tmp_path: Path) -> None:
    label = {"training.kubeflow.org__job_name": "llm"}
    rank = "training.kubeflow.org__replica_index"
    pods = {"items": [pod("w1", "n2", **label, **{rank: "1"}), pod("w0", "n1", **label, **{rank: "0"})]}

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "pods.json", pods))

    assert [job.job_id for job in cluster.jobs] == ["ml/llm"]
    assert [placement.host for placement in cluster.placements[:2]] == ["n1", "n2"]


def test_pods_that_send_nothing_are_named_with_the_reason(tmp_path: Path) -> None:
    pods = {
        "items": [
            pod("done", "n1", phase="Succeeded", job_name="a"),
            pod("waits", None, job_name="a"),
            pod("stray", "n1"),
        ]
    }

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC), put(tmp_path, "pods.json", pods))

    found = why(cluster)
    assert "Succeeded" in found["pod ml/done"]
    assert "no node" in found["pod ml/waits"]
    assert "no label" in found["pod ml/stray"]


# Tables


def test_links_and_placements_of_tables_are_one_cluster(tmp_path: Path) -> None:
    links = "link,a,b,capacity,tier\nup1,n1:eth0,sw:p1,100Gbps,host\nup2,n2:eth0,sw:p2,100Gbps,host\n"
    jobs = "job,host,device\nA,n1,eth0\nA,n2,eth0\n"

    cluster = read_cluster(put(tmp_path, "links.csv", links), put(tmp_path, "jobs.csv", jobs))

    assert {(path.link_id, path.direction): path.weight_frac for path in cluster.paths} == {
        (link, direction): 1.0 for link in ("up1", "up2") for direction in ("forward", "backward")
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("link,a,b,capacity\nx,n1:e,sw:1,fast\n", "line 2: capacity"),
        ("link,a,b,capacity\nx,n1,sw:1,1Gbps\n", "a = 'n1': expected node:device"),
        ("link,a,b,capacity\nx,n1:e,sw:1\n", "column capacity is empty"),
        ("link,a,b,capacity\nx,n1:e,sw:1,1Gbps\ny,n1:e,sw:2,1Gbps\n", "'n1:e' is given twice"),
        ("job,host\nA,n1\n", "no links"),
    ],
)
def test_a_wrong_table_is_told_where_it_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        read_cluster(put(tmp_path, "table.csv", text))


# Several files


def test_files_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    links = "link,a,b,capacity\nup1,n1:eth0,sw:p1,{}\n"
    one, two = (put(tmp_path, f"{rate}.csv", links.format(rate)) for rate in ("1Gbps", "2Gbps"))
    jobs = [put(tmp_path, name, slurm((7, "n[1-2]", "RUNNING"))) for name in ("a.json", "b.json")]

    with pytest.raises(BadInput, match="differs from one of another file"):
        read_cluster(one, two)
    with pytest.raises(BadInput, match=r"job '7' is in .*a\.json too"):
        read_cluster(put(tmp_path, "fabric.out", FABRIC), *jobs)


@pytest.mark.parametrize("content", ['{"jobs": 3}', '{"x": 1}', '{"jobs": [', "\x00\x01"])
def test_files_of_no_known_kind_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadInput, match=r"c\.json"):
        read_cluster(put(tmp_path, "c.json", content))
