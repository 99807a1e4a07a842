"""Lakes of synthetic counters with known arithmetic, for the tests of SQL, flow and commands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.topology import read_cluster
from profiler.schema import arrow_schema
from profiler.store import Lake, Recording, Series

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CLUSTER",
    "GAPPY",
    "PERIOD_NS",
    "T0_NS",
    "add_advice",
    "add_reads",
    "analysed_lake",
    "date_profiles",
    "make_lake",
    "on_off_counter",
    "only",
    "port",
    "two_job_lake",
]

T0_NS = 1_796_000_000_000_000_000
"""When every synthetic counter starts; a whole number of every period used here."""

CLUSTER = """
[[link]]
id = "trunk"
a = "sw1:t1"
b = "sw2:t1"
tier = "spine"
capacity = "400Mbps"
[[link]]
id = "a1"
a = "a1:eth0"
b = "sw1:p1"
tier = "host"
capacity = "800Mbps"
[[link]]
id = "b1"
a = "b1:eth0"
b = "sw1:p2"
tier = "host"
capacity = "800Mbps"
[[link]]
id = "a2"
a = "a2:eth0"
b = "sw2:p1"
tier = "host"
capacity = "800Mbps"
[[link]]
id = "b2"
a = "b2:eth0"
b = "sw2:p2"
tier = "host"
capacity = "800Mbps"
[[job]]
id = "A"
ranks = [{host = "a1", device = "eth0"}, {host = "a2", device = "eth0"}]
[[job]]
id = "B"
ranks = [{host = "b1", device = "eth0"}, {host = "b2", device = "eth0"}]
"""

PERIOD_NS = 250_000_000
"""Period of both jobs."""

Reads = tuple[NDArray[np.int64], NDArray[np.int64]]

GAPPY: Reads = (T0_NS + np.array([0, 1, 2, 9, 10]) * 1_000_000_000, np.arange(5))
"""Reads each second but for one gap of 7 s, by which 6 s are lost."""


def port(host: str, device: str, direction: str, *, layer: str = "netdev", **others: object) -> Series:
    """Return a byte series of a port."""
    return Series(host=host, device=device, direction=direction, layer=layer, **others)  # type: ignore[arg-type]


def on_off_counter(
    *,
    period_ns: int,
    up_ns: int,
    rate_bps: float,
    start_ns: int = 0,
    duration_s: float = 20.0,
    step_ns: int = 1_000_000,
) -> Reads:
    """Return times and cumulative bytes of a job that sends at one rate from ``start_ns`` of each period on."""
    t_ns = np.arange(0, round(duration_s * 1e9) + 1, step_ns, dtype=np.int64)
    cycle, rest_ns = np.divmod(t_ns - start_ns, period_ns)
    up_total_ns = cycle * up_ns + np.minimum(rest_ns, up_ns)
    sent = (up_total_ns - up_total_ns[0]) * (rate_bps / 8e9)
    return t_ns + T0_NS, np.round(sent).astype(np.int64)


def make_lake(root: Path, reads: Mapping[Series, Reads], **columns: object) -> Lake:
    """Write counters into a new lake, as one recording."""
    lake = Lake.open(root, create=True)
    add_reads(lake, reads, **columns)
    return lake


def add_reads(lake: Lake, reads: Mapping[Series, Reads], **columns: object) -> None:
    """Write counters into a lake, as one recording more."""
    key = hashlib.sha256(repr(list(reads)).encode()).hexdigest()
    recording = Recording(recording_id=key, source="synthetic", format="test")
    with lake.writer(recording) as writer:
        for series, (t_ns, value) in reads.items():
            writer.write_samples(writer.add_series(series), t_ns, value, **columns)  # type: ignore[arg-type]


def two_job_lake(
    root: Path,
    *,
    b_start_ns: int = 0,
    up_ns: int = 100_000_000,
    rate_bps: float = 300e6,
    duration_s: float = 20.0,
) -> Lake:
    """Return a lake of the two jobs of `CLUSTER`, each Up for ``up_ns`` of 250 ms, seen at the ports of switch sw1."""
    a, b = (
        on_off_counter(period_ns=250_000_000, up_ns=up_ns, rate_bps=rate_bps, start_ns=start_ns, duration_s=duration_s)
        for start_ns in (0, b_start_ns)
    )
    return make_lake(
        root,
        {
            port("sw1", "p1", "receive"): a,
            port("sw1", "p2", "receive"): b,
            port("sw1", "t1", "transmit"): (a[0], a[1] + b[1]),
        },
    )


def add_advice(root: Path, lake: Lake, *, period_s: float = 0.25, up_s: float = 0.1, rate_bps: float = 300e6) -> None:
    """Put the cluster, exact on/off profiles of every series, and made-up advice into a lake, as an analysis would."""
    cluster_file = root.with_suffix(".toml")
    cluster_file.write_text(CLUSTER)
    series_ids = lake.read("series")["series_id"].to_pylist()
    phases = (("up", 0.0, up_s, rate_bps), ("down", up_s, period_s - up_s, 0.0))
    duty_frac = up_s / period_s
    tables: dict[str, list[dict[str, object]]] = {
        "profiles": [
            {
                "series_id": series_id,
                "status": "periodic",
                "period_s": period_s,
                "confidence": 0.99,
                "mean_bps": rate_bps * duty_frac,
                "peak_bps": rate_bps,
                "duty_frac": duty_frac,
            }
            for series_id in series_ids
        ],
        "phases": [
            {"series_id": series_id, "i_phase": i, "kind": kind, "start_s": start, "width_s": width, "rate_bps": rate}
            for series_id in series_ids
            for i, (kind, start, width, rate) in enumerate(phases)
        ],
        "compat": [
            {"link_id": "trunk", "direction": direction, "capacity_bps": 400e6, "verdict": "paced", "score_best": 1.0}
            for direction in ("forward", "backward")
        ],
        "shifts": [{"job_id": "A", "shift_s": 0.0}, {"job_id": "B", "shift_s": 0.125, "pace_period_s": 0.255}],
    }
    derived = {name: pa.Table.from_pylist(rows, schema=arrow_schema(name)) for name, rows in tables.items()}
    lake.replace_all({**read_cluster(cluster_file).to_tables(), **derived})


def analysed_lake(root: Path, *, b_start_ns: int = 50_000_000) -> Lake:
    """Return the lake of two jobs as after an analysis, B that much after A, and a host whose counter has a gap."""
    lake = two_job_lake(root, b_start_ns=b_start_ns)
    add_advice(root, lake)
    date_profiles(lake)
    add_reads(lake, {port("h1", "eth0", "transmit"): GAPPY})
    return lake


def date_profiles(lake: Lake) -> None:
    """Let the profiles of a lake be those of its first 20 s."""
    rows = lake.read("profiles").to_pylist()
    for row in rows:
        row.update(from_ns=T0_NS, to_ns=T0_NS + 20 * 10**9)
    lake.replace("profiles", pa.Table.from_pylist(rows, schema=lake.read("profiles").schema))


def only(rows: Sequence[Mapping[str, Any]], **values: object) -> Mapping[str, Any]:
    """Return the one row that has some values."""
    (row,) = (row for row in rows if all(row[name] == value for name, value in values.items()))
    return row
