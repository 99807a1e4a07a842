"""What one layer may say that the next one is: Ethernet types, and numbers beyond them for what has none."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BY_VERSION",
    "FRAME",
    "GRH",
    "IB_FRAME",
    "IPV4",
    "IPV6",
    "LLC",
    "LONGEST_LENGTH",
    "MPLS",
    "NOTHING",
    "PLAIN_TYPES",
    "SNAP",
    "UNKNOWN_FRAGMENT",
    "UNKNOWN_LINK",
    "UNKNOWN_PORT",
    "UNKNOWN_PROTOCOL",
    "UNKNOWN_TYPE",
    "VLAN_TAGS",
]

NOTHING: Final = 0
IPV4, IPV6, GRH = 0x0800, 0x86DD, 0x8915
"""``GRH`` is RoCE version 1: the global route header of InfiniBand, which looks as an IPv6 header does."""
VLAN_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
MPLS = (0x8847, 0x8848)
LONGEST_LENGTH: Final = 1535
"""Below 1536 the field is a length, and an 802.2 frame follows (IEEE 802.3, clause 3.2.6)."""
SNAP: Final = 0xAAAA

PLAIN_TYPES = (
    0x0806,
    0x0842,
    0x8035,
    0x8137,
    0x8808,
    0x8809,
    0x888E,
    0x88CC,
    0x88E1,
    0x88E5,
    0x88F7,
    0x8902,
    0x8906,
    0x8914,
    0x9000,
)
"""Types that carry no addresses of a network: ARP, wake on LAN, RARP, IPX, flow control, LACP, EAPOL, LLDP, HomePlug,
MACsec, PTP, CFM, FCoE, FIP, loopback tests."""

FRAME, BY_VERSION, LLC, IB_FRAME = 0x10000, 0x10001, 0x10002, 0x10003
"""An Ethernet frame, an IP packet of the version that its first bits say, an 802.2 frame, InfiniBand's own."""

UNKNOWN_TYPE, UNKNOWN_PROTOCOL, UNKNOWN_PORT, UNKNOWN_LINK, UNKNOWN_FRAGMENT = (i << 20 for i in range(1, 6))
"""Why a packet is not known to the kernel; the lower bits tell which type, protocol, port or link. A fragment may come
before the first one of its datagram."""
