"""The kernel of captures: its shortcut against its own long way, its digest against the definition, its cache."""

from __future__ import annotations

import ast
import hashlib
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.importers.captures import digests, machine_code
from profiler.importers.captures.digests import capture_digest
from profiler.importers.captures.layout import N_KEY
from profiler.importers.captures.memory import KernelMemory
from profiler.importers.captures.names import read_name
from profiler.importers.captures.pcap import walk_pcap
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.captures.window import ByteWindow, MappedWindow
from profiler.importers.sink import MemorySink
from tests.profiler.frames import ROCE_PORT, ethernet, ipv4, pcap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

V4 = ("10.0.0.1", "10.0.0.2")


def packets_of(data: bytes) -> tuple[NDArray[np.int64], KernelMemory]:
    """Return the columns of all packets of a capture."""
    memory = KernelMemory(1000, with_columns=True)
    for _ in walk_pcap(ByteWindow(iter([data])), memory):
        pass
    return memory.take_columns(), memory


# The shortcut


@settings(max_examples=200, deadline=None)
@given(
    opcode=st.integers(0, 255),
    flags=st.integers(0, 255),
    queue_pair=st.integers(0, 2**32 - 1),
    number=st.integers(0, 2**32 - 1),
    payload=st.binary(max_size=60),
    port=st.sampled_from([ROCE_PORT, ROCE_PORT, ROCE_PORT, 53]),
    length_error=st.sampled_from([0, 0, 0, -30, 1, 4]),
    fragment=st.sampled_from([0, 0, 0, 0x2000, 0x4000, 7]),
    cut=st.integers(0, 80),
    padding=st.integers(0, 9),
)
def test_shortcut_reads_of_a_packet_what_the_long_way_reads_of_it_behind_a_tag(
    opcode: int,
    flags: int,
    queue_pair: int,
    number: int,
    payload: bytes,
    port: int,
    length_error: int,
    fragment: int,
    cut: int,
    padding: int,
) -> None:
    header = struct.pack(">BBHII", opcode, flags, 0xFFFF, queue_pair, number)
    n_bytes = max(0, 8 + len(header) + len(payload) + length_error)
    udp = struct.pack(">HHHH", 50_000, port, n_bytes, 0) + header + payload
    packet = ipv4(udp, V4, proto=17, fragment=fragment) + bytes(padding)
    plain, tagged = ethernet(packet, 0x0800), ethernet(packet, 0x0800, [(0x8100, 5)])
    n_kept = max(14, len(plain) - cut)

    columns, memory = packets_of(pcap([(1, 0, plain[:n_kept], len(plain)), (1, 0, tagged[: n_kept + 4], len(tagged))]))

    if len(columns) == 2:  # else both wait for the first fragment
        assert columns[0, 4:].tolist() == columns[1, 4:].tolist()
    assert len(memory.flows) <= 2


def test_payload_of_every_kind_of_packet_is_what_its_headers_leave() -> None:
    sizes = {
        0x04: 0,
        0x05: 4,
        0x0A: 16,
        0x0B: 20,
        0x0C: 16,
        0x10: 4,
        0x11: 4,
        0x12: 12,
        0x13: 28,
        0x64: 8,
        0xA4: 4,
        0x2A: 16,
    }
    frames = []
    for opcode, header_bytes in sizes.items():
        base = struct.pack(">BBHII", opcode, 0x20, 0xFFFF, 7, 9)
        body = base + bytes(header_bytes) + bytes(98) + bytes(2) + bytes(4)  # payload, padding, checksum
        udp = struct.pack(">HHHH", 50_000, ROCE_PORT, 8 + len(body), 0) + body
        frame = ethernet(ipv4(udp, V4, proto=17), 0x0800)
        frames.append((1, 0, frame[:60], len(frame)))
    columns, memory = packets_of(pcap(frames))

    assert columns[:, 7].tolist() == [98] * len(sizes)
    assert columns[:, 5].tolist() == list(sizes)
    assert set(columns[:, 6].tolist()) == {9}
    assert read_name(memory.flows[1, :N_KEY]).qp == 7


# Its digest


def by_definition(data: bytes) -> str:
    """Return the digest of a large file: the four accumulators of XXH64, one by one in Python."""
    mask = (1 << 64) - 1
    lanes = [0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579]
    n_stripes = len(data) // 32
    for words in struct.iter_unpack("<4Q", data[: 32 * n_stripes]):
        for i, word in enumerate(words):
            lane = (lanes[i] + word * 0xC2B2AE3D27D4EB4F) & mask
            lane = (lane << 31 | lane >> 33) & mask
            lanes[i] = lane * 0x9E3779B185EBCA87 & mask
    end = struct.pack("<4QQ", *lanes, len(data)) + data[32 * n_stripes :]
    return hashlib.sha256(end).hexdigest()


@pytest.mark.parametrize("n_bytes", [1, 31, 32, 33, 10_000, 70_001])
def test_digest_of_a_large_file_is_as_defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(digests, "_SMALL_BYTES", 0)
    monkeypatch.setattr("profiler.importers.captures.window.MAPPED_BYTES", 4096 + 100)
    data = bytes(i * i % 251 for i in range(n_bytes))
    (tmp_path / "c.pcap").write_bytes(data)

    assert capture_digest(tmp_path / "c.pcap") == by_definition(data)


def test_digest_of_a_small_file_is_that_of_all_inputs(tmp_path: Path) -> None:
    (tmp_path / "c.pcap").write_bytes(b"abc")

    assert capture_digest(tmp_path / "c.pcap") == hashlib.sha256(b"abc").hexdigest()


# Its bytes


def test_mapped_file_gives_the_bytes_of_the_file_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.captures.window.MAPPED_BYTES", 5000)
    data = bytes(range(256)) * 100
    (tmp_path / "c.pcap").write_bytes(data)
    n_read = list[int]()
    window = MappedWindow(tmp_path / "c.pcap", advance=n_read.append)

    taken = b""
    while piece := window.take(777):
        taken += piece
    assert taken == data
    assert sum(n_read) == len(data)


def test_file_cut_while_it_is_read_ends_where_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(bytes(1 << 16))
    window = MappedWindow(path)
    with path.open("r+b") as file:
        file.truncate(5000)

    assert len(window.take(1 << 16)) == 5000


# Its cache


def test_key_of_the_cache_covers_all_that_the_kernel_takes_constants_from() -> None:
    folder = Path(machine_code.__file__).parent
    imported = set[str]()
    for path in (folder / "kernel").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("profiler."):
                imported.add(node.module.removeprefix("profiler.importers.captures."))
    outside = {name for name in imported if not name.startswith("kernel.")}

    assert outside <= set(machine_code._SOURCES)


@pytest.mark.parametrize(
    "damage", [lambda code: code[:-1], lambda code: code[:0], lambda code: code[:40] + b"x" + code[41:]]
)
def test_damaged_cache_is_not_run(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    path = tmp_path / "kernel.o"
    machine_code._write(path, b"machine code of some length, for what it is worth")
    assert machine_code._read(path) is not None

    path.write_bytes(damage(path.read_bytes()))

    assert machine_code._read(path) is None
    assert [found.name for found in tmp_path.iterdir()] == ["kernel.o"]


@pytest.mark.parametrize("mode", [0o775, 0o777, 0o1777])
def test_code_of_a_folder_that_others_can_write_is_not_run(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "offbeat" / "kernel.o"
    machine_code._write(path, b"code")
    assert machine_code._read(path) == b"code"
    assert caplog.messages == []

    path.parent.chmod(mode)

    assert machine_code._read(path) is None
    machine_code._write(path, b"code")
    assert "others can write it" in caplog.text


def test_code_that_is_no_file_of_this_user_alone_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "kernel.o"
    machine_code._write(path, b"code")
    (tmp_path / "link.o").symlink_to(path)
    os.mkfifo(tmp_path / "pipe.o")
    assert machine_code._read(tmp_path / "link.o") is None
    assert machine_code._read(tmp_path / "pipe.o") is None

    path.chmod(0o666)
    assert machine_code._read(path) is None

    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
        assert machine_code._read(path) is None


def test_cache_that_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    machine_code._write(tmp_path / "file" / "kernel.o", b"code")
    (tmp_path / "kernel.o").mkdir()
    machine_code._write(tmp_path / "kernel.o", b"code")

    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "kernel.o"]
    assert machine_code._read(tmp_path / "kernel.o") is None

    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("OFFBEAT_CACHE_DIR", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert machine_code._cache_folder().name.startswith("offbeat-")


def test_zeros_in_a_file_are_packets_and_are_told() -> None:
    coverage = CaptureReader("made", MemorySink(), host=None, bin_ns=1_000_000, by="pair").read(
        iter([pcap([]) + bytes(16 * 5)])
    )

    assert coverage.totals["packets"] == 5
    assert [item.what for item in coverage.skipped] == ["packets (5)"]
