"""From the lines of a file to rates: bytes are conserved through wraps, resets, repeats and any order of lines."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.importers import Options, ingest, read_mapping
from profiler.rates import rate_series
from profiler.schema import Flag
from profiler.store import Lake, Series
from tests.profiler.dumps import put, statuses

if TYPE_CHECKING:
    from profiler.importers.mapping import Mapping

NS = 10**9
T0_S = 1_700_000_000
HOST = "h1"

Reads = list[tuple[int, int]]
"""Time in s since T0, and value."""


class Counted(NamedTuple):
    """A counter as it was read, and what it counted in each window between two reads."""

    width_bits: int
    reads: Reads
    steps: list[int]
    wraps: set[int]
    resets: set[int]


@st.composite
def counters(draw: st.DrawFn, width_bits: int) -> Counted:
    """Return a counter of a port that is never idle; it wraps where its width says, and may be reset once."""
    steps = draw(st.lists(st.integers(50_000_000, 100_000_000), min_size=20, max_size=60))
    end = 1 << width_bits
    value = draw(st.integers(end - 2_000_000_000, end - 1) if width_bits < 64 else st.integers(10**11, 10**15))
    reset = draw(st.none() | st.integers(5, len(steps) - 5)) if width_bits == 64 else None
    reads, wraps = [(0, value)], set()
    for i, step in enumerate(steps):
        if i == reset:
            value = 0
        elif value + step >= end:
            wraps.add(i)
        value = (value + step) % end
        reads.append((i + 1, value))
    return Counted(width_bits, reads, steps, wraps, set() if reset is None else {reset})


@st.composite
def shuffled(draw: st.DrawFn, reads: Reads) -> Reads:
    """Return the reads in any order, some of them twice."""
    repeated = draw(st.lists(st.sampled_from(reads), max_size=5))
    return draw(st.permutations([*reads, *repeated]))


def as_table(reads: Reads, *, width_bits: int) -> str:
    del width_bits
    return "when,port,in\n" + "".join(f"{(T0_S + t_s) * 1000},eth0,{value}\n" for t_s, value in reads)


def as_page(reads: Reads, *, width_bits: int) -> str:
    name = "ifInOctets" if width_bits == 32 else "ifHCInOctets"
    return "".join(f'{name}{{ifName="eth0"}} {value} {(T0_S + t_s) * 1000}\n' for t_s, value in reads)


def as_answer(reads: Reads, *, width_bits: int) -> str:
    labels = {"__name__": "ifInOctets" if width_bits == 32 else "ifHCInOctets", "ifName": "eth0"}
    values = [[T0_S + t_s, str(value)] for t_s, value in reads]
    result = {"metric": labels, "values": values}
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [result]}})


WRITERS: Final[dict[str, Callable[..., str]]] = {"x.csv": as_table, "x.prom": as_page, "x.json": as_answer}


@pytest.fixture(scope="module")
def mappings(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Mapping]:
    folder = tmp_path_factory.mktemp("mappings")
    text = """device = { column = "port" }
[time]
column = "when"
unit = "ms"
[[counter]]
column = "in"
direction = "in"
layer = "wire"
width_bits = {}
"""
    return {
        n_bits: read_mapping(put(folder / f"{n_bits}.toml", text.replace("{}", str(n_bits)))) for n_bits in (32, 64)
    }


def only_series(lake: Lake) -> tuple[Series, list[int], list[int]]:
    (row,) = lake.read("series").to_pylist()
    counter = lake.counter(row["series_id"])
    series = Series(**{name: row[name] for name in Series.__slots__})
    return series, counter.t_ns.tolist(), counter.value.tolist()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("width_bits", [32, 64])
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_bytes_are_conserved_whatever_the_order_of_lines(
    mappings: dict[int, Mapping], name: str, width_bits: int, data: st.DataObject
) -> None:
    counted = data.draw(counters(width_bits))
    lines = data.draw(shuffled(counted.reads))
    with tempfile.TemporaryDirectory() as folder:
        path = put(Path(folder) / name, WRITERS[name](lines, width_bits=width_bits))
        lake = Lake.open(Path(folder) / "lake", create=True)
        options = Options(host=HOST, mapping=mappings[width_bits] if name.endswith("csv") else None)

        assert statuses(ingest(path, lake=lake, options=options)) == ["read"]
        series, t_ns, value = only_series(lake)
        assert statuses(ingest(path, lake=lake, options=options)) == ["already there"]
        assert only_series(lake)[1:] == (t_ns, value)

    assert list(zip(t_ns, value, strict=True)) == [((T0_S + t_s) * NS, value) for t_s, value in counted.reads]
    rate = rate_series(series, t_ns=np.array(t_ns), value=np.array(value))
    assert rate.delta_bytes.tolist() == counted.steps
    assert set(np.flatnonzero(rate.flags & Flag.WRAP).tolist()) == counted.wraps
    assert set(np.flatnonzero(rate.flags & Flag.RESET).tolist()) == counted.resets
    assert set(np.flatnonzero(~rate.known).tolist()) == counted.resets


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_files_that_overlap_give_each_sample_once(mappings: dict[int, Mapping], name: str, data: st.DataObject) -> None:
    counted = data.draw(counters(64))
    reads = counted.reads
    end = data.draw(st.integers(1, len(reads)))
    start = data.draw(st.integers(0, end))
    parts = data.draw(st.permutations([reads[:end], reads[start:] or reads]))
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder) / "lake", create=True)
        options = Options(host=HOST, mapping=mappings[64] if name.endswith("csv") else None)
        for i, part in enumerate(parts):
            path = put(Path(folder) / str(i) / name, WRITERS[name](part, width_bits=64))
            assert statuses(ingest(path, lake=lake, options=options))[0] in ("read", "already there")
        _, t_ns, value = only_series(lake)

    assert list(zip(t_ns, value, strict=True)) == [((T0_S + t_s) * NS, value) for t_s, value in reads]
