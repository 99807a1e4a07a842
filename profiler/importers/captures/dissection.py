"""The slow path: scapy finds the IP packet inside a packet that the kernel does not know."""

from __future__ import annotations

import logging
import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["inner_ip_at"]

_CONTRIBUTIONS: Final = ("gtp",)
_IP_NAMES: Final = ("IP", "IPv6")

# What dissectors of scapy raise of packets that are not what they take them for.
_FAILURES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


def inner_ip_at(packet: bytes, link: int) -> int | None:
    """Return where the innermost IP header of a packet starts, None if scapy finds none.

    Parameters
    ----------
    packet
        What was captured of it.
    link
        Its link type.
    """
    dissect = _dissectors().get(link)
    if dissect is None:
        return None
    try:
        layer = dissect(packet)
        found = None
        while layer:
            if type(layer).__name__ in _IP_NAMES and layer.original:
                found = layer.original
            layer = layer.payload
    except _FAILURES:
        return None
    if found is None:
        return None
    at = packet.rfind(found)
    return at if at >= 0 else None


@cache
def _dissectors() -> dict[int, Callable[[bytes], Any]]:
    """Return what dissects packets of each link type; scapy takes a second to import, and only strangers need it."""
    logging.getLogger("scapy").setLevel(logging.ERROR)
    import scapy.layers.all  # noqa: F401 - fills the table of link types
    from scapy.config import conf
    from scapy.main import load_contrib

    for name in _CONTRIBUTIONS:
        load_contrib(name)
    return dict(conf.l2types.num2layer)
