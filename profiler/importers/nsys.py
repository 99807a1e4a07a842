"""Importer of Nsight Systems' SQLite exports: the NIC metrics that ``nsys profile --nic-metrics`` samples.

Values are rates over each window, in the unit that the export itself gives [1]_.

References
----------
.. [1] NVIDIA, Nsight Systems User Guide, "SQLite Schema Reference": NET_NIC_METRIC, TARGET_INFO_NETWORK_METRICS.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.errors import BadInput
from profiler.importers.clocks import LAST_NS, is_storable
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage
from profiler.importers.feed import Feed, tell_feeds
from profiler.importers.importer import Importer, Options
from profiler.store.series import Series

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["NSYS"]

_TRAFFIC: Final = re.compile(r"(?:(?P<kind>\w+): )?Bytes (?P<way>sent|received)")
_LAYERS: Final = {"IB": "rdma_vport", "RoCE": "rdma_vport", "RDMA": "rdma_vport"}
"""Others, such as Eth and IPoIB, are traffic that the kernel sees."""
_PER_S: Final = {"bytes/ms": 1000.0, "bytes/s": 1.0, "bytes/sec": 1.0, "bytes/us": 1e6}
_MOST_PER_S: Final = float(1 << 62)
"""Bytes; more than any NIC moves in a second, and less than int64 holds."""
_BLOCK_ROWS: Final = 65_536
_NO_WINDOW: Final = "no window, value or NIC"
_METRICS: Final = """
    SELECT metric.metricsListId, metric.metricsIdx, metric.name, metric.unit
    FROM TARGET_INFO_NETWORK_METRICS AS metric
    ORDER BY metric.name
"""
_PORTS: Final = """
    SELECT DISTINCT sample.globalId, sample.portId, nic.name
    FROM NET_NIC_METRIC AS sample
    JOIN NIC_ID_MAP AS pair ON pair.globalId = sample.globalId
    JOIN TARGET_INFO_NIC_INFO AS nic ON nic.nicId = pair.nicId
    ORDER BY nic.name, sample.portId
"""
_SAMPLES: Final = """
    SELECT "end", value
    FROM NET_NIC_METRIC
    WHERE
        globalId = ? AND portId = ? AND metricsListId = ? AND metricsIdx = ?
        AND typeof("end") = 'integer' AND "end" > start AND "end" BETWEEN ? AND ?
        AND typeof(value) IN ('integer', 'real') AND value BETWEEN 0 AND ?
    ORDER BY "end"
"""
_N_SAMPLES: Final = "SELECT count(*) FROM NET_NIC_METRIC WHERE metricsListId = ? AND metricsIdx = ?"
_N_ALL: Final = "SELECT count(*) FROM NET_NIC_METRIC"
_START: Final = "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"
_HOST: Final = "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return kind_of(head) == "SQLite database"


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    try:
        with _opened(source) as database:
            _read_database(database, source, sink, coverage=coverage, host=options.host)
    except sqlite3.Error as error:
        coverage.problems.append(
            f"{source.name}: {error}; an export of nsys with NIC metrics is needed: nsys profile --nic-metrics=true, "
            "then nsys export --type sqlite"
        )
    if not coverage.n_samples:
        nothing = f"{source.name}: no NIC metrics; run nsys profile --nic-metrics=true, then nsys export --type sqlite"
        raise BadInput("\n".join(coverage.problems) or nothing)
    return coverage


@contextmanager
def _opened(source: Input) -> Iterator[sqlite3.Connection]:
    """Open a database read-only, from a copy if it is compressed."""
    with (
        source.plain() as path,
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database,
    ):
        yield database


def _read_database(
    database: sqlite3.Connection, source: Input, sink: Sink, *, coverage: Coverage, host: str | None
) -> None:
    start_ns = _start_ns(database, source)
    host = host or _host(database) or source.default_host
    ports = database.execute(_PORTS).fetchall()
    (coverage.n_read,) = database.execute(_N_ALL).fetchone()
    n_others = coverage.n_read
    for list_id, index, name, unit in database.execute(_METRICS).fetchall():
        found = _TRAFFIC.fullmatch(str(name))
        if found is None:
            continue
        (n_samples,) = database.execute(_N_SAMPLES, (list_id, index)).fetchone()
        n_others -= n_samples
        if unit not in _PER_S:
            coverage.problems.append(f"{source.name}: metric {name}: unit {unit!r} is not known; left out")
            coverage.leave_out("unit not known", n_samples)
            continue
        n_rows = coverage.n_rows
        for global_id, port, nic in ports:
            limits = (-start_ns, LAST_NS - start_ns, _MOST_PER_S / _PER_S[unit])
            rows = database.execute(_SAMPLES, (global_id, port, list_id, index, *limits))
            series = _series(found, nic=str(nic), port=str(port), host=host, source=source.name)
            _take(rows, series, sink, coverage=coverage, start_ns=start_ns, per_s=_PER_S[unit])
        coverage.leave_out(_NO_WINDOW, n_samples - (coverage.n_rows - n_rows))
    _tell(coverage, n_others=n_others)


def _tell(coverage: Coverage, *, n_others: int) -> None:
    """Say what was passed over."""
    coverage.leave_out("no traffic", n_others)
    if n_others:
        coverage.skip(f"samples ({n_others})", "metrics that count no bytes of a NIC, such as packets and waits")
    if n_without := coverage.left_out[_NO_WINDOW]:
        coverage.skip(f"samples ({n_without})", "no window or value that can be stored, or a NIC that is not named")


def _take(rows: sqlite3.Cursor, series: Series, sink: Sink, *, coverage: Coverage, start_ns: int, per_s: float) -> None:
    feed: Feed | None = None
    while block := rows.fetchmany(_BLOCK_ROWS):
        feed = feed or Feed(series, sink)
        t_ns = np.array([end_ns for end_ns, _ in block], dtype=np.int64) + start_ns
        rates = np.rint(np.array([value for _, value in block], dtype=np.float64) * per_s).astype(np.int64)
        coverage.n_rows += len(block)
        coverage.saw(t_ns)
        feed.write(t_ns, rates)
    if feed is not None:
        feed.close()
        tell_feeds([feed], coverage)


def _start_ns(database: sqlite3.Connection, source: Input) -> int:
    row = database.execute(_START).fetchone()
    if row is None or not isinstance(row[0], int) or not is_storable(row[0]):
        raise BadInput(f"{source.name}: TARGET_INFO_SESSION_START_TIME tells no utcEpochNs; export it again")
    return row[0]


def _host(database: sqlite3.Connection) -> str:
    try:
        row = database.execute(_HOST).fetchone()
    except sqlite3.Error:  # older exports have no such table
        return ""
    return str(row[0]) if row else ""


def _series(found: re.Match[str], *, nic: str, port: str, host: str, source: str) -> Series:
    return Series(
        host=host,
        device=nic,
        port=port,
        direction="transmit" if found["way"] == "sent" else "receive",
        metric="bytes_per_s",
        unit="bytes/s",
        kind="gauge",
        layer=_LAYERS.get(found["kind"] or "", "netdev"),
        raw_name=found[0],
        width_bits=None,
        source=source,
    )


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host}


NSYS: Final = Importer(
    name="nsys",
    version=2,
    reads="SQLite exports of Nsight Systems with NIC metrics",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
)
