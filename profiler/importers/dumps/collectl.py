"""Importer of what ``collectl -P`` prints: rates of interfaces and InfiniBand ports, an interval a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.lines import lines_of
from profiler.store.series import Series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["COLLECTL"]

_KIB_BYTES: Final = 1024
_COLUMN: Final = re.compile(r"\[(?P<kind>NET|IB)(?::(?P<name>[^\]]+))?\](?P<way>Rx|Tx|In|Out)KB(?:Tot)?")
_LAYERS: Final = {"NET": "netdev", "IB": "rdma_vport"}
_ZONE: Final = re.compile(r"TZ:\s*([+-])(\d\d)(\d\d)")
_OPTIONS: Final = re.compile(r"Options:\s*(\S*?)\s+Interval:\s*([\d.]+)")
_HOST: Final = re.compile(r"Host:\s*(\S+)")
_ALL: Final = "all"
"""Device of columns that add up all interfaces."""


@dataclass(slots=True)
class _Header:
    """What the lines before the first row tell."""

    host: str = ""
    zone: timezone | None = None
    per_s: float = 1.0
    separator: str | None = None
    columns: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take a line that begins with ``#``."""
        if line.startswith(("#Date", "#UTC")):
            self.separator = line[5] if line.startswith("#Date") and line[5:6] not in (" ", "") else None
            self.columns = line[1:].split(self.separator)
            return
        if found := _HOST.search(line):
            self.host = found[1]
        if found := _ZONE.search(line):
            sign = -1 if found[1] == "-" else 1
            self.zone = timezone(sign * timedelta(hours=int(found[2]), minutes=int(found[3])))
        if (found := _OPTIONS.search(line)) and "n" in found[1] and float(found[2]) > 0:
            self.per_s = 1 / float(found[2])  # with -on, collectl prints what an interval moved


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return any(line.startswith((b"#Date", b"#UTC")) and b"[" in line for line in head.splitlines())


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings, header = Coverage(), Readings(sink), _Header()
    wrong: list[str] = []
    series: dict[int, Series] = {}
    for i_line, line in enumerate(_texts(source, coverage), start=1):
        if line.startswith("#"):
            header.read(line)
            host = options.host or header.host or source.default_host
            series = _series(header.columns, host=host, source=source.name)
            continue
        if not line.strip():
            continue
        coverage.n_rows += 1
        cells = line.split(header.separator)
        try:
            t_ns = _time_ns(cells, header)
            values = {i: float(cells[i]) * _KIB_BYTES * header.per_s for i in series}
        except (ValueError, IndexError, OverflowError):
            wrong.append(f"line {i_line}: {line[:60]!r}")
            continue
        coverage.saw_at(t_ns)
        for i, value in values.items():
            if 0 <= value < 1 << 62:  # nor is NaN
                readings.add(series[i], t_ns=t_ns, value=round(value))
    readings.close(coverage)
    _tell(source, coverage, header, wrong=wrong)
    return coverage


def _tell(source: Input, coverage: Coverage, header: _Header, *, wrong: list[str]) -> None:
    if wrong:
        coverage.problems.append(
            f"{source.name}: {wrong[0]}: not a row of its header; lines like it ({len(wrong)}) were left out; correct "
            "them"
        )
    if header.zone is None and header.columns[:1] != ["UTC"]:
        coverage.skip("time zone", "no TZ in the header; times were taken for UTC")
    others = [column for column in header.columns[2:] if not _COLUMN.fullmatch(column)]
    if others:
        coverage.skip(f"columns ({len(others)})", "no traffic of a port, such as " + others[0])
    if not coverage.n_samples:
        nothing = f"{source.name}: no columns of traffic; run collectl with -sN or -sX and -P"
        raise BadInput("\n".join(coverage.problems) or nothing)


def _texts(source: Input, coverage: Coverage) -> Iterator[str]:
    for line in lines_of(source, coverage.problems):
        yield line.decode("utf-8", errors="replace")


def _time_ns(cells: list[str], header: _Header) -> int:
    if header.columns[:1] == ["UTC"]:
        return round(float(cells[0]) * NS_PER_S)
    day, time = cells[0].replace("/", "").replace("-", ""), cells[1]
    stamp = f"{day[:4]}-{day[4:6]}-{day[6:]}T{time}"
    when = datetime.fromisoformat(stamp).replace(tzinfo=header.zone or UTC)
    return round(when.timestamp() * 1000) * (NS_PER_S // 1000)


def _series(columns: list[str], *, host: str, source: str) -> dict[int, Series]:
    """Return the series of the columns that are traffic, by their place."""
    found = ((i, column, _COLUMN.fullmatch(column)) for i, column in enumerate(columns))
    return {
        i: Series(
            host=host,
            device=(match["name"] or _ALL).partition(":")[0],
            port=(match["name"] or "").partition(":")[2],
            direction=_direction(match["way"]),
            unit="bytes/s",
            kind="gauge",
            layer=_LAYERS[match["kind"]],
            raw_name=column,
            raw_scale=float(_KIB_BYTES),
            width_bits=None,
            source=source,
        )
        for i, column, match in found
        if match is not None
    }


def _direction(way: str) -> Literal["receive", "transmit"]:
    return "receive" if way in ("Rx", "In") else "transmit"


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host}


COLLECTL: Final = Importer(
    name="collectl",
    version=1,
    reads="output of collectl -P",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
