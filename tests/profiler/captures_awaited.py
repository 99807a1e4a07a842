"""What the reader is yet to learn: the traps that it falls into, by test; a line goes when it no longer does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.profiler.captures_traps import WITH_PAYLOAD, WITH_SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark import ParameterSet

__all__ = ["AWAITED", "as_parameters"]

CARD: Final = "the header of the card counts as bytes on the wire"

AWAITED: Final[dict[str, dict[str, str]]] = {
    "totals": dict.fromkeys(("erf-ethernet.pcap", "infiniband-erf.pcap"), CARD),
    "bins": dict.fromkeys(("erf-ethernet.pcap", "infiniband-erf.pcap"), CARD),
    "flows": {
        "ethernet-802.3-snap.pcap": "no slow path",
        "ethernet-pppoe.pcap": "no slow path",
        "erf-ethernet.pcap": "link type is not read",
        "mpls.pcap": "labels are not passed over",
        "mpls-stack-after-vlan.pcap": "labels are not passed over",
        "gre-with-every-header-field.pcap": "tunnels are not opened",
        "gre-ipv6.pcap": "tunnels are not opened",
        "gre-ethernet-vlan.pcap": "tunnels are not opened",
        "gre-over-ipv6.pcap": "tunnels are not opened",
        "ip-in-ip.pcap": "tunnels are not opened",
        "ip-in-ip-in-ip.pcap": "tunnels are not opened",
        "ip-in-ipv6.pcap": "tunnels are not opened",
        "vxlan.pcap": "tunnels are not opened",
        "vxlan-over-ipv6.pcap": "tunnels are not opened",
        "vxlan-rocev2.pcap": "tunnels are not opened",
        "geneve.pcap": "tunnels are not opened",
        "geneve-options.pcap": "tunnels are not opened",
        "fragments.pcap": "fragments are flows of their own",
        "fragments-last-first.pcap": "fragments are flows of their own",
        "fragments-of-two-datagrams-woven.pcap": "fragments are flows of their own",
        "fragments-of-ipv6.pcap": "fragments are flows of their own",
        "fragments-of-ipv6-last-first.pcap": "fragments are flows of their own",
        "infiniband.pcap": "link type is not read",
        "infiniband-erf.pcap": "link type is not read",
    },
    "real captures": {
        "PcapPlusPlus__GrePackets.cap": "tunnels are not opened",
        "tcpdump__gso-ipv4-vxlan-ipv4.pcap": "tunnels are not opened",
    },
    "payloads": dict.fromkeys(WITH_PAYLOAD, "payload is not told from headers"),
    "repeats": dict.fromkeys(WITH_SEQUENCE, "sequence numbers are not read"),
}


def as_parameters(names: Iterable[str], *, test: str) -> list[ParameterSet]:
    """Return traps for a test, those marked that are known to fail it."""
    awaited = AWAITED.get(test, {})
    return [
        pytest.param(name, marks=[pytest.mark.xfail(reason=awaited[name])] if name in awaited else []) for name in names
    ]
