"""libpcap: scapy's bindings of it, and the calls that they lack.

Packets never pass through Python one by one: libpcap takes them out of the kernel's ring and writes them as a capture
into memory, both in C.
"""

from __future__ import annotations

import ctypes
from ctypes.util import find_library
from functools import cache
from typing import TYPE_CHECKING, Final

from profiler.errors import NotHere

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["CaptureStream", "bindings", "library"]

_FROM_START: Final = 0
"""SEEK_SET."""


@cache
def bindings() -> ModuleType:
    """Return scapy's bindings of libpcap.

    Raises
    ------
    NotHere
        If this machine has no libpcap.
    """
    library()
    from scapy.libs import winpcapy

    bound: ModuleType = winpcapy
    return bound


@cache
def library() -> ctypes.CDLL:
    """Return libpcap, with prototypes of the calls that scapy does not bind.

    Raises
    ------
    NotHere
        If this machine has no libpcap.
    """
    name = find_library("pcap")
    if name is None:
        raise NotHere("libpcap: not on this machine, and packets are captured with it; install libpcap0.8, or tcpdump")
    found = ctypes.CDLL(name)
    found.pcap_dump_fopen.restype = ctypes.c_void_p
    found.pcap_dump_fopen.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found.pcap_set_tstamp_precision.argtypes = [ctypes.c_void_p, ctypes.c_int]
    found.pcap_get_selectable_fd.argtypes = [ctypes.c_void_p]
    return found


class CaptureStream:
    """A capture that libpcap writes into memory.

    Parameters
    ----------
    handle
        The opened interface, activated.
    """

    def __init__(self, handle: object) -> None:
        self._pcap, self._libc = bindings(), _libc()
        self._text, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        self._file = self._libc.open_memstream(ctypes.byref(self._text), ctypes.byref(self._size))
        self._dumper = ctypes.cast(
            library().pcap_dump_fopen(handle, self._file), ctypes.POINTER(self._pcap.pcap_dumper_t)
        )
        self._write = ctypes.cast(self._pcap.pcap_dump, self._pcap.pcap_handler)
        self._handle = handle

    def append(self, n_packets: int) -> int:
        """Write up to so many of the packets that have come; return how many, less than 0 if libpcap failed."""
        user = ctypes.cast(self._dumper, ctypes.POINTER(self._pcap.u_char))
        n_written: int = self._pcap.pcap_dispatch(self._handle, n_packets, self._write, user)
        return n_written

    def take(self) -> bytes:
        """Return what was written since the last time: the file's header at first, and whole records."""
        self._libc.fflush(self._file)
        taken = ctypes.string_at(self._text, self._size.value)
        self._libc.fseek(self._file, 0, _FROM_START)
        return taken

    def close(self) -> None:
        """Give the memory back."""
        self._pcap.pcap_dump_close(self._dumper)
        self._libc.free(self._text)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.open_memstream.restype = ctypes.c_void_p
    libc.open_memstream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    libc.fflush.argtypes = [ctypes.c_void_p]
    libc.fseek.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
    libc.free.argtypes = [ctypes.c_void_p]
    return libc
