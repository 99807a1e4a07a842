"""Importer of what ``collectl -P`` prints: rates of interfaces and InfiniBand ports, an interval a line.

What ``collectl --export lexpr`` prints is read too; see `profiler.importers.dumps.lexpr`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.errors import BadInput
from profiler.importers.clocks import is_storable
from profiler.importers.coverage import Coverage
from profiler.importers.dumps.lexpr import is_lexpr, read_lexpr
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import host_of
from profiler.importers.lines import Lines
from profiler.store.series import Series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["COLLECTL"]

_KIB_BYTES: Final = 1024
_COLUMN: Final = re.compile(r"\[(?P<kind>NET|IB)(?::(?P<name>[^\]]+))?\](?P<way>Rx|Tx|In|Out)KB(?:Tot)?")
_LAYERS: Final = {"NET": "netdev", "IB": "rdma_vport"}
_ZONE: Final = re.compile(r"TZ:\s*([+-])([01]\d|2[0-3])([0-5]\d)\b")
_OPTIONS: Final = re.compile(r"Options:\s*(\S*?)\s+Interval:\s*(\d+(?:\.\d+)?)")
_HOST: Final = re.compile(r"Host:\s*(\S+)")
_ALL: Final = "all"
"""Device of columns that add up all interfaces."""
_SLACK_NS: Final = 60 * NS_PER_S
"""Clocks that are set step less; local time steps an hour where summer ends."""
_LARGEST: Final = 1 << 62
"""Rates are stored as int64 bytes/s."""
_NO_ROW: Final = "not a row of its header"
_BACK: Final = "its time stands before that of the row before"
_NO_RATE: Final = "a rate that is none"
_REMEDIES: Final = {
    _NO_ROW: "correct them",
    _BACK: "summer time may have ended, or the clock was set: run collectl -P with -oU, which prints UTC",
    _NO_RATE: "run collectl again",
}


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
    return is_lexpr(head) or any(line.startswith((b"#Date", b"#UTC")) and b"[" in line for line in head.splitlines())


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings = Coverage(), Readings(sink)
    lines = Lines(source, coverage.problems)
    if is_lexpr(source.head()):
        read_lexpr(lines, readings, coverage=coverage, host=host_of(source, options), source=source.name)
    else:
        plot = _Plot(source, readings, coverage, host=options.host)
        for i_line, line in enumerate(lines, start=1):
            plot.take(line.decode("utf-8", errors="replace"), i_line=i_line)
        plot.tell()
    readings.close(coverage, cut_in=source.name if lines.is_cut else "")
    if not coverage.n_samples:
        nothing = f"{source.name}: no columns of traffic; run collectl with -sN or -sX and -P"
        raise BadInput("\n".join(coverage.problems) or nothing)
    return coverage


class _Plot:
    """Takes the lines of what ``collectl -P`` prints."""

    def __init__(self, source: Input, readings: Readings, coverage: Coverage, *, host: str | None) -> None:
        self._source = source
        self._readings = readings
        self._coverage = coverage
        self._host = host
        self._header = _Header()
        self._series: dict[int, Series] = {}
        self._last_ns = 0
        self._is_back = False
        self._first: dict[str, str] = {}

    def take(self, line: str, *, i_line: int) -> None:
        """Take a line."""
        if line.startswith("#"):
            self._header.read(line)
            host = self._host or self._header.host or self._source.default_host
            self._series = _series(self._header.columns, host=host, source=self._source.name)
            self._last_ns = 0
        elif line.strip():
            self._coverage.n_rows += 1
            self._coverage.n_read += len(self._series)
            self._take_row(line, place=f"line {i_line}: {line[:60]!r}")

    def tell(self) -> None:
        """Say what was wrong, and what was passed over."""
        coverage, header = self._coverage, self._header
        for why, first in self._first.items():
            n_rates = coverage.left_out[why]
            coverage.problems.append(
                f"{self._source.name}: {first}: {why}; rates like it ({n_rates}) were left out; {_REMEDIES[why]}"
            )
        if header.zone is None and header.columns[:1] != ["UTC"]:
            coverage.skip("time zone", "no TZ in the header; times were taken for UTC")
        others = [column for column in header.columns[2:] if not _COLUMN.fullmatch(column)]
        if others:
            coverage.skip(f"columns ({len(others)})", "no traffic of a port, such as " + others[0])

    def _take_row(self, line: str, *, place: str) -> None:
        cells = line.split(self._header.separator)
        try:
            t_ns = _time_ns(cells, self._header)
            rates = {i: float(cells[i]) * _KIB_BYTES * self._header.per_s for i in self._series}
        except (ValueError, IndexError, OverflowError):
            self._leave_out(_NO_ROW, len(self._series), place=place)
            return
        self._is_back = t_ns <= self._last_ns if self._is_back else t_ns < self._last_ns - _SLACK_NS
        if self._is_back:
            self._leave_out(_BACK, len(rates), place=place)
            return
        self._last_ns = max(t_ns, self._last_ns)
        self._coverage.saw_at(t_ns)
        for i, rate in rates.items():
            if 0 <= rate < _LARGEST:  # nor is NaN
                self._readings.add(self._series[i], t_ns=t_ns, value=round(rate))
            else:
                self._leave_out(_NO_RATE, 1, place=place)

    def _leave_out(self, why: str, n_rates: int, *, place: str) -> None:
        self._coverage.leave_out(why, n_rates)
        self._first.setdefault(why, place)


def _time_ns(cells: list[str], header: _Header) -> int:
    """Return the time of a row, UTC epoch ns; a `ValueError` if it tells none that can be stored."""
    t_ns = _told_ns(cells, header)
    if not is_storable(t_ns):
        raise ValueError(t_ns)
    return t_ns


def _told_ns(cells: list[str], header: _Header) -> int:
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
            metric="bytes_per_s",
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
    version=2,
    reads="output of collectl -P or --export lexpr",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
