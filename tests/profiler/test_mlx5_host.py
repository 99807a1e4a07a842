"""The collectors on a training host's tree: what is counted, what is not, and what is said of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from profiler.collectors import COLLECTORS, find_sources, left_out, open_counters
from profiler.collectors.blind import blind_spots_among
from profiler.doctor import examine
from profiler.errors import NotHere
from profiler.record import SYSTEM_CLOCK, remarks_on
from tests.profiler.mlx5_host import Mlx5Host

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectors.base import Source


@pytest.fixture
def host(tmp_path: Path) -> Mlx5Host:
    return Mlx5Host(root=tmp_path / "sys").write()


def read(source: Source) -> tuple[dict[tuple[str, str], int], list[str]]:
    """Return (metric, direction) to canonical value of each counter of a source, and what is said of the others."""
    counters, faults = open_counters(source, COLLECTORS[source.collector], host="h1")
    values: dict[tuple[str, str], int] = {}
    for counter in counters:
        values[counter.spec.metric, counter.spec.direction] = counter.read() * counter.spec.scale
        counter.close()
    return values, [str(fault) for fault in faults]


def test_what_is_up_and_counts_is_taken_and_the_rest_is_named(host: Mlx5Host) -> None:
    assert [source.name for source in find_sources(host.root)] == [
        "bond0", "bond0.100", "eth0", "eth1", "efa_0:1", "mlx5_2:1", "mlx5_3:1", "mlx5_bond_0:1",
    ]  # fmt: skip
    down, software = left_out(host.root)
    assert down.startswith("not read, for their links are down: mlx5_2:2; name one to read it from the start")
    assert "rxe0:1 has no rdma counters" in software


def test_a_port_that_is_down_has_no_speed_and_is_read_if_it_is_named(host: Mlx5Host) -> None:
    up, down = find_sources(host.root, devices=["mlx5_2"])
    assert (up.is_up, up.speed_bps, down.is_up, down.speed_bps) == (True, 400e9, False, None)
    assert read(down)[0]["bytes", "transmit"] == 4_000
    assert blind_spots_among([down]) == ["mlx5_2:2: its link is down"]


def test_an_mlx5_port_counts_traffic_in_words_and_what_congestion_does_to_it(host: Mlx5Host) -> None:
    (source,) = find_sources(host.root, devices=["mlx5_bond_0"])
    assert read(source) == (
        {
            ("bytes", "transmit"): 4_000,
            ("bytes", "receive"): 8_000,
            ("packets", "transmit"): 30,
            ("packets", "receive"): 40,
            ("xmit_wait", "transmit"): 50,
            ("cnp_sent", "transmit"): 7,
            ("ecn_marked_packets", "receive"): 8,
            ("cnp_handled", "receive"): 9,
            ("out_of_sequence", "receive"): 11,
            ("packet_seq_err", "transmit"): 12,
        },
        [],
    )
    counters, _ = open_counters(source, COLLECTORS["rdma"], host="h1")
    assert {c.series.metric: c.series.unit for c in counters}["cnp_sent"] == "events"
    for counter in counters:
        counter.close()


def test_an_adapter_without_port_counters_is_read_by_its_own_and_its_clock_is_told(host: Mlx5Host) -> None:
    (source,) = find_sources(host.root, devices=["efa_0"])
    values, faults = read(source)
    assert values == {
        ("bytes", "transmit"): 70_000,
        ("bytes", "receive"): 80_000,
        ("packets", "transmit"): 71,
        ("packets", "receive"): 81,
    }
    assert faults == []
    (remark,) = blind_spots_among([source])
    assert remark == "efa_0:1: the kernel asks it for its counters each 12 ms only: shorter steps are not seen"


def test_a_virtual_function_that_counts_no_bytes_is_said_not_to(host: Mlx5Host) -> None:
    (source,) = find_sources(host.root, devices=["mlx5_3"])
    values, faults = read(source)
    assert {metric for metric, _ in values} == {
        "cnp_sent", "ecn_marked_packets", "cnp_handled", "out_of_sequence", "packet_seq_err",
    }  # fmt: skip
    assert [fault.split(": ")[1].split(";")[0] for fault in faults] == [
        "mlx5_3:1 does not count bytes transmitted",
        "mlx5_3:1 does not count bytes received",
    ]
    assert any("virtual function" in remark for remark in blind_spots_among([source]))


def test_a_counter_that_is_not_available_is_named_and_the_others_are_read(host: Mlx5Host) -> None:
    counters = host.port("mlx5_2") / "counters"
    (counters / "port_rcv_data").write_text("N/A (no PMA)\n")
    (source,) = find_sources(host.root, devices=["mlx5_2:1"])
    values, faults = read(source)
    assert ("bytes", "receive") not in values
    assert values["bytes", "transmit"] == 4_000
    assert faults == [f"{counters / 'port_rcv_data'}: mlx5_2:1 does not count this: N/A (no PMA)"]


@pytest.mark.parametrize("number", [22, 95], ids=os.strerror)
def test_a_counter_that_the_kernel_refuses_is_named_and_the_others_are_read(
    host: Mlx5Host, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refused = host.port("mlx5_2") / "counters" / "port_xmit_wait"
    pread = os.pread

    def refuse(handle: int, size: int, offset: int) -> bytes:
        if os.path.samestat(os.fstat(handle), refused.stat()):
            raise OSError(number, os.strerror(number))
        return pread(handle, size, offset)

    monkeypatch.setattr("os.pread", refuse)
    (source,) = find_sources(host.root, devices=["mlx5_2:1"])
    values, faults = read(source)
    assert len(values) == 9
    assert faults == [f"{refused}: {os.strerror(number)}; is mlx5_2:1 still there?"]


@pytest.mark.parametrize("name", ["eth0", "bond0", "bond0.100"])
def test_an_interface_over_an_rdma_device_is_said_not_to_count_its_traffic(host: Mlx5Host, name: str) -> None:
    (source,) = find_sources(host.root, ifaces=[name])
    assert f"{name}: does not count what RDMA moves; name --device mlx5_bond_0 too" in remarks_on([source])
    both = find_sources(host.root, ifaces=[name], devices=["mlx5_bond_0"])
    assert not any("RDMA" in remark for remark in remarks_on(both))


def test_a_bond_and_its_members_are_said_to_count_the_same_bytes(host: Mlx5Host) -> None:
    said = blind_spots_among(find_sources(host.root))
    assert "bond0: its traffic is counted by eth0, eth1 too; never add them up" in said
    assert "eth1: its traffic is counted by bond0 too; never add them up" in said
    assert "bond0.100: its traffic is counted by bond0 too; never add them up" in said


def test_the_doctor_tells_all_of_it_port_by_port(host: Mlx5Host) -> None:
    found = {port.name: port for port in examine(host.root, host="h1", watch_s=0.05, clock=SYSTEM_CLOCK).ports}
    assert (found["mlx5_2:2"].is_up, found["mlx5_2:2"].speed_bps) == (False, None)
    assert any("--device mlx5_bond_0" in remark for remark in found["bond0"].remarks)
    assert any("does not count bytes" in remark for remark in found["mlx5_3:1"].remarks)
    assert found["rxe0:1"].counters == ()
    assert "has no rdma counters; record another device" in found["rxe0:1"].remarks


def test_a_container_is_told_how_to_read_the_hosts_tree(tmp_path: Path, host: Mlx5Host) -> None:
    with pytest.raises(NotHere, match=r"it has: none; in a container, mount the host's /sys .* --sys-root"):
        find_sources(tmp_path / "container", devices=["mlx5_2"])
    assert find_sources(host.root, devices=["mlx5_2"])
