"""Sums of the bins of flows: in Python and in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from pipeline import flowsums
from pipeline.batch import SampleFile
from pipeline.flowsums import profile_flow_sums, summed
from pipeline.sql import Database
from profiler.schema import Flag, arrow_schema
from profiler.store import Counter
from tests.pipeline.lakes import T0_NS, make_lake, port

if TYPE_CHECKING:
    from pathlib import Path


def _counter(t_ms: list[int], value: list[int], *, starts: list[int] | None = None) -> Counter:
    flags = [int(Flag.MISSED) if t in (starts or t_ms[:1]) else 0 for t in t_ms]
    return Counter(
        t_ns=np.array(t_ms, np.int64) * 10**6,
        value=np.array(value, np.int64),
        flags=np.array(flags, np.uint16),
        epoch=np.zeros(len(t_ms), np.int32),
    )


def test_a_sum_has_every_byte_in_its_bin_though_flows_begin_and_end_at_different_times() -> None:
    total = summed([_counter([0, 1, 2, 5], [0, 10, 20, 0]), _counter([3, 4, 5, 6], [0, 7, 8, 9])])
    assert (total.t_ns // 10**6).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert total.value.tolist() == [0, 10, 20, 0, 7, 8, 9]
    assert [bool(flag) for flag in total.flags] == [True] + [False] * 6


def test_a_sum_is_unknown_where_no_flow_was_seen() -> None:
    total = summed([_counter([0, 1], [0, 10]), _counter([3, 4], [0, 7])])
    assert total.value.tolist() == [0, 10, 0, 7]
    assert [bool(flag) for flag in total.flags] == [True, False, True, False]


def _bins(rng: np.random.Generator) -> tuple[Counter, list[int]]:
    """Return the bins of a flow that was captured up to twice, and the length of each, as it is stored."""
    t_ms: list[int] = []
    value: list[int] = []
    lengths: list[int] = []
    for start in sorted(rng.choice(400, size=2, replace=False).tolist()):
        if t_ms and start <= t_ms[-1]:
            break
        steps = rng.choice([1, 1, 1, 7, 30], size=rng.integers(1, 12)).tolist()
        t_ms += [start, *(start + np.cumsum(steps)).tolist()]
        value += [0, *(0 if step > 1 else int(rng.integers(1, 99)) for step in steps)]
        lengths += [0, *steps]
    counter = _counter(t_ms, value, starts=[t for t, length in zip(t_ms, lengths, strict=True) if not length])
    # A window too long for its column is told by the row before.
    return counter, [0 if length == 30 else length * 10**6 for length in lengths]


def _database(parts: list[tuple[Counter, list[int]]]) -> Database:
    samples = [
        {"series_id": i, "t_ns": t_ns, "window_ns": window_ns, "value": value, "flags": flags, "epoch": 0}
        for i, (one, windows_ns) in enumerate(parts)
        for t_ns, window_ns, value, flags in zip(one.t_ns, windows_ns, one.value, one.flags, strict=True)
    ]
    return _database_of(samples, n_parts=len(parts))


def _database_of(samples: list[dict[str, int]], *, n_parts: int) -> Database:
    """Return flows from 10.0.0.1, which is port eth0 of a1, to 10.0.0.2, both of job A."""
    flow = {"host": "10.0.0.1", "port": "sw1", "metric": "bytes", "kind": "delta", "layer": "capture"}
    seats = [{"host": "a1", "device": "eth0"}, {"host": "a2", "device": "eth0"}]
    rows = {
        "series": [flow | {"series_id": i, "device": f"10.0.0.2 qp {i}"} for i in range(n_parts)],
        "samples": samples,
        "placements": [{"job_id": "A", "rank": i, **seat} for i, seat in enumerate(seats)],
        "addresses": [{"address": f"10.0.0.{1 + i}", **seat} for i, seat in enumerate(seats)],
    }
    return Database({name: pa.Table.from_pylist(of, schema=arrow_schema(name)) for name, of in rows.items()})


@pytest.mark.parametrize("seed", range(2))
def test_sql_sums_flows_as_python_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [_bins(rng) for _ in range(5)]
    total = summed([counter for counter, _ in parts])
    known = np.flatnonzero((total.flags & np.uint16(Flag.MISSED)) == 0)
    with _database(parts) as database:
        told = database.sql("select t_ns, window_ns, bytes from flow_rates(null, null) order by t_ns")
    assert told["t_ns"].to_pylist() == total.t_ns[known].tolist()
    assert told["window_ns"].to_pylist() == (total.t_ns[known] - total.t_ns[known - 1]).tolist()
    assert told["bytes"].to_pylist() == total.value[known].tolist()
    assert sum(told["bytes"].to_pylist()) == sum(counter.value.sum() for counter, _ in parts)


def test_equal_halves_of_a_bin_in_which_a_capture_was_rotated_add_up_in_sql() -> None:
    first, second = _counter([0, 1, 2], [0, 10, 7]), _counter([1, 2, 3], [0, 7, 20])
    samples = [
        {"series_id": 0, "t_ns": t_ns, "window_ns": 0 if flags else 10**6, "value": value, "flags": flags, "epoch": i}
        for i, one in enumerate((first, second, second))
        for t_ns, value, flags in zip(one.t_ns.tolist(), one.value.tolist(), one.flags.tolist(), strict=True)
    ]
    for row in samples[6:]:
        row["epoch"] = 1  # the same file read twice
    with _database_of(samples, n_parts=1) as database:
        told = database.sql("select t_ns, window_ns, bytes from flow_rates(null, null) order by t_ns").to_pylist()
    assert [(row["t_ns"] // 10**6, row["window_ns"], row["bytes"]) for row in told] == [
        (1, 10**6, 10),
        (2, 10**6, 14),
        (3, 10**6, 20),
    ]


@pytest.mark.parametrize("n_most", [1000, 400])
def test_of_a_sum_of_too_many_bins_the_newest_are_profiled_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_most: int
) -> None:
    monkeypatch.setattr(flowsums, "SUM_SAMPLES", n_most)
    flows = [port("10.0.0.1", f"10.0.0.2 qp {i}", "transmit", layer="capture", kind="delta") for i in range(3)]
    t_ns = T0_NS + np.arange(900) * 10**6
    lake = make_lake(tmp_path / "lake", {flow: (t_ns, np.full(900, 1000)) for flow in flows}, window_ns=10**6)
    ids = lake.read("series")["series_id"].to_pylist()
    (path,) = lake.files("samples")
    last_ns = int(t_ns[-1])
    file = SampleFile(path=path, sha256="", first_ns=T0_NS, last_ns=last_ns, n_rows=dict.fromkeys(ids, 900))
    seat = {"series_id": 1, "host": "a1", "device": "eth0", "port": ""}
    (one,) = profile_flow_sums([seat | {"part_id": part_id} for part_id in ids], [file])

    first_ns = T0_NS if n_most > 900 else last_ns - (n_most - 1) * 10**6
    assert (one.from_ns, one.to_ns) == (first_ns, last_ns)
    assert one.profile.mean_bps == pytest.approx(3 * 8e6)
    assert [f"of the bins from {first_ns} ns on" in note for note in one.profile.warnings] == [True] * (n_most < 900)
