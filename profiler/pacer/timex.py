"""``adjtimex`` of Linux by ctypes: the standard library has no other way to it."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final, NamedTuple

__all__ = ["Timex", "read_timex"]

_READ_ONLY: Final = 0
_PADDING_BYTES: Final = 44
"""The kernel keeps eleven ``int`` free at the end of the structure."""


class Timex(NamedTuple):
    """Errors in µs, and the ``STA_`` bits of ``<sys/timex.h>``."""

    estimated_us: int
    maximum_us: int
    status: int


class _Timex(ctypes.Structure):
    # <sys/timex.h>: https://man7.org/linux/man-pages/man2/adjtimex.2.html
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time_s", ctypes.c_long),
        ("time_us", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("pps", ctypes.c_long * 8),
        ("tai", ctypes.c_int),
        ("padding", ctypes.c_char * _PADDING_BYTES),
    )


def read_timex() -> Timex:
    """Return what the kernel knows of the wall clock.

    Raises
    ------
    OSError
        If this is not Linux, or the call is refused.
    """
    if not sys.platform.startswith("linux"):
        raise OSError(f"adjtimex is a call of Linux, this is {sys.platform}")
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "adjtimex"):
        raise OSError("this C library has no adjtimex")
    timex = _Timex(modes=_READ_ONLY)
    if libc.adjtimex(ctypes.byref(timex)) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"adjtimex: {os.strerror(code)}")
    return Timex(estimated_us=timex.esterror, maximum_us=timex.maxerror, status=timex.status)
