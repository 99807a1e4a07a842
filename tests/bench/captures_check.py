"""What of a generated capture is in a lake, against what was generated: every flow, every bin, to the byte."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from profiler.store import Lake
from tests.bench.captures_files import flow_ends
from tests.bench.captures_traffic import BIN_NS, T0_NS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.captures_traffic import Traffic, Truth

__all__ = ["differences"]


def differences(lake: Path, report: dict[str, Any], *, traffic: Traffic, truth: Truth) -> list[str]:
    """Return what is not as it was generated, a line each; none if all is exact.

    Parameters
    ----------
    lake
        Into which the capture alone was ingested.
    report
        What ``ingest --json`` said of it.
    """
    expected = {
        "packets": int(truth.packets.sum()),
        "wire_bytes": int(truth.wire_bytes.sum()),
        "payload_bytes": int(truth.payload_bytes.sum()),
        "retransmits": truth.retransmits,
        "cnps": truth.cnps,
        "t_first_ns": int(truth.first_ns.min()),
        "t_last_ns": int(truth.last_ns.max()),
    }
    wrong = [
        f"{name}: {report.get(name)}, not {value}" for name, value in expected.items() if report.get(name) != value
    ]
    opened = Lake.open(lake)
    return wrong + _wrong_flows(opened, traffic=traffic, truth=truth) + _wrong_bins(opened, truth=truth)


def _wrong_flows(lake: Lake, *, traffic: Traffic, truth: Truth) -> list[str]:
    rows = lake.read("flows")
    src, dst, sport, pair = flow_ends(traffic)
    keys = zip(src.tolist(), dst.tolist(), sport.tolist(), pair.tolist(), strict=True)
    numbers = {key: number for number, key in enumerate(keys)}
    ends = zip(
        (int(ipaddress.IPv4Address(end)) for end in rows["src"].to_pylist()),
        (int(ipaddress.IPv4Address(end)) for end in rows["dst"].to_pylist()),
        rows["sport"].to_pylist(),
        rows["qp"].to_pylist(),
        strict=True,
    )
    found = np.array([numbers.get(key, -1) for key in ends], dtype=np.int64)
    seen = np.flatnonzero(truth.packets)
    if sorted(found.tolist()) != seen.tolist():
        return [f"flows: {len(found)}, of them {int((found < 0).sum())} unknown, not {len(seen)}"]
    columns = {
        "packets": truth.packets,
        "bytes": truth.wire_bytes,
        "first_ns": truth.first_ns,
        "last_ns": truth.last_ns,
        "payload_bytes": truth.payload_bytes,
    }
    return [
        f"flows: {name} differs"
        for name, expected in columns.items()
        if name not in rows.column_names or not np.array_equal(rows[name].to_numpy(), expected[found])
    ]


def _wrong_bins(lake: Lake, *, truth: Truth) -> list[str]:
    series = lake.read("series")
    of_bytes = series.filter(pc.equal(series["metric"], "bytes"))["series_id"]
    bins: NDArray[np.int64] = np.zeros_like(truth.bins)
    for path in lake.files("samples"):
        rows = pq.read_table(path, columns=["series_id", "t_ns", "value"])
        rows = rows.filter(pc.is_in(rows["series_id"], of_bytes))
        i_bin = rows["t_ns"].to_numpy() // BIN_NS - T0_NS // BIN_NS - 1
        value = rows["value"].to_numpy()
        held = value > 0
        np.add.at(bins, i_bin[held], value[held])
    n_wrong = int((bins != truth.bins).sum())
    return [f"bins: {n_wrong} of {len(bins)} differ"] if n_wrong else []
