"""`LinkState`: whether an interface is there and can carry traffic, as the kernel tells now."""

from __future__ import annotations

import fcntl
import socket
import struct
from typing import Final, Literal

__all__ = ["LinkState"]

_SIOCGIFFLAGS: Final = 0x8913
_IFF_UP, _IFF_RUNNING = 0x1, 0x40
"""Switched on; with a carrier (linux/if.h)."""
_REQUEST: Final = "16sH14x"
"""struct ifreq: a name, and flags."""


class LinkState:
    """Asks the kernel about one interface.

    Parameters
    ----------
    iface
        Its name. What is no interface of the kernel (``any``, an RDMA device) always is up.
    """

    def __init__(self, iface: str) -> None:
        self._iface = iface
        self._index = self._index_now()

    def now(self) -> Literal["up", "down", "gone"]:
        """Return its state; another interface of the same name is not the same."""
        if not self._index:
            return "up"
        if self._index_now() != self._index:
            return "gone"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, struct.pack(_REQUEST, self._iface.encode(), 0))
            except OSError:  # it went just now
                return "gone"
        flags = struct.unpack(_REQUEST, answer)[1]
        return "up" if flags & _IFF_UP and flags & _IFF_RUNNING else "down"

    def _index_now(self) -> int:
        try:
            return socket.if_nametoindex(self._iface)
        except OSError:
            return 0
