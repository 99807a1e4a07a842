"""Cluster files and the links that rings take: truth by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.topology import Cluster, Link, Placement, read_cluster, route_rings
from profiler.errors import BadInput
from profiler.schema import arrow_schema
from tests.pipeline.lakes import CLUSTER

if TYPE_CHECKING:
    from pathlib import Path

Weights = dict[tuple[str, str, str], float]


def cluster_of(folder: Path, text: str = CLUSTER) -> Cluster:
    path = folder / "cluster.toml"
    path.write_text(text)
    return read_cluster(path)


def link(link_id: str, a: str, b: str, tier: str | None = "host") -> Link:
    return Link(link_id=link_id, a=a, b=b, tier=tier, capacity_bps=1e9)


def ring(job_id: str, *ends: str) -> list[Placement]:
    parts = [end.partition(":")[::2] for end in ends]
    return [Placement(job_id=job_id, rank=i, host=host, device=device) for i, (host, device) in enumerate(parts)]


def weights(links: list[Link], placements: list[Placement]) -> Weights:
    paths = route_rings(links, placements)
    return {(path.job_id, path.link_id, path.direction): path.weight_frac for path in paths}


def star(*hosts: str) -> list[Link]:
    return [link(host, f"{host}:eth0", f"sw:{host}") for host in hosts]


def test_a_cluster_file_becomes_the_tables_of_the_lake(tmp_path: Path) -> None:
    tables = cluster_of(tmp_path).to_tables()
    assert {name: table.num_rows for name, table in tables.items()} == {
        "links": 5,
        "jobs": 2,
        "placements": 4,
        "paths": 12,
        "addresses": 0,
    }
    assert all(table.schema.equals(arrow_schema(name)) for name, table in tables.items())
    assert tables["links"]["capacity_bps"].to_pylist() == [400e6, 800e6, 800e6, 800e6, 800e6]
    assert tables["jobs"]["n_ranks"].to_pylist() == [2, 2]


def test_two_ranks_send_to_each_other(tmp_path: Path) -> None:
    paths = [path for path in cluster_of(tmp_path).paths if path.job_id == "A"]
    assert {(path.link_id, path.direction, path.weight_frac) for path in paths} == {
        (name, direction, 1.0) for name in ("a1", "a2", "trunk") for direction in ("forward", "backward")
    }


def test_a_ring_loads_every_host_link_once_each_way() -> None:
    found = weights(star("h0", "h1", "h2", "h3"), ring("J", "h0:eth0", "h1:eth0", "h2:eth0", "h3:eth0"))
    assert found == {("J", f"h{i}", direction): 1.0 for i in range(4) for direction in ("forward", "backward")}


def test_the_order_of_ranks_decides_how_often_a_ring_crosses_the_trunk() -> None:
    links = [
        *(link(f"l{i}", f"l{i}:eth0", f"left:{i}") for i in range(2)),
        *(link(f"r{i}", f"r{i}:eth0", f"right:{i}") for i in range(2)),
        link("trunk", "left:t", "right:t", "spine"),
    ]
    sorted_ring = weights(links, ring("J", "l0:eth0", "l1:eth0", "r0:eth0", "r1:eth0"))
    mixed_ring = weights(links, ring("J", "l0:eth0", "r0:eth0", "l1:eth0", "r1:eth0"))
    assert sorted_ring["J", "trunk", "forward"] == sorted_ring["J", "trunk", "backward"] == 1.0
    assert mixed_ring["J", "trunk", "forward"] == mixed_ring["J", "trunk", "backward"] == 2.0


def test_equal_paths_share_equally() -> None:
    spines = [
        link(f"{leaf}-{spine}", f"{leaf}:{spine}", f"{spine}:{leaf}", "spine")
        for leaf in ("x", "y")
        for spine in "pqrs"
    ]
    hosts = [link("h0", "h0:eth0", "x:0"), link("h1", "h1:eth0", "y:0")]
    found = weights([*hosts, *spines], ring("J", "h0:eth0", "h1:eth0"))
    assert {found["J", f"x-{spine}", "forward"] for spine in "pqrs"} == {0.25}
    assert {found["J", f"y-{spine}", "backward"] for spine in "pqrs"} == {0.25}
    assert found["J", "h0", "forward"] == 1.0


def test_parallel_cables_are_paths_of_their_own() -> None:
    links = [
        link("h0", "h0:eth0", "x:0"),
        link("h1", "h1:eth0", "y:0"),
        *(link(f"t{i}", f"x:t{i}", f"y:t{i}", "spine") for i in range(2)),
    ]
    found = weights(links, ring("J", "h0:eth0", "h1:eth0"))
    assert found["J", "t0", "forward"] == found["J", "t1", "forward"] == 0.5


def test_shares_divide_at_each_hop_as_switches_do() -> None:
    # x reaches y over p (two cables onward) and q (one): each hop halves, so p's cables carry a quarter each.
    links = [
        link("h0", "h0:eth0", "x:0"),
        link("h1", "h1:eth0", "y:0"),
        link("xp", "x:p", "p:x", "spine"),
        link("xq", "x:q", "q:x", "spine"),
        link("py1", "p:y1", "y:p1", "spine"),
        link("py2", "p:y2", "y:p2", "spine"),
        link("qy", "q:y", "y:q", "spine"),
    ]
    found = weights(links, ring("J", "h0:eth0", "h1:eth0"))
    forward = {name: found["J", name, "forward"] for name in ("xp", "xq", "py1", "py2", "qy")}
    assert forward == {"xp": 0.5, "xq": 0.5, "py1": 0.25, "py2": 0.25, "qy": 0.5}
    assert found["J", "xp", "backward"] == pytest.approx(2 / 3)


def test_ranks_on_one_host_speak_without_the_network() -> None:
    found = weights(star("h0", "h1"), ring("J", "h0:eth0", "h0:eth0", "h1:eth0", "h1:eth0"))
    assert set(found.values()) == {1.0}
    assert weights(star("h0", "h1"), ring("J", "h0:eth0", "h0:eth0")) == {}


def test_a_single_rank_sends_nothing() -> None:
    assert weights(star("h0", "h1"), ring("J", "h0:eth0")) == {}


def test_each_device_of_a_host_has_its_own_link() -> None:
    links = [
        *(link(f"{host}-0", f"{host}:rail0", f"sw0:{host}") for host in ("h0", "h1")),
        *(link(f"{host}-1", f"{host}:rail1", f"sw1:{host}") for host in ("h0", "h1")),
    ]
    found = weights(links, [*ring("R0", "h0:rail0", "h1:rail0"), *ring("R1", "h0:rail1", "h1:rail1")])
    assert {(job_id, link_id) for job_id, link_id, _ in found} == {
        (f"R{i}", f"{host}-{i}") for i in range(2) for host in ("h0", "h1")
    }


@pytest.mark.parametrize("is_placed", [True, False])
def test_a_host_with_two_links_passes_nothing_on(is_placed: bool) -> None:
    links = [
        link("h0", "h0:eth0", "x:0"),
        link("h1", "h1:eth0", "y:0"),
        link("both-x", "both:eth0", "x:1"),
        link("both-y", "both:eth1", "y:1"),
        link("xs", "x:s", "s:x", "spine"),
        link("ys", "y:s", "s:y", "spine"),
    ]
    others = ring("K", "both:eth0", "h0:eth0") if is_placed else []
    found = weights(links, [*ring("J", "h0:eth0", "h1:eth0"), *others])
    assert found["J", "xs", "forward"] == 1.0
    assert not any(link_id.startswith("both") for job_id, link_id, _ in found if job_id == "J")


def test_an_idle_host_of_two_rails_passes_nothing_on_though_no_link_tells_its_tier() -> None:
    links = [
        link("h0", "h0:mlx5_0", "x:0", None),
        link("h1", "h1:mlx5_0", "y:0", None),
        link("idle-x", "idle:mlx5_0/1", "x:1", None),
        link("idle-y", "idle:mlx5_1/1", "y:1", None),
        link("xs", "x:s", "s:x", None),
        link("ys", "y:s", "s:y", None),
    ]
    found = weights(links, ring("J", "h0:mlx5_0", "h1:mlx5_0"))
    assert found["J", "xs", "forward"] == 1.0
    assert not any(link_id.startswith("idle") for _, link_id, _ in found)


def test_neighbours_without_a_way_are_named() -> None:
    links = [link("h0", "h0:eth0", "x:0"), link("h1", "h1:eth0", "y:0")]
    with pytest.raises(BadInput, match="job 'J': no links lead from h0:eth0 to h1:eth0"):
        route_rings(links, ring("J", "h0:eth0", "h1:eth0"))


def test_the_only_device_of_a_host_need_not_be_named(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, CLUSTER.replace('{host = "a2", device = "eth0"}', '{host = "a2"}'))
    assert [rank.device for rank in cluster.placements] == ["eth0"] * 4


def test_a_port_of_a_device_is_named_after_a_slash(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, CLUSTER.replace("a1:eth0", "a1:mlx5_0/1").replace('"a1", device = "eth0"', '"a1"'))
    first = cluster.placements[0]
    assert (first.device, first.port, first.end) == ("mlx5_0", "1", "a1:mlx5_0/1")


def test_links_alone_are_a_cluster(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, CLUSTER.partition("[[job]]")[0])
    assert (len(cluster.links), cluster.jobs, cluster.paths) == (5, (), ())


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"400Mbps"', '"400Mpbs"', r"\[\[link\]\] 1 \(trunk\): capacity: rate '400Mpbs'"),
        ('"400Mbps"', "400", r"\[\[link\]\] 1 \(trunk\): capacity = 400: expected a text"),
        ('capacity = "400Mbps"', "", r"\[\[link\]\] 1 \(trunk\): key 'capacity' is missing"),
        ('capacity = "400Mbps"', 'capasity = "400Mbps"', r"unknown key 'capasity'; did you mean 'capacity'\?"),
        ('"sw1:t1"', '"sw1"', r"\[\[link\]\] 1 \(trunk\): a = 'sw1': expected node:device"),
        ('"sw2:t1"', '"sw1:t2"', r"\[\[link\]\] 1 \(trunk\): b = 'sw1:t2': both ends are on one node"),
        ('"sw1:p2"', '"sw1:p1"', r"link end 'sw1:p1' is given twice"),
        ('id = "b1"', 'id = "a1"', r"link id 'a1' is given twice"),
        ('"spine"', '"spine1"', r"tier = 'spine1': expected host, leaf, spine"),
        ('id = "B"', 'id = "A"', r"\[\[job\]\] 2 \(A\): id 'A' is given twice"),
        ('[{host = "a1"', '[{hots = "a1"', r"ranks\[0\]: unknown key 'hots'; did you mean 'host'\?"),
        ("ranks = [", 'ranks = "a1" #', r"ranks = 'a1': expected a list"),
        ("[[job]]", "[job]", r"Cannot declare .*line 35"),
        ('id = "trunk"', "id = trunk", r"line 3"),
        ("[[link]]", "[[cable]]", r"unknown key 'cable'"),
    ],
)
def test_a_wrong_cluster_file_is_told_where_it_is_wrong(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in CLUSTER
    with pytest.raises(BadInput, match=complaint) as caught:
        cluster_of(tmp_path, CLUSTER.replace(old, new))
    assert str(caught.value).startswith(str(tmp_path / "cluster.toml"))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('host = "b2"', 'host = "b3"', "no link ends at its host b3; see "),
        (
            '"b2", device = "eth0"',
            '"b2", device = "eth1"',
            "b2:eth1 is the end of 0 links, not one (there are b2:eth0)",
        ),
        (
            'host = "b2", device = "eth0"',
            'host = "sw2", device = "p1"',
            "its host sw2 is a switch",
        ),
    ],
)
def test_a_job_that_cannot_be_placed_is_named_and_the_others_go_on(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in CLUSTER

    cluster = cluster_of(tmp_path, CLUSTER.replace(old, new))

    assert [job.job_id for job in cluster.jobs] == ["A"]
    [lost] = cluster.omissions
    assert lost.what == "job B"
    assert reason in lost.why
    assert f"see {tmp_path / 'cluster.toml'}: [[job]] 2 (B)" in lost.why


def test_a_host_with_two_devices_needs_the_device_named(tmp_path: Path) -> None:
    second = '[[link]]\nid = "a1b"\na = "a1:eth1"\nb = "sw1:p9"\ncapacity = "1Gbps"\n'
    cluster = cluster_of(tmp_path, second + CLUSTER.replace('{host = "a1", device = "eth0"}', '{host = "a1"}'))

    [lost] = cluster.omissions
    assert lost.what == "job A"
    assert "a1:* is the end of 2 links, not one" in lost.why
    assert "name the device and port of one" in lost.why


def test_a_file_without_links_or_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no \\[\\[link\\]\\] table"):
        cluster_of(tmp_path, "")
    with pytest.raises(BadInput, match="No such file"):
        read_cluster(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_cluster(tmp_path / "binary.toml")


def test_a_thousand_jobs_are_routed_in_seconds() -> None:
    leaves, hosts = 32, 32
    links = [link(f"h{i}", f"h{i}:eth0", f"leaf{i % leaves}:{i}") for i in range(leaves * hosts)]
    links += [
        link(f"l{leaf}s{spine}", f"leaf{leaf}:s{spine}", f"spine{spine}:{leaf}", "spine")
        for leaf in range(leaves)
        for spine in range(16)
    ]
    placements = [
        rank
        for job in range(1_000)
        for rank in ring(f"J{job}", *(f"h{(job * 7 + k * 131) % (leaves * hosts)}:eth0" for k in range(4)))
    ]
    paths = route_rings(links, placements)
    sent = sum(path.weight_frac for path in paths if path.link_id.startswith("h") and path.direction == "forward")
    assert sent == pytest.approx(4_000)
