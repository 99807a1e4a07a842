"""The network as planned (no root needed): cables, addresses, the cluster file."""

from __future__ import annotations

import tomllib

import pytest

from tests.rig.errors import RigError
from tests.rig.network import Network
from tests.rig.observers import exec_prefix
from tests.rig.spec import NetworkSpec

NETWORK = Network(prefix="ob0000-", jobs=("A", "B", "gpt"), spec=NetworkSpec(trunk_bps=200e6, host_over_trunk=2.0))


def test_each_job_has_a_host_behind_each_switch() -> None:
    assert NETWORK.nodes == ("a1", "a2", "b1", "b2", "gpt1", "gpt2", "sw1", "sw2")
    ends = {cable.link: (cable.a, cable.b) for cable in NETWORK.cables}
    assert ends["trunk"] == (("sw1", "t1"), ("sw2", "t1"))
    assert ends["gpt1"] == (("gpt1", "eth0"), ("sw1", "p3"))
    assert ends["gpt2"] == (("gpt2", "eth0"), ("sw2", "p3"))


def test_host_links_carry_twice_the_trunk() -> None:
    assert {cable.tier: cable.rate_bps for cable in NETWORK.cables} == {"spine": 200e6, "host": 400e6}


def test_ranks_of_one_job_share_a_subnet_of_their_own() -> None:
    addresses = [NETWORK.address(job, rank=rank) for job in NETWORK.jobs for rank in (0, 1)]
    assert addresses == ["10.77.0.1", "10.77.0.2", "10.77.1.1", "10.77.1.2", "10.77.2.1", "10.77.2.2"]


def test_a_command_runs_on_a_node_by_its_namespace() -> None:
    assert exec_prefix(NETWORK, "sw1") == ["ip", "netns", "exec", "ob0000-sw1"]
    with pytest.raises(RigError, match=r"no node 'sw9'; it has a1, a2, b1, b2, gpt1, gpt2, sw1, sw2"):
        exec_prefix(NETWORK, "sw9")


def test_the_cluster_file_names_every_cable_and_rank() -> None:
    cluster = tomllib.loads(NETWORK.cluster_toml())
    assert cluster["link"][0] == {"id": "trunk", "a": "sw1:t1", "b": "sw2:t1", "tier": "spine", "capacity": "200Mbps"}
    assert cluster["link"][1] == {"id": "a1", "a": "a1:eth0", "b": "sw1:p1", "tier": "host", "capacity": "400Mbps"}
    assert len(cluster["link"]) == 7
    assert cluster["job"][2] == {
        "id": "gpt",
        "ranks": [{"host": "gpt1", "device": "eth0"}, {"host": "gpt2", "device": "eth0"}],
    }
