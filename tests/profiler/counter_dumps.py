"""One small file of every counter format, as its tool writes it, with what must be read of it."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["DIRTY", "DUMPS", "NS", "T0_S", "Dirty", "Dump"]

NS: Final = 10**9
T0_S: Final = 1_700_000_000
"""2023-11-14 22:13:20 UTC."""


class Dump(NamedTuple):
    """A file, and the values of its series in order of time, by direction and metric.

    ``n_readings`` counts every value of a counter or gauge that stands in it, those that cannot be kept too.
    """

    importer: str
    name: str
    content: bytes
    values: dict[tuple[str, str], list[int]]
    times_s: list[float]
    n_readings: int
    is_text: bool = True
    mapping: str | None = None


def _nsys(*, spoilt: bool = False) -> bytes:
    """Return a database like an export of Nsight Systems: three windows of 1 s, and a metric that is no traffic.

    Of a spoilt one, the windows of the last row of traffic have no length.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_NSYS_SCHEMA)
        rows = [
            (i * NS - NS * (not (spoilt and i == 2)), i * NS, 77, 1, 0, metric, value)
            for i, values in enumerate([(1, 8, 5), (2, 9, 5), (4, 11, 5)])
            for metric, value in enumerate(values)
        ]
        database.executemany("INSERT INTO NET_NIC_METRIC VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        database.commit()
        return database.serialize()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    columns = {"t_ns": [(T0_S + i) * NS for i in range(3)], "eth0.rx_bytes": [1, 2, 4], "eth0.tx_bytes": [8, 9, 11]}
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _answer() -> bytes:
    results = [
        {
            "metric": {"__name__": f"node_network_{way}_bytes_total", "device": "eth0", "instance": "n1:9100"},
            "values": [[T0_S + i, str(value)] for i, value in enumerate(values)],
        }
        for way, values in (("receive", [1, 2, 4]), ("transmit", [8, 9, 11]))
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": results}}).encode()


def _sadf() -> bytes:
    records = [
        {
            "timestamp": {"date": "2023-11-14", "time": f"22:13:{20 + i}", "utc": 1, "interval": 1},
            "network": {"net-dev": [{"iface": "eth0", "rxkB": float(received), "txkB": float(sent)}]},
        }
        for i, (received, sent) in enumerate([(1, 8), (2, 9), (4, 11)])
    ]
    host = {"nodename": "n1", "sysname": "Linux", "statistics": records}
    return json.dumps({"sysstat": {"hosts": [host]}}).encode()


_NSYS_SCHEMA: Final = """
CREATE TABLE NET_NIC_METRIC (start INTEGER NOT NULL, "end" INTEGER NOT NULL, globalId INTEGER NOT NULL,
    portId INTEGER NOT NULL, metricsListId INTEGER NOT NULL, metricsIdx INTEGER NOT NULL, value INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NETWORK_METRICS (metricsListId INTEGER NOT NULL, metricsIdx INTEGER NOT NULL,
    name TEXT NOT NULL, description TEXT NOT NULL, unit TEXT NOT NULL);
CREATE TABLE NIC_ID_MAP (nicId INTEGER NOT NULL, globalId INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_NIC_INFO (GUID INTEGER, stateName TEXT, nicId INTEGER, name TEXT, deviceId INTEGER,
    vendorId INTEGER, linkLayer INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO NIC_ID_MAP VALUES (0, 77);
INSERT INTO TARGET_INFO_NIC_INFO VALUES (1, 'x', 0, 'mlx5_0', 1, 1, 2);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 0, 'IB: Bytes received', '', 'bytes/ms');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 1, 'IB: Bytes sent', '', 'bytes/ms');
INSERT INTO TARGET_INFO_NETWORK_METRICS VALUES (0, 2, 'IB: Send waits', '', 'ticks/ms');
"""
_PLAIN: Final = b"t_s,eth0.rx_bytes,eth0.tx_bytes\n1700000000,1,8\n1700000001,2,9\n1700000002,4,11\n"
_SWITCH: Final = (
    b"DeviceName,PortName,SaveTimeUTC,InOctets,OutOctets\n"
    b"n1,eth0,1700000000000,1,8\nn1,eth0,1700000001000,2,9\nn1,eth0,1700000002000,4,11\n"
)
_PAGE: Final = "".join(
    f"# TYPE node_network_{way}_bytes_total counter\n"
    + "".join(
        f'node_network_{way}_bytes_total{{device="eth0"}} {value} {(T0_S + i) * 1000}\n'
        for i, value in enumerate(values)
    )
    for way, values in (("receive", [1, 2, 4]), ("transmit", [8, 9, 11]))
).encode()
_PERFQUERY: Final = "".join(
    f"{T0_S + i}\n# Port extended counters: Lid 7 port 1 (CapMask: 0x5A00 CapMask2: 0x0000002)\n"
    "PortSelect:......................1\nCounterSelect:...................0x0000\n"
    f"PortXmitData:....................{sent}\nPortRcvData:.....................{received}\n"
    for i, (received, sent) in enumerate([(1, 8), (2, 9), (4, 11)])
).encode()
_ETHTOOL: Final = "".join(
    f"{T0_S + i}\n# ethtool -S eth0\nNIC statistics:\n     rx_bytes: {received}\n     tx_bytes: {sent}\n"
    for i, (received, sent) in enumerate([(1, 8), (2, 9), (4, 11)])
).encode()
_COLLECTL: Final = b"""################################################################################
# Collectl:   V4.3.20-1  HiRes: 1  Options: -sN -P -f /tmp/c
# Host:       n1  DaemonOpts:
# Date:       20231114-221320  Secs: 1700000000 TZ: +0000
# SubSys:     N Options:  Interval: 1 NumCPUs: 4  NumBud: 0 Flags: i
################################################################################
#Date Time [NET:eth0]RxPkt [NET:eth0]TxPkt [NET:eth0]RxKB [NET:eth0]TxKB
20231114 22:13:20 1 1 1 8
20231114 22:13:21 1 1 2 9
20231114 22:13:22 1 1 4 11
"""
_LEXPR: Final = "".join(
    f"sample.time {T0_S + i}.000\ncputotals.num 4\ncputotals.user 1\n"
    f"netinfo.kbin.eth0 {received}\nnetinfo.kbout.eth0 {sent}\n"
    for i, (received, sent) in enumerate([(1, 8), (2, 9), (4, 11)])
).encode()
_TTAR: Final = (
    "# Archive created by ttar\nDirectory: sys/class/net/eth0\nMode: 755\n"
    + "".join(
        f"# ttar - - - - - -\nPath: sys/class/net/eth0/{name}\nLines: 1\n{text}\nMode: 644\n"
        for name, text in (
            ("operstate", "up"),
            ("type", "1"),
            ("statistics/rx_bytes", "1"),
            ("statistics/tx_bytes", "8"),
        )
    )
).encode()

_BYTES: Final = {("receive", "bytes"): [1, 2, 4], ("transmit", "bytes"): [8, 9, 11]}
_KIB: Final = {(way, "bytes_per_s"): [1024 * value for value in values] for (way, _), values in _BYTES.items()}
_PER_MS: Final = {(way, "bytes_per_s"): [1000 * value for value in values] for (way, _), values in _BYTES.items()}
_WORDS: Final = {key: [4 * value for value in values] for key, values in _BYTES.items()}
_TIMES: Final = [float(T0_S + i) for i in range(3)]

DUMPS: Final = (
    Dump("delimited", "n1.csv", _PLAIN, _BYTES, _TIMES, 6),
    Dump("delimited", "leaf.csv", _SWITCH, _BYTES, _TIMES, 6, mapping="zhejianglab"),
    Dump("delimited", "n1.parquet", _parquet(), _BYTES, _TIMES, 6, is_text=False),
    Dump("prometheus", "answer.json", _answer(), _BYTES, _TIMES, 6),
    Dump("metrics", "n1.prom", _PAGE, _BYTES, _TIMES, 6),
    Dump("perfquery", "n1.out", _PERFQUERY, _WORDS, _TIMES, 6),
    Dump("ethtool", "n1.txt", _ETHTOOL, _BYTES, _TIMES, 6),
    Dump("collectl", "n1.tab", _COLLECTL, _KIB, _TIMES, 6),
    Dump("collectl", "n1.lexpr", _LEXPR, _KIB, _TIMES, 12),
    Dump("sadf", "n1.json", _sadf(), _KIB, _TIMES, 6),
    Dump("nsys", "n1.sqlite", _nsys(), _PER_MS, _TIMES, 9, is_text=False),
    Dump("sysfs", f"n1-{T0_S}.ttar", _TTAR, {key: values[:1] for key, values in _BYTES.items()}, _TIMES[:1], 2),
)


class Dirty(NamedTuple):
    """A file with every fault that its importer knows, and how many readings each of them costs."""

    importer: str
    name: str
    content: bytes
    n_kept: int
    left_out: dict[str, int]
    is_faulty: bool = True
    mapping: str | None = None


_NO_VALUE: Final = "no value: NaN, infinite, negative or too large"
_NO_TRAFFIC: Final = "metrics that count no traffic of a port"
_OTHERS: Final = "another metric counts the same"
_RECEIVED: Final = 'node_network_receive_bytes_total{device="eth0"}'


def _results(*results: tuple[dict[str, str], dict[str, object]]) -> bytes:
    listed = [{"metric": labels, **rows} for labels, rows in results]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": listed}}).encode()


def _port(name: str = "node_network_receive_bytes_total", **labels: str) -> dict[str, str]:
    return {"__name__": name, "device": "eth0", "instance": "n1:9100"} | labels


_DIRTY_ANSWER: Final = _results(
    (_port(), {"values": [[T0_S, "1"], [T0_S, "1"], [T0_S + 1, "NaN"], [T0_S + 2, "-5"], [T0_S + 3]]}),
    (_port(replica="b"), {"values": [[T0_S, "7"], [T0_S + 1, "8"]]}),
    (_port("up"), {"values": [[T0_S, "1"], [T0_S + 1, "1"]]}),
    ({"device": "eth0"}, {"values": [[T0_S, "0.5"]]}),
    (_port("node_network_transmit_bytes_total"), {"values": [[1e30, "5"], [T0_S, "6"]]}),
)
_DIRTY_PAGE: Final = f"""# HELP node_network_receive_bytes_total about it
{_RECEIVED} 1 {T0_S}000
{_RECEIVED} 1 {T0_S}000
{_RECEIVED} NaN {T0_S + 1}000
{_RECEIVED} 3 99999999999999999999999
{_RECEIVED.replace("}", ',x="y"}')} 4 {T0_S + 2}000
node_network_receive_bytes_total{{device="eth0" 5 {T0_S + 3}000
node_load1 0.5
node_load5 0.5
""".encode()
_DIRTY_PERFQUERY: Final = b"""1700000000
# Port extended counters: Lid 7 port 1 (CapMask: 0x5A00)
PortXmitData:....................N/A
PortRcvData:.....................2
PortXmitWait:....................3
1700000000
# Port extended counters: Lid 7 port 1 (CapMask: 0x5A00)
PortRcvData:.....................2
1700000001
# Port counters: Lid 7 port 1 (CapMask: 0x5A00)
PortRcvData:.....................2
PortXmitData:....................2
# PortXmitDataSL counters: Lid 7 port 1
XmtDataSL0:......................9
"""
_DIRTY_ETHTOOL: Final = b"""1700000000
NIC statistics:
     rx_bytes: 1
     tx_bytes: -1
     rx_errors: 0
1700000000
NIC statistics:
     rx_bytes: 1
"""
_DIRTY_COLLECTL: Final = _COLLECTL + (
    b"20231114 22:13:22 1 1 4 11\n20231114 22:13:23 1 1 nan -1\n20231114 22:13:24 1\n20231114 21:13:25 1 1 5 12\n"
)
_DIRTY_SADF: Final = json.dumps(
    {
        "sysstat": {
            "hosts": [
                {
                    "nodename": "n1",
                    "statistics": [
                        {"timestamp": {"date": "2023-11-14", "time": "22:13:20", "tz": zone}, "network": network}
                        for zone, network in (
                            ("UTC", {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": None}]}),
                            ("UTC", {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": -2.0}]}),
                            ("CET", {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 3.0}]}),
                            ("UTC", {}),
                        )
                    ],
                }
            ]
        }
    }
).encode()
_DIRTY_TABLE: Final = b"""t_s,eth0.rx_bytes,eth0.tx_bytes
1700000000,1,8
1700000000,1,8
1700000001,,9
1700000002,oops,10
never,4,11
1700000003,5
"""
_DIRTY_SWITCH: Final = b"""DeviceName,PortName,SaveTimeUTC,InOctets,OutOctets
n1,eth0,1700000000000,1,8
n1,eth0,1700000000000,2,9
,eth0,1700000001000,4,11
n1,NA,1700000001000,4,11
"""

DIRTY: Final = (
    Dirty(
        "prometheus", "answer.json", _DIRTY_ANSWER, 2,
        {
            "no reading": 1, "the answer to an expression": 1, "time stands there twice": 1, _OTHERS: 2, _NO_VALUE: 2,
            "no time": 1, _NO_TRAFFIC: 2,
        },
    ),
    Dirty(
        "metrics", "n1.prom", _DIRTY_PAGE, 1,
        {"time stands there twice": 1, _NO_VALUE: 1, "no time": 1, _OTHERS: 1, "no metric": 1, _NO_TRAFFIC: 2},
    ),
    Dirty(
        "perfquery", "n1.out", _DIRTY_PERFQUERY, 1,
        {
            "no number": 1, "no traffic": 1, "time stands there twice": 1,
            "another kind of counters of the port": 2,
        },
    ),
    Dirty(
        "ethtool", "n1.txt", _DIRTY_ETHTOOL, 1,
        {"no number": 1, "no traffic": 1, "time stands there twice": 1},
    ),
    Dirty(
        "collectl", "n1.tab", _DIRTY_COLLECTL, 6,
        {
            "a rate that is none": 2, "not a row of its header": 2, "its time stands before that of the row before": 2,
            "time stands there twice": 2,
        },
    ),
    Dirty("sadf", "n1.json", _DIRTY_SADF, 1, {"no rate": 2, "no time": 2, "time stands there twice": 1}),
    Dirty(
        "delimited", "n1.csv", _DIRTY_TABLE, 4,
        {"time stands there twice": 2, "empty": 1, "no number": 1, "no time": 2, "not the cells of the header": 2},
    ),
    Dirty(
        "delimited", "leaf.csv", _DIRTY_SWITCH, 2, {"added to another of its time": 2, "no name": 4},
        is_faulty=False, mapping="zhejianglab",
    ),
    Dirty("nsys", "n1.sqlite", _nsys(spoilt=True), 4, {"no traffic": 3, "no window, value or NIC": 2}, is_faulty=False),
    Dirty("sysfs", f"n1-{T0_S}.ttar", _TTAR.replace(b"\n8\n", b"\nN/A\n"), 1, {"cannot be read": 1}),
)  # fmt: skip
