"""Importer of what ``ethtool -S`` prints: a driver's counters of one interface, one instant or many.

Names are the driver's own; `profiler.collectors.ethtool` tells what they count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from profiler.collectors.ethtool import Statistic, known_statistic
from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import Instants, host_of
from profiler.importers.lines import Lines
from profiler.importers.timestamps import TimeLines
from profiler.store.series import Series

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["ETHTOOL"]

_BEGIN: Final = b"NIC statistics:"
_COMMAND: Final = re.compile(r"#?\s*ethtool\s+-S\s+(\S+)")
_COUNTER: Final = re.compile(r"\s+(?P<name>\S[^:]*):\s*(?P<value>-?\d+)\s*$")
_LARGEST: Final = 1 << 63
_MOST_DIGITS: Final = 20
"""Of a count of 64 bits; Python refuses numbers of thousands of digits."""
_SHOWN: Final = 60
"""Characters of a line that a message shows."""


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return any(line.strip() == _BEGIN for line in head.splitlines()[:50])


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings, instants = Coverage(), Readings(sink), Instants(source, options)
    host, device = host_of(source, options), ""
    times = TimeLines()
    lines = Lines(source, coverage.problems)
    others: set[str] = set()
    wrong: list[str] = []
    strange: list[str] = []
    for i_line, raw in enumerate(lines, start=1):
        line = raw.decode("utf-8", errors="replace")
        if command := _COMMAND.match(line):
            device = command[1]
        elif counter := _COUNTER.fullmatch(line):
            known = known_statistic(counter["name"])
            value = int(counter["value"]) if len(counter["value"]) <= _MOST_DIGITS else _LARGEST
            coverage.n_read += 1
            if known is None:
                others.add(counter["name"])
                coverage.leave_out("no traffic", 1)
            elif not 0 <= value < _LARGEST:
                wrong.append(f"line {i_line}: {line.strip()[:_SHOWN]!r}")
                coverage.leave_out("no number", 1)
            else:
                series = _series(counter["name"], known, host=host, device=device or host, source=source.name)
                t_ns = instants.t_ns(times.t_s, of=f"{device} {counter['name']}")
                coverage.saw_at(t_ns)
                coverage.n_rows += 1
                readings.add(series, t_ns=t_ns, value=value)
        elif not times.take(line) and line.strip() and raw.strip() != _BEGIN:
            strange.append(f"line {i_line}: {line.strip()[:_SHOWN]!r}")
    readings.close(coverage, cut_in=source.name if lines.is_cut else "")
    instants.tell(coverage)
    times.tell(coverage)
    if strange:
        coverage.skip(f"lines ({len(strange)})", f"neither a counter nor a time, such as {strange[0]}")
    _tell(source, coverage, others=others, wrong=wrong)
    return coverage


def _tell(source: Input, coverage: Coverage, *, others: set[str], wrong: list[str]) -> None:
    """Say what was passed over and what was wrong; a `BadInput` if nothing was kept."""
    if wrong:
        coverage.problems.append(f"{source.name}: {wrong[0]}: no count; lines like it ({len(wrong)}) were left out")
    if others:
        coverage.skip(f"counters ({len(others)})", f"no traffic of the whole interface, such as {min(others)}")
    if not coverage.n_samples:
        nothing = f"{source.name}: none of rx_bytes, tx_bytes, rx_bytes_phy, tx_bytes_phy; give all of ethtool -S"
        raise BadInput("\n".join(coverage.problems) or nothing)


def _series(name: str, known: Statistic, *, host: str, device: str, source: str) -> Series:
    return Series(
        host=host,
        device=device,
        direction=known.direction,
        metric=known.metric,
        unit=known.metric,
        layer=known.layer,
        raw_name=name,
        source=source,
    )


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "time_from": options.time_from}


ETHTOOL: Final = Importer(
    name="ethtool",
    version=3,
    reads="output of ethtool -S",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
