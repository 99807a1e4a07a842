"""Captures a port's packets, cut to their headers, as a nanosecond pcap.

Runs inside the port's namespace: ``ip netns exec NS python -m tests.rig.capture PARENT_PID OUT.pcap SECONDS PORT``.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.rig.kernel import die_with_parent, run_first

__all__ = ["SNAP_BYTES", "main", "read_packets", "write_pcap"]

SNAP_BYTES: Final = 96
_ETH_P_ALL: Final = 3  # linux/if_ether.h
_SO_TIMESTAMPNS: Final = 35  # asm-generic/socket.h
_SO_RCVBUFFORCE: Final = 33  # asm-generic/socket.h
_BUFFER_BYTES: Final = 64 * 1024 * 1024
_TIMESPEC: Final = struct.Struct("@ll")
_FILE_HEADER: Final = struct.Struct("<IHHiIII")  # pcap-savefile(5)
_RECORD_HEADER: Final = struct.Struct("<IIII")
_MAGIC_NS: Final = 0xA1B23C4D
_LINKTYPE_ETHERNET: Final = 1

Packet = tuple[int, int, int, bytes]
"""Seconds, nanoseconds, length on the wire, first bytes."""


def main(arguments: Sequence[str]) -> None:
    """Capture for a time, and print when it began and ended."""
    parent_pid, out, seconds, port = arguments
    die_with_parent(int(parent_pid))
    run_first()
    from_ns = time.time_ns()
    write_pcap(Path(out), read_packets(port, seconds=float(seconds)))
    sys.stdout.write(f"{from_ns} {time.time_ns()}\n")


def read_packets(port: str, *, seconds: float) -> Iterator[Packet]:
    """Yield the packets that a port sends and receives, stamped by the kernel."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as tap:
        tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.bind((port, _ETH_P_ALL))
        tap.settimeout(0.1)
        head = bytearray(SNAP_BYTES)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            try:
                length, ancillary, _, _ = tap.recvmsg_into([head], socket.CMSG_SPACE(_TIMESPEC.size), socket.MSG_TRUNC)
            except TimeoutError:
                continue
            second, nanosecond = _TIMESPEC.unpack(ancillary[0][2])
            yield second, nanosecond, length, bytes(head[:length])


def write_pcap(path: Path, packets: Iterator[Packet]) -> None:
    """Write a classic nanosecond pcap; the name appears only once the file is whole."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as out:
        out.write(_FILE_HEADER.pack(_MAGIC_NS, 2, 4, 0, 0, SNAP_BYTES, _LINKTYPE_ETHERNET))
        for second, nanosecond, length, head in packets:
            out.write(_RECORD_HEADER.pack(second, nanosecond, len(head), length))
            out.write(head)
    partial.replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
