"""`PacketTap`: the packets of an interface as a capture that goes on, and how many the kernel dropped.

References
----------
.. [1] https://www.tcpdump.org/manpages/pcap.3pcap.html
.. [2] https://www.tcpdump.org/manpages/pcap_stats.3pcap.html
"""

from __future__ import annotations

import ctypes
import select
import socket
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from profiler.collectors.libpcap import CaptureStream, bindings, library
from profiler.errors import NotHere, SourceBroken, UsageError

__all__ = ["SNAP_BYTES", "Drops", "PacketTap"]

SNAP_BYTES: Final = 512
"""What is kept of a packet: more than headers take below three tunnels. Lengths on the wire are told beside it."""

_RING_BYTES: Final = 64 << 20
"""Where packets wait in the kernel: half a second of 400,000 packets/s, should this process be put off."""
_HAND_OVER_MS: Final = 50
"""How long the kernel fills a block of its ring before it hands it over."""
_PACKETS_AT_ONCE: Final = 4096
"""At most 2 MiB of them."""

_MESSAGE_BYTES: Final = 256
"""PCAP_ERRBUF_SIZE."""
_YES: Final = 1
_NANOSECONDS: Final = 1
"""PCAP_TSTAMP_PRECISION_NANO."""
_ANY_NETMASK: Final = 0xFFFF_FFFF
"""PCAP_NETMASK_UNKNOWN."""

_NO_SUCH_DEVICE, _NO_RIGHT, _NO_RIGHT_TO_SEE_ALL = -5, -8, -11
"""PCAP_ERROR_NO_SUCH_DEVICE, PCAP_ERROR_PERM_DENIED, PCAP_ERROR_PROMISC_PERM_DENIED."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drops:
    """Packets that came and are in no figure.

    Parameters
    ----------
    n_ring
        Those for which the kernel's ring had no room: this process was too slow.
    n_interface
        Those that the interface or its driver dropped, whether or not the filter would have let them pass.
    """

    n_ring: int = 0
    n_interface: int = 0


class PacketTap:
    """The packets of an interface that pass a filter.

    Parameters
    ----------
    iface
        Network interface, or another device that libpcap knows, such as ``any`` or an RDMA device.
    packet_filter
        Which packets, in the words of pcap-filter(7); empty for all.

    Attributes
    ----------
    n_packets : int
        How many were taken so far.

    Raises
    ------
    NotHere
        If there is no such interface, or no libpcap.
    SourceBroken
        If it cannot be opened, most often for want of rights.
    UsageError
        If the filter is not understood.
    """

    def __init__(self, iface: str, *, packet_filter: str = "") -> None:
        self.iface = iface
        self.n_packets = 0
        self._pcap = bindings()
        with ExitStack() as opened:
            self._handle = self._pcap.pcap_create(iface.encode(), ctypes.create_string_buffer(_MESSAGE_BYTES))
            opened.callback(self._pcap.pcap_close, self._handle)
            self._activate()
            self._set_filter(packet_filter)
            self._stream = CaptureStream(self._handle)
            opened.callback(self._stream.close)
            self._descriptor = library().pcap_get_selectable_fd(self._handle)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def wait(self, timeout_s: float) -> None:
        """Wait until packets have come, or the time is over."""
        select.select([self._descriptor], [], [], timeout_s)

    def take(self) -> bytes:
        """Return packets that have come, as the next bytes of a capture; nothing if there are none.

        Raises
        ------
        SourceBroken
            If the interface cannot be read any more.
        """
        n_packets = self._stream.append(_PACKETS_AT_ONCE)
        if n_packets < 0:
            raise SourceBroken(f"{self.iface}: {self._last_error()}")
        self.n_packets += n_packets
        return self._stream.take()

    def drops(self) -> Drops:
        """Return how many packets were dropped since it was opened (PACKET_STATISTICS of the kernel, and [2]_)."""
        found = self._pcap.pcap_stat()
        if self._pcap.pcap_stats(self._handle, ctypes.byref(found)) < 0:  # the interface is gone
            return Drops()
        return Drops(n_ring=found.ps_drop, n_interface=found.ps_ifdrop)

    def _activate(self) -> None:
        pcap, handle = self._pcap, self._handle
        pcap.pcap_set_snaplen(handle, SNAP_BYTES)
        pcap.pcap_set_promisc(handle, _YES)
        pcap.pcap_set_timeout(handle, _HAND_OVER_MS)
        pcap.pcap_set_buffer_size(handle, _RING_BYTES)
        library().pcap_set_tstamp_precision(handle, _NANOSECONDS)
        status = pcap.pcap_activate(handle)
        if status < 0:
            raise self._refusal(status)
        pcap.pcap_setnonblock(handle, _YES, ctypes.create_string_buffer(_MESSAGE_BYTES))

    def _refusal(self, status: int) -> NotHere | SourceBroken:
        if status == _NO_SUCH_DEVICE:
            there = ", ".join(name for _, name in socket.if_nameindex())
            return NotHere(f"{self.iface}: no such interface; there are {there or 'none'}")
        if status in (_NO_RIGHT, _NO_RIGHT_TO_SEE_ALL):
            python = Path(sys.executable).resolve()
            return SourceBroken(
                f"{self.iface}: no right to capture packets (CAP_NET_RAW); run as root, or give the right to Python:"
                f" sudo setcap cap_net_raw+ep {python}; or pipe: sudo tcpdump -i {self.iface} -w - | offbeat ingest - …"
            )
        why = self._last_error() or self._pcap.pcap_statustostr(status).decode(errors="replace")
        return SourceBroken(f"{self.iface}: {why}; is it up, and can packets be captured there?")

    def _set_filter(self, packet_filter: str) -> None:
        pcap, program = self._pcap, self._pcap.bpf_program()
        words = packet_filter.encode()
        if pcap.pcap_compile(self._handle, ctypes.byref(program), words, _YES, _ANY_NETMASK) < 0:
            raise UsageError(f"--filter {packet_filter!r}: {self._last_error()}; see the manual page pcap-filter")
        try:
            if pcap.pcap_setfilter(self._handle, ctypes.byref(program)) < 0:
                raise SourceBroken(f"{self.iface}: filter {packet_filter!r}: {self._last_error()}")
        finally:
            pcap.pcap_freecode(ctypes.byref(program))

    def _last_error(self) -> str:
        text: bytes = self._pcap.pcap_geterr(self._handle)
        return text.decode(errors="replace")
