"""What fabrics, schedulers and tables know of a network: truth by hand, and by counting real files."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.topology import read_cluster
from pipeline.topology.hostlist import expand_hostlist
from profiler.errors import BadInput
from tests.data import shared
from tests.pipeline.clusterfiles import FABRIC, pod, put, slurm, why

if TYPE_CHECKING:
    from pathlib import Path

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
    kinds, cables, rates, hosts = Counter[str](), Counter[frozenset[str]](), set[str](), Counter[str]()
    node = ""
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if line.startswith(("Switch", "Ca")):
            kinds[words[0]] += 1
            node = words[2]
            hosts[line.split('"')[3]] += words[0] == "Ca"
        elif line.startswith("["):
            near, far = line[: line.index("]") + 1], line.split('"')[2].split("]")[0] + "]"
            cables[frozenset({node + near, f'"{line.split(chr(34))[1]}"' + far})] += 1
            rates.add(line.split()[-1])

    cluster = read_cluster(path)

    assert (kinds["Switch"], kinds["Ca"]) == (40, 582)
    assert set(cables.values()) == {2}  # each of its ends tells of a cable
    assert len(cluster.links) == len(cables) == 1114
    assert Counter(link.tier for link in cluster.links) == {"host": 582, "leaf": 1114 - 582}
    assert rates == {"4xNDR"}
    assert {link.capacity_bps for link in cluster.links} == {400e9}
    ends = {end.partition(":")[0] for link in cluster.links for end in (link.a, link.b)}
    assert len({end for end in ends if "-IB" in end}) == 40
    named = {
        host for host, _, device in (name.partition(" ") for name in hosts) if re.fullmatch(r"(mlx5_|HCA-)\d", device)
    }
    assert named - ends == {"localhost"}
    n_nameless = sum(n for name, n in hosts.items() if not re.search(r" (mlx5_|HCA-)\d+$", name))
    assert (
        len(cluster.omissions)
        == n_nameless
        + hosts["localhost HCA-1"]
        + hosts["localhost HCA-2"]
        + hosts["localhost HCA-5"]
        + hosts["localhost HCA-6"]
    )


def test_a_speed_that_is_not_known_costs_its_cable_alone(tmp_path: Path) -> None:
    cluster = read_cluster(
        put(
            tmp_path,
            "fabric.out",
            FABRIC.replace("4xHDR", "4xZDR", 1).replace('leaf1:MQM/U1" lid 1 4xHDR', 'leaf1:MQM/U1" lid 1 4xZDR', 1),
        )
    )

    assert len(cluster.links) == 6
    [told] = [reason for what, reason in why(cluster).items() if what == "link n1:mlx5_0/1--leaf1:1"]
    assert re.search(r"line \d+: speed 4xZDR is not known", told)


def test_a_fabric_that_is_cut_tells_which_cables_lead_nowhere(tmp_path: Path) -> None:
    cut = FABRIC[: FABRIC.index('Ca 1 "H-3"')] + '[7] "H-'

    cluster = read_cluster(put(tmp_path, "fabric.out", cut))

    found = why(cluster)
    assert len(cluster.links) == 4
    assert {what for what in found if what.startswith("link")} == {
        f"link leaf2:{i}--H-{g}:1" for i, g in ((1, 3), (2, 4), (4, 5))
    }
    assert all("it is cut" in found[what] for what in found if what.startswith("link"))
    assert any(what.startswith("line") and "no whole cable" in reason for what, reason in found.items())


def test_adapters_of_hosts_that_share_a_description_are_not_mixed_up(tmp_path: Path) -> None:
    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC.replace("n2 mlx5_0", "n1 mlx5_0")))

    assert {what for what, reason in why(cluster).items() if "1 other has it too" in reason} == {
        "adapter H-1",
        "adapter H-3",
    }
    assert len(cluster.links) == 7


def test_a_unit_for_reductions_makes_no_spine_a_leaf(tmp_path: Path) -> None:
    more = (
        'Switch 4 "S-4" # "MF0;core:MQM/U1" enhanced port 0 lid 4 lmc 0\n'
        '[1] "S-2"[7] # "MF0;spine:MQM/U1" lid 2 4xNDR\n'
        '[65] "H-9"[1](a9) # "Mellanox Technologies Aggregation Node" lid 9 4xNDR\n'
        'Ca 1 "H-9" # "Mellanox Technologies Aggregation Node"\n'
        '[1](a9) "S-4"[65] # lid 9 lmc 0 "MF0;core:MQM/U1" lid 4 4xNDR\n'
    )

    cluster = read_cluster(put(tmp_path, "fabric.out", FABRIC + more))

    assert {link.link_id: link.tier for link in cluster.links}["core:1--spine:7"] == "spine"
    assert "unit for reductions" in why(cluster)["adapter H-9"]


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
    assert found["job 20464"].startswith("no link ends at its host naboo222; see ")
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


@pytest.mark.parametrize(
    "text",
    [
        "a[1-",
        "a[x-y]",
        "a[1-9999999]",
        "a[0-999]b[0-999]c[0-999]",
        "a[3-1]",
        "]a[",
        "a[1-2",
        "a[\u00b2]",
        "[1-9],[" * 9,
    ],
)
def test_lists_that_are_none_or_fill_memory_cost_their_job_alone(tmp_path: Path, text: str) -> None:
    jobs = put(tmp_path, "jobs.json", slurm((1, text, "RUNNING"), (2, "n[1-2]", "RUNNING")))

    cluster = read_cluster(jobs, put(tmp_path, "fabric.out", FABRIC))

    assert [job.job_id for job in cluster.jobs] == ["2"]
    assert f"jobs.json: nodes = {text!r}" in why(cluster)["job 1"]


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


@pytest.mark.parametrize("content", ['{"jobs": 3}', '{"x": 1}', '{"jobs": [', "\x00\x01"])
def test_files_of_no_known_kind_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadInput, match=r"c\.json"):
        read_cluster(put(tmp_path, "c.json", content))
