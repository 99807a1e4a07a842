"""Importer of what ``sadf -j -- -n DEV`` prints: rates of interfaces, averaged over the intervals of ``sar``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.errors import BadInput
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
_HOST: Final = "sysstat.hosts.item.nodename"
_KIB_BYTES: Final = 1024
"""sysstat's kB, as its manual says."""
_DIRECTIONS: Final[tuple[tuple[str, Literal["receive", "transmit"]], ...]] = (("rxkB", "receive"), ("txkB", "transmit"))


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return head.lstrip()[:1] == b"{" and b'"sysstat"' in head


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage, readings = Coverage(), Readings(sink)
    host = options.host or first_text(source, _HOST) or source.default_host
    wrong: list[str] = []
    n_without = 0
    for i_record, record in enumerate(objects_in(source, _RECORDS, problems=coverage.problems), start=1):
        coverage.n_rows += 1
        t_ns = _time_ns(record)
        if t_ns is None:
            wrong.append(f"record {i_record}: {str(record.get('timestamp'))[:80]}")
            continue
        coverage.saw_at(t_ns)
        found = list(_rates(record))
        n_without += not found
        for interface, direction, rate_bytes in found:
            series = _series(interface, direction, host=host, source=source.name)
            readings.add(series, t_ns=t_ns, value=round(rate_bytes))
    readings.close(coverage)
    _tell(source, coverage, wrong=wrong, n_without=n_without)
    return coverage


def _tell(source: Input, coverage: Coverage, *, wrong: list[str], n_without: int) -> None:
    if wrong:
        coverage.problems.append(
            f"{source.name}: {wrong[0]}: no time in UTC; records like it ({len(wrong)}) were left out; "
            "run sadf without -t and -T"
        )
    if n_without:
        coverage.skip(f"records ({n_without})", "no rates of interfaces: run sadf -j -- -n DEV")
    if not coverage.n_samples:
        nothing = f"{source.name}: no rates of interfaces; run sadf -j -- -n DEV"
        raise BadInput("\n".join(coverage.problems) or nothing)


def _time_ns(record: Mapping[str, Any]) -> int | None:
    """Return the end of a record's interval, UTC epoch ns; None if it is missing, or local."""
    stamp = record.get("timestamp")
    if not isinstance(stamp, Mapping) or stamp.get("utc") != 1:
        return None
    try:
        when = datetime.fromisoformat(f"{stamp.get('date')}T{stamp.get('time')}+00:00")
    except ValueError:
        return None
    return round(when.timestamp()) * NS_PER_S


def _rates(record: Mapping[str, Any]) -> Iterator[tuple[str, Literal["receive", "transmit"], float]]:
    """Yield interface, direction and bytes/s."""
    network = record.get("network")
    interfaces = network.get("net-dev") if isinstance(network, Mapping) else None
    for interface in interfaces if isinstance(interfaces, list) else ():
        name = interface.get("iface") if isinstance(interface, Mapping) else None
        if not isinstance(name, str):
            continue
        for key, direction in _DIRECTIONS:
            rate = interface.get(key)
            if isinstance(rate, int | float) and math.isfinite(rate) and rate >= 0:
                yield name, direction, rate * _KIB_BYTES


def _series(interface: str, direction: Literal["receive", "transmit"], *, host: str, source: str) -> Series:
    return Series(
        host=host,
        device=interface,
        direction=direction,
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
    version=1,
    reads="output of sadf -j",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
