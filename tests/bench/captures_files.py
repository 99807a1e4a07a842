"""Packets into capture files, hundreds of thousands at a time: pcap and pcapng, plain, gzip or zstd."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import numpy as np
import zstandard
from numpy.typing import NDArray

from tests.bench.captures_traffic import ACK, CNP, DATA, HEADER_BYTES, SNAP_BYTES, Packets, Traffic, Truth, packets_of
from tests.profiler.frames import interface, option, pcap, section

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PACKINGS", "CaptureFormat", "flow_ends", "write_capture"]

CaptureFormat = Literal["pcap", "pcap-ns", "pcapng"]

NS_PER_S: Final = 10**9
RECORD_BYTES, BLOCK_BYTES, BLOCK_END_BYTES = 16, 28, 4
N_PAIRS_PER_HOST: Final = 200
N_HOSTS: Final = 4
"""Of a ring, unless there are more flows than their queue pairs."""
POOL_BYTES: Final = 1 << 20
"""Random bytes that payloads are cut from: gradients hardly compress."""
_CAPTURED: Final = np.array([SNAP_BYTES, HEADER_BYTES + 8, HEADER_BYTES + 20])
_OPCODES: Final = {DATA: 0x07, ACK: 0x11, CNP: 0x81}
_NS_PER_TICK: Final[dict[CaptureFormat, int]] = {"pcap": 1000, "pcap-ns": 1, "pcapng": 1}

PACKINGS: Final[dict[str, Callable[[IO[bytes]], Any]]] = {
    "": lambda file: file,
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0),
    ".zst": lambda file: zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False),
}
"""What a file name may end in, and what packs it."""


def write_capture(traffic: Traffic, path: Path, *, format: CaptureFormat = "pcap") -> Truth:
    """Write a capture, packed as its name says, and return what is in it."""
    truth = Truth(n_flows=traffic.n_flows)
    pool = np.random.default_rng(traffic.seed).integers(0, 256, POOL_BYTES, dtype=np.uint8)
    ns_per_tick = _NS_PER_TICK[format]
    with path.open("wb") as plain, PACKINGS[path.suffix if path.suffix in PACKINGS else ""](plain) as file:
        file.write(_head(format))
        for packets in packets_of(traffic):
            ticks = packets.t_ns // ns_per_tick
            truth.add(packets, t_ns=ticks * ns_per_tick)
            frames = _frames(packets, traffic, pool=pool)
            rows, sizes = (_blocks if format == "pcapng" else _records)(packets, frames, ticks, NS_PER_S // ns_per_tick)
            file.write(rows[np.arange(rows.shape[1]) < sizes[:, None]].data)
    with path.open("rb") as written:
        os.fsync(written.fileno())  # what is still on its way to the disk would slow down whoever is measured next
    return truth


def flow_ends(traffic: Traffic) -> tuple[NDArray[np.uint32], ...]:
    """Return source, destination, source port and queue pair of each flow, shape (n_flows,)."""
    connection = np.arange(traffic.n_connections)
    per_job = max(1, traffic.n_connections // 2)
    job, place = np.divmod(connection, per_job)
    n_hosts = max(N_HOSTS, -(-per_job // N_PAIRS_PER_HOST))
    pair, host = np.divmod(place, n_hosts)
    src = 0x0A000000 + (job << 16) + host + 1
    dst = 0x0A000000 + (job << 16) + (host + 1) % n_hosts + 1
    sport = 0xC000 + (pair * 37 + host) % 0x3FFF
    forth, back = 0x1000 + pair, 0x8000 + pair
    both = (src, dst), (dst, src), (sport, sport), (forth, back)
    return tuple(np.column_stack(columns).reshape(-1).astype(np.uint32) for columns in both)


def _head(format: CaptureFormat) -> bytes:
    if format == "pcapng":
        return section() + interface(option(9, b"\x09"), snap=SNAP_BYTES)
    return pcap([], magic=0xA1B2C3D4 if format == "pcap" else 0xA1B23C4D, snap=SNAP_BYTES)


def _frames(packets: Packets, traffic: Traffic, *, pool: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return what was captured of each packet, shape (n_packets, SNAP_BYTES), more than that for short ones."""
    src, dst, sport, pair = (column[packets.flow] for column in flow_ends(traffic))
    frames = np.zeros((len(packets.t_ns), SNAP_BYTES), dtype=np.uint8)
    n_payload = SNAP_BYTES - HEADER_BYTES
    windows = np.lib.stride_tricks.sliding_window_view(pool, n_payload)
    frames[:, HEADER_BYTES:] = windows[(packets.psn * 7919 + packets.connection * 104_729) % len(windows)]
    frames[packets.kind != DATA, HEADER_BYTES:] = 0
    frames[:, :12] = np.frombuffer(bytes.fromhex("0200000000010200000000ff")[:12], dtype=np.uint8)
    _put(frames, 12, 0x08004500, 4)
    _put(frames, 16, packets.wire_bytes - 14, 2)
    _put(frames, 20, 0x40004011, 4)  # not to be fragmented, 64 hops, UDP
    _put(frames, 26, src, 4)
    _put(frames, 30, dst, 4)
    _put(frames, 34, sport, 2)
    _put(frames, 36, 4791, 2)
    _put(frames, 38, packets.wire_bytes - 34, 2)
    _put(frames, 42, np.array([_OPCODES[DATA], _OPCODES[ACK], _OPCODES[CNP]])[packets.kind], 1)
    _put(frames, 44, 0xFFFF, 2)
    _put(frames, 46, pair, 4)
    _put(frames, 50, packets.psn, 4)
    return frames


def _put(rows: NDArray[np.uint8], at: int, value: NDArray[np.integer] | int, n_bytes: int) -> None:
    """Write a number into the same bytes of every row, highest byte first."""
    for i in range(n_bytes):
        rows[:, at + i] = np.asarray(value) >> 8 * (n_bytes - 1 - i) & 0xFF


def _records(
    packets: Packets, frames: NDArray[np.uint8], ticks: NDArray[np.int64], per_s: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return records of pcap, and how much of each row is one."""
    captured = _CAPTURED[packets.kind]
    head = np.column_stack((*np.divmod(ticks, per_s), captured, packets.wire_bytes)).astype("<u4")
    return np.hstack((head.view(np.uint8), frames)), RECORD_BYTES + captured


def _blocks(
    packets: Packets,
    frames: NDArray[np.uint8],
    ticks: NDArray[np.int64],
    per_s: int,  # noqa: ARG001 - as _records
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return enhanced packet blocks of pcapng, and how much of each row is one."""
    captured = _CAPTURED[packets.kind]
    padded = -(-captured // 4) * 4
    sizes = BLOCK_BYTES + padded + BLOCK_END_BYTES
    columns = (np.full_like(sizes, 6), sizes, np.zeros_like(sizes), ticks >> 32, ticks & 0xFFFF_FFFF, captured)
    head = np.column_stack((*columns, packets.wire_bytes)).astype("<u4")
    rows = np.hstack((head.view(np.uint8), frames, np.zeros((len(frames), BLOCK_END_BYTES), dtype=np.uint8)))
    for n_padded in np.unique(padded):
        mine = padded == n_padded
        end = sizes[mine].astype("<u4").reshape(-1, 1).view(np.uint8)
        rows[mine, BLOCK_BYTES + n_padded : BLOCK_BYTES + n_padded + BLOCK_END_BYTES] = end
    return rows, sizes
