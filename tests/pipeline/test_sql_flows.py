"""Flows of captures in SQL, of whatever version of Offbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from pipeline.sql import open_lake
from profiler.importers import ingest
from profiler.store import Lake
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from pathlib import Path


def capture_of(proto: int) -> bytes:
    frame = ethernet(ipv4(ports(1, 2, bytes(72)), ("10.0.0.1", "10.0.0.2"), proto=proto), 0x0800)
    return pcap([(1, 0, frame, len(frame))])


def test_flows_that_an_older_version_stored_have_no_payload_and_newer_ones_have(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    for proto in (17, 6):
        (tmp_path / f"{proto}.pcap").write_bytes(capture_of(proto))
        ingest(tmp_path / f"{proto}.pcap", lake=lake)
    old = lake.files("flows")[0]
    table = pq.read_table(old)
    pq.write_table(table.select(table.column_names[: table.column_names.index("payload_bytes")]), old)

    with open_lake(lake.root) as database:
        rows = database.sql("select proto, packets, payload_bytes from flows order by proto desc").to_pylist()

    assert [tuple(row.values()) for row in rows] == [(17, 1, None), (6, 1, 60)]
