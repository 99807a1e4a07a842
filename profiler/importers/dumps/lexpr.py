"""What ``collectl --export lexpr`` prints: a name and a number a line, under the time of each interval.

Rates of traffic are whole KB/s; ``sample.time`` is in s since the epoch, and stands before what it is the time of. No
line names the host [1]_.

References
----------
.. [1] collectl, "Exporting custom output": http://collectl.sourceforge.net/Export.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from profiler.importers.instants import whole_ns
from profiler.store.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiler.importers.coverage import Coverage
    from profiler.importers.feed import Readings

__all__ = ["is_lexpr", "read_lexpr"]

_TIME: Final = re.compile(rb"sample\.time (\d{9,10}(?:\.\d+)?)(?: \d\d:\d\d:\d\d)?", re.ASCII)
_RATE: Final = re.compile(r"(?P<what>netinfo|nettotals|iconnect)\.kb(?P<way>in|out)(?:\.(?P<device>\S+))? (?P<kib>\S+)")
_VALUE: Final = re.compile(r"[\w.:-]+ -?[\w.:+-]+", re.ASCII)
_LAYERS: Final = {"netinfo": "netdev", "nettotals": "netdev", "iconnect": "rdma_vport"}
_KIB_BYTES: Final = 1024
_LARGEST_KIB: Final = 1 << 52
"""Rates are stored as int64 bytes/s."""
_ALL: Final = "all"
"""Device of rates that add up all of them."""


def is_lexpr(head: bytes) -> bool:
    """Return whether a text begins as lexpr's does."""
    return any(_TIME.fullmatch(line.rstrip()) for line in head.splitlines()[:3])


def read_lexpr(lines: Iterable[bytes], readings: Readings, *, coverage: Coverage, host: str, source: str) -> None:
    """Take the rates of a text, and say what was passed over."""
    t_ns: int | None = None
    wrong: list[str] = []
    for i_line, raw in enumerate(lines, start=1):
        if stamp := _TIME.fullmatch(raw.rstrip()):
            t_ns = whole_ns(float(stamp[1]))
            coverage.n_rows += 1
            coverage.saw_at(t_ns)
        elif raw.strip():
            coverage.n_read += 1
            line = raw.decode("utf-8", errors="replace").rstrip()
            rate = _RATE.fullmatch(line)
            if rate is None and _VALUE.fullmatch(line):
                coverage.leave_out("no traffic", 1)
            elif rate is None or t_ns is None or (kib := _number(rate["kib"])) is None:
                coverage.leave_out("no rate", 1)
                wrong.append(f"line {i_line}: {line[:60]!r}")
            else:
                readings.add(_series(rate, host=host, source=source), t_ns=t_ns, value=round(kib * _KIB_BYTES))
    if wrong:
        coverage.problems.append(f"{source}: {wrong[0]}: no rate; lines like it ({len(wrong)}) were left out")
    if n_others := coverage.left_out["no traffic"]:
        coverage.skip(f"values ({n_others})", "no bytes of a port, such as processors and disks")


def _number(text: str) -> float | None:
    try:
        kib = float(text)
    except ValueError:
        return None
    return kib if 0 <= kib < _LARGEST_KIB else None


def _series(rate: re.Match[str], *, host: str, source: str) -> Series:
    return Series(
        host=host,
        device=rate["device"] or _ALL,
        direction="receive" if rate["way"] == "in" else "transmit",
        metric="bytes_per_s",
        unit="bytes/s",
        kind="gauge",
        layer=_LAYERS[rate["what"]],
        raw_name=rate[0].partition(" ")[0],
        raw_scale=float(_KIB_BYTES),
        width_bits=None,
        source=source,
    )
