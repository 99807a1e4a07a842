"""Every unit conversion, each with its source.

Rates are bits per second, volumes bytes, stored times integer nanoseconds since the Unix epoch (UTC), computed
times float64 seconds.
"""

from __future__ import annotations

import math
import re
from typing import Final

from profiler.errors import UsageError

__all__ = [
    "BITS_PER_BYTE",
    "IB_WORD_BYTES",
    "NS_PER_S",
    "format_bytes",
    "format_count",
    "format_duration",
    "format_rate",
    "parse_duration_s",
    "parse_rate_bps",
]

NS_PER_S: Final = 1_000_000_000
BITS_PER_BYTE: Final = 8

IB_WORD_BYTES: Final = 4
"""Bytes in one unit of ``port_xmit_data`` / ``port_rcv_data``, whatever the lane width.

InfiniBand Architecture Specification 1.2.1, section 16.1.3.5 (PortCounters): "total number of data octets, divided
by 4"; Linux ``Documentation/ABI/stable/sysfs-class-infiniband``.
"""

_LONGEST_NS: Final = 2**63
_RATE_UNITS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_DURATION_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
_SHOWN_DURATIONS: Final = (
    (172_800.0, 86_400.0, "d"),
    (7200.0, 3600.0, "h"),
    (120.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
)
"""From how many seconds on a unit is shown, how long it is, and its name."""

_NUMBER: Final = r"(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)"
_RATE: Final = re.compile(rf"{_NUMBER}\s*(?P<prefix>[kKmMgGtT]?)(?P<unit>bps|bit/s|bit|b/s|B/s|Bps|)")
_DURATION: Final = re.compile(rf"{_NUMBER}\s*(?P<unit>ns|us|µs|ms|s|min|m|h)")


def parse_rate_bps(text: str) -> float:
    """Read a rate with its unit; a bare number is bits per second.

    Raises
    ------
    UsageError
        If the text is not a positive rate.

    Examples
    --------
    >>> parse_rate_bps("50Gbps"), parse_rate_bps("400mbit"), parse_rate_bps("1 MB/s")
    (50000000000.0, 400000000.0, 8000000.0)
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"rate {text!r}: expected a number with a unit, such as 50Gbps, 400Mbit/s or 1GB/s")
    scale = _RATE_UNITS[match["prefix"].lower()] * (BITS_PER_BYTE if match["unit"].startswith("B") else 1)
    rate_bps = float(match["number"]) * scale
    if not 0 < rate_bps < float("inf"):
        raise UsageError(f"rate {text!r}: must be positive and finite")
    return rate_bps


def parse_duration_s(text: str) -> float:
    """Read a duration with its unit, which must be given.

    Raises
    ------
    UsageError
        If the text is not a positive duration.

    Examples
    --------
    >>> parse_duration_s("255ms"), parse_duration_s("2 min")
    (0.255, 120.0)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"duration {text!r}: expected a number with a unit, such as 255ms, 20s or 5min")
    duration_s = float(match["number"]) * _DURATION_UNITS[match["unit"]]
    if not 0 < duration_s < float("inf"):
        raise UsageError(f"duration {text!r}: must be positive and finite")
    if duration_s * NS_PER_S >= _LONGEST_NS:
        raise UsageError(f"duration {text!r}: longer than the 292 years that a count of nanoseconds holds; take less")
    return duration_s


def format_rate(rate_bps: float | None) -> str:
    """Write a rate for people; one that is not known (None, NaN) as a dash.

    Examples
    --------
    >>> format_rate(400e6), format_rate(None)
    ('400 Mbit/s', '-')
    """
    if rate_bps is None or math.isnan(rate_bps):
        return "-"
    for scale, unit in ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(rate_bps) >= scale:
            return f"{rate_bps / scale:.4g} {unit}"
    return f"{rate_bps:.4g} bit/s"


def format_duration(duration_s: float | None) -> str:
    """Write a duration for people.

    Examples
    --------
    >>> format_duration(0.2551), format_duration(25.63), format_duration(9000.0), format_duration(None)
    ('255.1 ms', '25.63 s', '2.5 h', '-')
    """
    if duration_s is None:
        return "-"
    for least_s, unit_s, unit in _SHOWN_DURATIONS:
        if abs(duration_s) >= least_s:
            return f"{duration_s / unit_s:.4g} {unit}"
    return f"{duration_s * 1e6:.4g} µs"


def format_bytes(n_bytes: float) -> str:
    """Write a volume for people.

    Examples
    --------
    >>> format_bytes(5_200_000)
    '5.2 MB'
    """
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(n_bytes) >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{n_bytes:.0f} B"


def format_count(n: int, noun: str) -> str:
    """Write how many there are of something for people; ``noun`` is of one.

    Examples
    --------
    >>> format_count(1, "read"), format_count(3, "read")
    ('1 read', '3 reads')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
