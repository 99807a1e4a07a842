"""Inside a packet: from its link layer to the key of its flow.

Known are Ethernet (VLAN, QinQ), Linux cooked captures, raw IP and BSD loopback; IPv4 and IPv6 with their extension
headers; ports of TCP, UDP and SCTP; the destination queue pair of RoCE version 2 (UDP port 4791) and 1. Of a tunnel
the outer addresses count. All else keeps its bytes under the key of zeros, `OTHER`.

References
----------
.. [1] https://www.tcpdump.org/linktypes.html
.. [2] InfiniBand Architecture Specification, annex A17 (RoCEv2), and section 9.2 for the base transport header.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.importers.captures.integers import Whole, u16, u32
from profiler.importers.captures.records import AT, CAPTURED, INTERFACE, LINK

__all__ = ["N_WORDS", "OTHER", "PLACE", "TRANSPORT", "read_keys"]

SRC: Final = 0
"""First of the two words of the source address; an IPv4 address stands in the lower half of the second."""
DST: Final = 2
"""First of the two words of the destination address."""
TRANSPORT: Final = 4
"""Word of IP version (bits 40 to 47), protocol (32 to 39), source port (16 to 31) and destination port (0 to 15)."""
PLACE: Final = 5
"""Word of the interface (upper half) and of the destination queue pair plus one, 0 for none (lower half)."""
N_WORDS: Final = 6

OTHER: Final = 0
"""IP version of packets that are not IP, or of which too little was captured to tell."""

ROCE_PORT: Final = 4791

_ETHERNET, _SLL, _SLL2, _NULL, _LOOP = 1, 113, 276, 0, 108
_RAW_LINKS: Final = (12, 14, 101, 228, 229)
_VLAN_TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
_IPV4, _IPV6, _ROCE1 = 0x0800, 0x86DD, 0x8915
_TCP, _UDP, _SCTP, _BTH = 6, 17, 132, 0x1B
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _AUTHENTICATION, _DESTINATION, _MOBILITY = 0, 43, 44, 51, 60, 135
_MOST_HEADERS: Final = 16


@njit(cache=True, nogil=True)
def read_keys(data: NDArray[np.uint8], records: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """Fill a flow's key for each packet.

    Parameters
    ----------
    data
        The window that the packets stand in.
    records
        Packets, shape (n_packets, `records.N_COLUMNS`).
    keys
        Filled; shape (n_packets, N_WORDS).
    """
    for i in range(records.shape[0]):
        key = keys[i]
        key[:] = 0
        key[PLACE] = np.uint64(records[i, INTERFACE]) << np.uint64(32)
        at = records[i, AT]
        end = at + records[i, CAPTURED]
        at, ether_type = _network(data, at, end, records[i, LINK])
        if ether_type == _IPV4:
            _read_ipv4(data, at, end, key)
        elif ether_type in (_IPV6, _ROCE1):
            _read_ipv6(data, at, end, key)


@njit(cache=True, nogil=True)
def _network(data: NDArray[np.uint8], at: Whole, end: Whole, link: Whole) -> tuple[Whole, Whole]:
    """Return where the network layer starts and its Ethernet type, 0 if it cannot be told."""
    if link in _RAW_LINKS:
        return at, _by_version(data, at, end)
    if link in (_NULL, _LOOP):
        return at + 4, _by_version(data, at + 4, end)
    if link == _ETHERNET:
        at += 12
    elif link == _SLL:
        at += 14
    elif link != _SLL2:
        return at, 0
    if at + 2 > end:
        return at, 0
    ether_type = u16(data, at, 1)
    at += 20 if link == _SLL2 else 2
    while ether_type in _VLAN_TAGS and at + 4 <= end:
        ether_type = u16(data, at + 2, 1)
        at += 4
    return at, ether_type


@njit(cache=True, nogil=True)
def _by_version(data: NDArray[np.uint8], at: Whole, end: Whole) -> Whole:
    if at >= end:
        return 0
    version = data[at] >> 4
    if version == 4:
        return _IPV4
    return _IPV6 if version == 6 else 0


@njit(cache=True, nogil=True)
def _read_ipv4(data: NDArray[np.uint8], at: Whole, end: Whole, key: NDArray[np.uint64]) -> None:
    header_bytes = np.int64(data[at] & 0x0F) * 4 if at < end else np.int64(0)
    if at + 20 > end or data[at] >> 4 != 4 or header_bytes < 20:
        return
    protocol = np.int64(data[at + 9])
    key[SRC + 1] = np.uint64(u32(data, at + 12, 1))
    key[DST + 1] = np.uint64(u32(data, at + 16, 1))
    key[TRANSPORT] = np.uint64(4) << np.uint64(40) | np.uint64(protocol) << np.uint64(32)
    is_later_fragment = u16(data, at + 6, 1) & 0x1FFF
    if not is_later_fragment:
        _read_transport(data, at + header_bytes, end, protocol, key)


@njit(cache=True, nogil=True)
def _read_ipv6(data: NDArray[np.uint8], at: Whole, end: Whole, key: NDArray[np.uint64]) -> None:
    if at + 40 > end or data[at] >> 4 != 6:
        return
    for word in range(4):
        high, low = u32(data, at + 8 + 8 * word, 1), u32(data, at + 12 + 8 * word, 1)
        key[word] = np.uint64(high) << np.uint64(32) | np.uint64(low)
    protocol, at, is_later_fragment = _after_extensions(data, at + 40, end, np.int64(data[at + 6]))
    key[TRANSPORT] = np.uint64(6) << np.uint64(40) | np.uint64(protocol) << np.uint64(32)
    if not is_later_fragment:
        _read_transport(data, at, end, protocol, key)


@njit(cache=True, nogil=True)
def _after_extensions(data: NDArray[np.uint8], at: Whole, end: Whole, protocol: Whole) -> tuple[Whole, Whole, bool]:
    """Return the protocol after the extension headers, where it starts, and whether its header is in another packet."""
    for _ in range(_MOST_HEADERS):
        if at + 8 > end:
            break
        if protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION, _MOBILITY):
            size = (np.int64(data[at + 1]) + 1) * 8
        elif protocol == _AUTHENTICATION:
            size = (np.int64(data[at + 1]) + 2) * 4
        elif protocol == _FRAGMENT:
            if u16(data, at + 2, 1) & 0xFFF8:
                return np.int64(data[at]), at + 8, True
            size = np.int64(8)
        else:
            break
        protocol = np.int64(data[at])
        at += size
    return protocol, at, False


@njit(cache=True, nogil=True)
def _read_transport(data: NDArray[np.uint8], at: Whole, end: Whole, protocol: Whole, key: NDArray[np.uint64]) -> None:
    if protocol == _BTH:
        _read_queue_pair(data, at, end, key)
    if protocol not in (_TCP, _UDP, _SCTP) or at + 4 > end:
        return
    ports = u32(data, at, 1)
    key[TRANSPORT] |= np.uint64(ports)
    if protocol == _UDP and ports & 0xFFFF == ROCE_PORT:
        _read_queue_pair(data, at + 8, end, key)


@njit(cache=True, nogil=True)
def _read_queue_pair(data: NDArray[np.uint8], at: Whole, end: Whole, key: NDArray[np.uint64]) -> None:
    if at + 8 <= end:
        key[PLACE] |= np.uint64((u32(data, at + 4, 1) & 0xFF_FFFF) + 1)
