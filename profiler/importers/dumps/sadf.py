"""Importer of what ``sadf -j -- -n DEV`` prints: rates of interfaces, averaged over the intervals of ``sar``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.errors import BadInput
from profiler.importers.clocks import is_storable
from profiler.importers.coverage import Coverage
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.objects import first_text, objects_in
from profiler.store.series import Series
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["SADF"]

_RECORDS: Final = "sysstat.hosts.item.statistics.item"
_HOSTS: Final = "sysstat.hosts.item"
_HOST: Final = "sysstat.hosts.item.nodename"
_NAME_KEY: Final = b'"nodename"'
_UTC: Final = ("UTC", "GMT")
"""Names of zones that sysstat 12.7 and later give in place of ``utc``; others, such as CST, name several."""
_KIB_BYTES: Final = 1024
"""sysstat's kB, as its manual says."""
_LARGEST_KIB: Final = 1 << 52
"""Rates are stored as int64 bytes/s."""
_DIRECTIONS: Final[tuple[tuple[str, Literal["receive", "transmit"]], ...]] = (("rxkB", "receive"), ("txkB", "transmit"))


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return head.lstrip()[:1] == b"{" and b'"sysstat"' in head


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings = Coverage(), Readings(sink)
    wrong: list[str] = []
    n_without = 0
    for i_record, (host, record) in enumerate(_records(source, options, coverage), start=1):
        coverage.n_rows += 1
        t_ns = _time_ns(record)
        found = list(_rates(record, coverage))
        n_without += not found
        if t_ns is None:
            coverage.leave_out("no time", len(found))
            wrong.append(f"record {i_record}: {str(record.get('timestamp'))[:80]}")
            continue
        coverage.saw_at(t_ns)
        for interface, direction, rate_bytes in found:
            series = _series(interface, direction, host=host, source=source.name)
            readings.add(series, t_ns=t_ns, value=round(rate_bytes))
    readings.close(coverage)
    _tell(source, coverage, wrong=wrong, n_without=n_without)
    return coverage


def _records(source: Input, options: Options, coverage: Coverage) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each record with its host; where there are several hosts, the records of one are read together."""
    problems = coverage.problems
    if _n_hosts(source) <= 1:
        host = options.host or first_text(source, _HOST) or source.default_host
        yield from ((host, record) for record in objects_in(source, _RECORDS, problems=problems))
        return
    if options.host is not None:
        problems.append(f"{source.name}: several hosts in one file, which name themselves; leave out --host")
    for found in objects_in(source, _HOSTS, problems=problems):
        name, records = found.get("nodename"), found.get("statistics")
        host = name if isinstance(name, str) else source.default_host
        yield from ((host, record) for record in records or () if isinstance(record, Mapping))


def _n_hosts(source: Input) -> int:
    """Return how many hosts a file names, at least; damage is for the reader after this to tell."""
    n_hosts, rest = 0, b""
    try:
        for piece in source.pieces():
            n_hosts += (rest + piece).count(_NAME_KEY)
            rest = piece[1 - len(_NAME_KEY) :]
    except BadInput:
        return n_hosts
    return n_hosts


def _tell(source: Input, coverage: Coverage, *, wrong: list[str], n_without: int) -> None:
    if wrong:
        coverage.problems.append(
            f"{source.name}: {wrong[0]}: no time in UTC; records like it ({len(wrong)}) were left out; "
            "run sadf without -t and -T"
        )
    if n_without:
        coverage.skip(f"records ({n_without})", "no rates of interfaces: run sadf -j -- -n DEV")
    if coverage.left_out["no rate"]:
        coverage.skip(f"rates ({coverage.left_out['no rate']})", "no number that is not negative")
    if not coverage.n_samples:
        nothing = f"{source.name}: no rates of interfaces; run sadf -j -- -n DEV"
        raise BadInput("\n".join(coverage.problems) or nothing)


def _time_ns(record: Mapping[str, Any]) -> int | None:
    """Return the end of a record's interval, UTC epoch ns; None if it is missing, local, or too far to be stored."""
    stamp = record.get("timestamp")
    if not isinstance(stamp, Mapping) or (stamp.get("utc") != 1 and stamp.get("tz") not in _UTC):
        return None
    try:
        when = datetime.fromisoformat(f"{stamp.get('date')}T{stamp.get('time')}+00:00")
    except ValueError:
        return None
    t_ns = round(when.timestamp()) * NS_PER_S
    return t_ns if is_storable(t_ns) else None


def _rates(
    record: Mapping[str, Any], coverage: Coverage
) -> Iterator[tuple[str, Literal["receive", "transmit"], float]]:
    """Yield interface, direction and bytes/s."""
    network = record.get("network")
    interfaces = network.get("net-dev") if isinstance(network, Mapping) else None
    for interface in interfaces if isinstance(interfaces, list) else ():
        name = interface.get("iface") if isinstance(interface, Mapping) else None
        if not isinstance(name, str):
            continue
        for key, direction in _DIRECTIONS:
            rate = interface.get(key)
            coverage.n_read += key in interface
            if isinstance(rate, int | float) and 0 <= rate < _LARGEST_KIB:  # nor is NaN
                yield name, direction, rate * _KIB_BYTES
            else:
                coverage.leave_out("no rate", int(key in interface))


def _series(interface: str, direction: Literal["receive", "transmit"], *, host: str, source: str) -> Series:
    return Series(
        host=host,
        device=interface,
        direction=direction,
        metric="bytes_per_s",
        unit="bytes/s",
        kind="gauge",
        layer="netdev",
        raw_name="rxkB" if direction == "receive" else "txkB",
        raw_scale=float(_KIB_BYTES),
        width_bits=None,
        source=source,
    )


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host}


SADF: Final = Importer(
    name="sadf",
    version=2,
    reads="output of sadf -j",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
