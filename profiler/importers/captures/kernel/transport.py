"""Above IP: ports, and the tunnels that begin there.

References
----------
.. [1] RFC 2784 and 2890 (GRE), 7348 (VXLAN), 8926 (GENEVE), 3378 (EtherIP); draft-foschiano-erspan.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from profiler.importers.captures.kernel.carried import (
    FRAME,
    IPV4,
    IPV6,
    MPLS,
    NOTHING,
    UNKNOWN_PORT,
    UNKNOWN_PROTOCOL,
)
from profiler.importers.captures.kernel.compiling import Bytes, Whole, Words, compiled
from profiler.importers.captures.kernel.ib import read_bth
from profiler.importers.captures.kernel.integers import u16, u32
from profiler.importers.captures.layout import DATAGRAM_END, END, KEY, PAYLOAD, STRANGE, TRANSPORT

__all__ = ["read_transport"]

_TCP, _UDP, _DCCP, _SCTP, _UDP_LITE = 6, 17, 33, 132, 136
_IPV4_INSIDE, _IPV6_INSIDE, _GRE, _ETHER_IP, _MPLS_INSIDE, _BTH = 4, 41, 47, 97, 137, 0x1B
_L2TP: Final = 115
_UDP_BYTES: Final = 8
_LENGTH_BYTES: Final = 6
"""Of the header of UDP: the length is the last two."""

_ROCE, _VXLAN, _VXLAN_LINUX, _VXLAN_GPE, _GENEVE = 4791, 4789, 8472, 4790, 6081
_GTP, _L2TP_PORT, _TEREDO = 2152, 1701, 3544
_VXLAN_BYTES: Final = 8
_HAS_NETWORK: Final = 0x08
"""Flag of VXLAN that the network identifier is valid."""

_CHECKSUM, _KEYED, _NUMBERED = 0x8000, 0x2000, 0x1000
_BRIDGED, _ERSPAN, _ERSPAN3 = 0x6558, 0x88BE, 0x22EB


@compiled
def read_transport(data: Bytes, words: Words, at: Whole, protocol: Whole) -> tuple[Whole, Whole]:
    """Read ports into the key; return where what a tunnel carries starts, and what it is."""
    words[PAYLOAD] = max(np.int64(0), words[DATAGRAM_END] - at)
    if protocol == _UDP:
        return _udp(data, words, at)
    if protocol in (_TCP, _SCTP, _UDP_LITE, _DCCP):
        if at + 4 <= words[END]:
            words[KEY + TRANSPORT] |= u32(data, at)
        _inside_header(data, words, at, protocol)
        return at, NOTHING
    if protocol == _BTH:
        read_bth(data, words, at, words[DATAGRAM_END] - at)
        return at, NOTHING
    return _inside_ip(data, words, at, protocol)


@compiled
def _inside_header(data: Bytes, words: Words, at: Whole, protocol: Whole) -> None:
    """Take the transport header off the payload; of one whose length was not captured, the shortest that there is."""
    header_bytes = np.int64(8)
    if protocol in (_SCTP, _DCCP):
        header_bytes = np.int64(12)
    elif protocol == _TCP:
        header_bytes = np.int64(20)
        if at + 13 <= words[END]:
            header_bytes = max(header_bytes, (np.int64(data[at + 12]) >> 4) * 4)
    words[PAYLOAD] = max(np.int64(0), words[PAYLOAD] - header_bytes)


@compiled
def _inside_ip(data: Bytes, words: Words, at: Whole, protocol: Whole) -> tuple[Whole, Whole]:
    if protocol == _IPV4_INSIDE:
        return at, IPV4
    if protocol == _IPV6_INSIDE:
        return at, IPV6
    if protocol == _GRE:
        return _gre(data, words, at)
    if protocol == _MPLS_INSIDE:
        return at, MPLS[0]
    if protocol == _ETHER_IP:
        return at + 2, FRAME
    if protocol == _L2TP:
        words[STRANGE] = UNKNOWN_PROTOCOL + protocol
    return at, NOTHING


@compiled
def _udp(data: Bytes, words: Words, at: Whole) -> tuple[Whole, Whole]:
    end = words[END]
    if at + 4 > end:
        return at, NOTHING
    words[KEY + TRANSPORT] |= u32(data, at)
    _inside_header(data, words, at, np.int64(_UDP))
    port = u16(data, at + 2)
    if port == _ROCE:
        is_told = at + _LENGTH_BYTES <= end
        read_bth(data, words, at + _UDP_BYTES, u16(data, at + 4) - _UDP_BYTES if is_told else np.int64(0))
        return at, NOTHING
    if at + _UDP_BYTES + 8 > end:
        return at, NOTHING
    return _inside_udp(data, words, at + _UDP_BYTES, port)


@compiled
def _inside_udp(data: Bytes, words: Words, at: Whole, port: Whole) -> tuple[Whole, Whole]:
    """Return what UDP carries, by the port that it goes to; at least eight bytes of it are there."""
    if port in (_VXLAN, _VXLAN_LINUX):
        return at + _VXLAN_BYTES, FRAME if data[at] & _HAS_NETWORK else NOTHING
    if port == _VXLAN_GPE:
        return at + _VXLAN_BYTES, _of_gpe(np.int64(data[at + 3]))
    if port == _GENEVE:
        if data[at] >> 6:
            return at, NOTHING
        return _by_type(at + 8 + (np.int64(data[at]) & 0x3F) * 4, u16(data, at + 2))
    if port in (_GTP, _L2TP_PORT, _TEREDO):
        words[STRANGE] = UNKNOWN_PORT + port
    return at, NOTHING


@compiled
def _of_gpe(protocol: Whole) -> Whole:
    if protocol == 1:
        return IPV4
    if protocol == 2:
        return IPV6
    return FRAME if protocol == 3 else NOTHING


@compiled
def _gre(data: Bytes, words: Words, at: Whole) -> tuple[Whole, Whole]:
    if at + 4 > words[END]:
        return at, NOTHING
    flags, kind = u16(data, at), u16(data, at + 2)
    if flags & 7:
        words[STRANGE] = UNKNOWN_PROTOCOL + _GRE
        return at, NOTHING
    is_numbered = flags & _NUMBERED
    at += 4
    for flag in (_CHECKSUM, _KEYED, _NUMBERED):
        if flags & flag:
            at += 4
    if kind == _ERSPAN:
        return at + (8 if is_numbered else 0), FRAME
    if kind == _ERSPAN3:
        has_more = at + 12 <= words[END] and data[at + 11] & 1
        return at + (20 if has_more else 12), FRAME
    return _by_type(at, kind)


@compiled
def _by_type(at: Whole, kind: Whole) -> tuple[Whole, Whole]:
    return at, FRAME if kind == _BRIDGED else kind
