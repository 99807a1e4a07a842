"""SQLite exports of Nsight Systems: rates of NICs in the unit that the export gives."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.errors import BadInput
from profiler.importers import read_counters
from profiler.rates import rate_series

if TYPE_CHECKING:
    from pathlib import Path

T0_NS = 1_700_000_000 * 10**9
MS = 10**6

SCHEMA = """
CREATE TABLE NET_NIC_METRIC (start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalId INTEGER NOT NULL,
    portId INTEGER NOT NULL, metricsListId INTEGER NOT NULL, metricsIdx INTEGER NOT NULL, value INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NETWORK_METRICS (metricsListId INTEGER NOT NULL, metricsIdx INTEGER NOT NULL,
    name TEXT NOT NULL, description TEXT NOT NULL, unit TEXT NOT NULL);
CREATE TABLE NIC_ID_MAP (nicId INTEGER NOT NULL, globalId INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NIC_INFO (GUID INTEGER, stateName TEXT, nicId INTEGER, name TEXT, deviceId INTEGER,
    vendorId INTEGER, linkLayer INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
INSERT INTO NIC_ID_MAP VALUES (0, 77);
INSERT INTO TARGET_INFO_NIC_INFO VALUES (1, 'x', 0, 'mlx5_0', 1, 1, 2);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 0, 'dgx1');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 6, 'IB: Bytes sent', '', '{unit}');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 7, 'Eth: Bytes received', '', '{unit}');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 10, 'IB: Send waits', '', 'ticks/ms');
"""


def export(path: Path, *, unit: str = "bytes/ms", n_windows: int = 100, schema: str = SCHEMA) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(schema.replace("{unit}", unit))
        rows = [
            (i * MS, (i + 1) * MS, 77, 1, 0, metric, value)
            for i in range(n_windows)
            for metric, value in ((6, 1000 + i), (7, 5), (10, 99))
        ]
        database.executemany("INSERT INTO NET_NIC_METRIC VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.commit()
    return path


@pytest.mark.parametrize(("unit", "per_s"), [("bytes/ms", 1000), ("bytes/s", 1)])
def test_rates_are_in_the_unit_of_the_export(tmp_path: Path, unit: str, per_s: int) -> None:
    counters, problems = read_counters(export(tmp_path / "r.sqlite", unit=unit))

    assert problems == []
    found = {(s.host, s.device, s.port, s.direction, s.layer): (t, v) for s, t, v, _ in counters}
    assert sorted(found) == [
        ("dgx1", "mlx5_0", "1", "receive", "netdev"),
        ("dgx1", "mlx5_0", "1", "transmit", "rdma_vport"),
    ]
    t_ns, value = found["dgx1", "mlx5_0", "1", "transmit", "rdma_vport"]
    assert value.tolist() == [(1000 + i) * per_s for i in range(100)]
    assert t_ns.tolist() == [T0_NS + (i + 1) * MS for i in range(100)]


def test_bytes_of_windows_add_up(tmp_path: Path) -> None:
    counters, _ = read_counters(export(tmp_path / "r.sqlite"))
    series, t_ns, value, _ = next(row for row in counters if row[0].direction == "transmit")

    rate = rate_series(series, t_ns=t_ns, value=value)

    np.testing.assert_allclose(rate.delta_bytes, 1000 + np.arange(1, 100), rtol=1e-12)


def test_a_compressed_export_is_read_too(tmp_path: Path) -> None:
    packed = tmp_path / "r.sqlite.gz"
    packed.write_bytes(gzip.compress(export(tmp_path / "r.sqlite").read_bytes()))

    assert len(read_counters(packed)[0]) == 2


def test_a_unit_that_is_not_known_is_left_out_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="unit 'furlongs' is not known"):
        read_counters(export(tmp_path / "r.sqlite", unit="furlongs"))


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (x)")

    with pytest.raises(BadInput, match="nic-metrics"):
        read_counters(path)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = export(tmp_path / "r.sqlite", n_windows=5000)
    raw = bytearray(path.read_bytes())
    raw[100:4000] = b"\xff" * 3900
    path.write_bytes(raw)

    with pytest.raises(BadInput, match=r"r\.sqlite"):
        read_counters(path)
