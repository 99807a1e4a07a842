"""A row a packet, in Parquet: the columns are those of the packets, whatever else was asked."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from profiler.errors import BadInput
from profiler.importers import Options, ingest
from profiler.importers.captures.packet_rows import PACKET_SCHEMA, write_packets
from profiler.importers.captures.window import ByteWindow
from profiler.store import Lake
from tests.profiler.frames import ROCE_PORT, ethernet, interface, ipv4, pcap, ports, section, simple_packet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDS = ("10.0.0.1", "10.0.0.2")
TCP = ethernet(ipv4(ports(1000, 2000, bytes(40)), ENDS, proto=6), 0x0800)


def roce(opcode: int, number: int) -> bytes:
    body = struct.pack(">BBHII", opcode, 0, 0xFFFF, 7, number) + bytes(20)
    udp = struct.pack(">HHHH", 9, ROCE_PORT, 8 + len(body), 0) + body
    return ethernet(ipv4(udp, ENDS, proto=17), 0x0800)


def fragment(offset: int, *, more: bool) -> bytes:
    return ethernet(ipv4(ports(5, 6, bytes(8)), ENDS, proto=17, fragment=offset | 0x2000 * more), 0x0800)


def test_rows_are_those_of_the_packets_in_order(tmp_path: Path) -> None:
    data = pcap([(1, 2, TCP, 500), (1, 1, roce(0x0D, 33), 90), (3, 0, b"", 60)])

    assert write_packets(ByteWindow(iter([data])), tmp_path / "p.parquet") == 3
    table = pq.read_table(tmp_path / "p.parquet")
    nothing = dict.fromkeys(PACKET_SCHEMA.names)
    flow = {"src": ENDS[0], "dst": ENDS[1]}
    assert table.schema.equals(PACKET_SCHEMA)
    assert table.to_pylist() == [
        nothing
        | flow
        | {"number": 1, "t_ns": 1_000_002_000, "wire_bytes": 500, "captured_bytes": len(TCP), "payload_bytes": 28}
        | {"sport": 1000, "dport": 2000, "proto": 6},
        nothing
        | flow
        | {"number": 2, "t_ns": 1_000_001_000, "wire_bytes": 90, "captured_bytes": 74, "payload_bytes": 12}
        | {"sport": 9, "dport": ROCE_PORT, "proto": 17, "qp": 7, "opcode": 13, "psn": 33}
        | {"operation": "read_response"},
        nothing | {"number": 3, "t_ns": 3 * 10**9, "wire_bytes": 60, "captured_bytes": 0, "payload_bytes": 0},
    ]


def test_packets_without_a_time_have_none_and_late_firsts_give_fragments_their_ports(tmp_path: Path) -> None:
    write_packets(ByteWindow(iter([section() + interface() + simple_packet(TCP)])), tmp_path / "simple.parquet")
    woven = [(1, 0, fragment(2, more=False), 60), (1, 0, TCP, 60), (1, 0, fragment(0, more=True), 60)]
    write_packets(ByteWindow(iter([pcap(woven)])), tmp_path / "woven.parquet")

    assert pq.read_table(tmp_path / "simple.parquet")["t_ns"].to_pylist() == [None]
    table = pq.read_table(tmp_path / "woven.parquet")
    assert table["number"].to_pylist() == [1, 2, 3]
    assert table["sport"].to_pylist() == [5, 1000, 5]


def test_damage_leaves_what_was_sound_and_no_file_of_nothing(tmp_path: Path) -> None:
    data = pcap([(1, 0, TCP, 60)])

    assert write_packets(ByteWindow(iter([data + b"\xff" * 40])), tmp_path / "p.parquet") == 1
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 1
    with pytest.raises(BadInput, match="looks like"):
        write_packets(ByteWindow(iter([b"<html>"])), tmp_path / "q.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["p.parquet"]


def test_a_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_bytes(b"mine")

    with pytest.raises(BadInput, match="exists; name another folder"):
        write_packets(ByteWindow(iter([pcap([])])), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").read_bytes() == b"mine"


def test_packets_are_written_on_request_also_of_a_capture_that_the_lake_holds(tmp_path: Path) -> None:
    (tmp_path / "c.pcap").write_bytes(pcap([(1, 0, TCP, 60)]))
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest(tmp_path / "c.pcap", lake=lake)
    assert not (tmp_path / "out").exists()

    options = Options(packets=tmp_path / "out")
    (first,) = ingest(tmp_path / "c.pcap", lake=lake, options=options).inputs
    (again,) = ingest(tmp_path / "c.pcap", lake=lake, options=options).inputs

    assert first.status == "already there"
    assert pq.read_table(tmp_path / "out" / "c.packets.parquet")["wire_bytes"].to_pylist() == [60]
    assert (again.status, again.is_faulty) == ("already there", False)


def test_captures_of_one_name_have_a_file_each_and_foreign_files_stay(tmp_path: Path) -> None:
    sizes = {"d1": 60, "d2": 70, "d3": 80}
    for name, wire in sizes.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pcap").write_bytes(pcap([(1, 0, TCP, wire)]))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.packets.parquet").write_bytes(b"mine")
    lake, options = Lake.open(tmp_path / "lake", create=True), Options(packets=tmp_path / "out")

    for status in ("read", "already there"):
        reports = ingest(*(tmp_path / name for name in sizes), lake=lake, options=options).inputs
        assert [report.status for report in reports] == [status] * 3

    assert (tmp_path / "out" / "x.packets.parquet").read_bytes() == b"mine"
    written = sorted((tmp_path / "out").glob("x-*.packets.parquet"))
    assert sorted(pq.read_table(path)["wire_bytes"].to_pylist() for path in written) == [[60], [70], [80]]


def test_ctrl_c_leaves_no_half_file_of_packets(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield pcap([(1, 0, TCP, 60)])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_packets(ByteWindow(pieces()), tmp_path / "p.parquet")
    assert not list(tmp_path.iterdir())
