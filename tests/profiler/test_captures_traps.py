"""Every trap capture through the importer: packets, bytes, times, flows, payloads and bins as they were written."""

from __future__ import annotations

import gzip
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from profiler.importers import Options, ingest, unpacking
from profiler.importers.capture import CAPTURE
from profiler.importers.captures.packet_rows import write_packets
from profiler.importers.captures.window import ByteWindow
from profiler.importers.inputs import Input
from profiler.importers.sink import MemorySink
from profiler.store import Lake
from tests.profiler.captures_traps import TRAPS, WITH_PAYLOAD, WITH_SEQUENCE, write_traps
from tests.profiler.captures_truth import Ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from profiler.importers.coverage import Coverage

BIN_NS = 1_000_000
SOUND = [name for name, trap in TRAPS.items() if trap.stops_at is None]
DAMAGED = [name for name, trap in TRAPS.items() if trap.stops_at is not None]


class Found(NamedTuple):
    """What the reader makes of a capture."""

    coverage: Coverage
    flows: list[dict[str, Any]]
    bins: dict[str, Counter[int]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("traps")
    write_traps(made)
    yield made
    read.cache_clear()


@cache
def read(path: Path) -> Found:
    """Read a capture as `ingest` does, into memory."""
    sink = MemorySink()
    coverage = CAPTURE.read(Input(name=path.name, path=path), sink, Options())
    bins: dict[str, Counter[int]] = {"bytes": Counter(), "packets": Counter()}
    for series, t_ns, value, _ in sink.counters():
        for end_ns, n in zip(t_ns.tolist(), value.tolist(), strict=True):
            bins[series.metric][end_ns // BIN_NS - 1] += n
    return Found(coverage, [row for table in sink.flows for row in table.to_pylist()], bins)


def ends_of(row: dict[str, Any]) -> Ends:
    return Ends(*(row[name] for name in Ends._fields))


def span_ns(rows: Iterable[dict[str, Any]]) -> tuple[int | None, int | None]:
    timed = [row for row in rows if row["first_ns"] is not None]
    return min((row["first_ns"] for row in timed), default=None), max((row["last_ns"] for row in timed), default=None)


def flows_of(rows: list[dict[str, Any]]) -> dict[Ends, Counter[str]]:
    """Return what each flow moved; one that was seen at several interfaces has a row for each."""
    flows: dict[Ends, Counter[str]] = {}
    for row in rows:
        flow = flows.setdefault(ends_of(row), Counter())
        for name in ("packets", "bytes", "payload_bytes"):
            flow[name] += row[name]
    return flows


# What is in the file


@pytest.mark.parametrize("name", TRAPS)
def test_packets_wire_bytes_and_times_are_those_that_were_written(name: str, folder: Path) -> None:
    trap, coverage = TRAPS[name], read(folder / name).coverage

    found = (coverage.totals["packets"], coverage.totals["wire_bytes"], coverage.t_first_ns, coverage.t_last_ns)
    assert found == (len(trap.packets), trap.wire_bytes, *trap.span_ns)
    assert coverage.totals["untimed"] == sum(packet.t_ns is None for packet in trap.packets)


@pytest.mark.parametrize("name", TRAPS)
def test_every_packet_is_in_the_innermost_flow_that_it_names(name: str, folder: Path) -> None:
    rows = read(folder / name).flows
    expected = TRAPS[name].flows

    counted = {ends: (flow["packets"], flow["bytes"]) for ends, flow in flows_of(rows).items()}
    assert counted == {ends: (flow.n_packets, flow.wire_bytes) for ends, flow in expected.items()}
    for ends, flow in expected.items():
        assert span_ns(row for row in rows if ends_of(row) == ends) == (flow.first_ns, flow.last_ns)


@pytest.mark.parametrize("name", WITH_PAYLOAD)
def test_payload_is_what_stands_behind_all_headers(name: str, folder: Path) -> None:
    flows = flows_of(read(folder / name).flows)

    for ends, flow in TRAPS[name].flows.items():
        if flow.payload_bytes is not None:
            assert flows[ends]["payload_bytes"] == flow.payload_bytes


@pytest.mark.parametrize("name", WITH_SEQUENCE)
def test_repeats_and_notifications_are_counted(name: str, folder: Path) -> None:
    totals = read(folder / name).coverage.totals

    assert (totals["retransmits"], totals["cnps"]) == (TRAPS[name].n_retransmits, TRAPS[name].n_cnps)


@pytest.mark.parametrize("name", TRAPS)
def test_bins_are_the_sums_of_the_packets_in_each_millisecond(name: str, folder: Path) -> None:
    n_bytes, n_packets = Counter[int](), Counter[int]()
    for packet in TRAPS[name].packets:
        if packet.t_ns is not None:
            n_bytes[packet.t_ns // BIN_NS] += packet.wire_bytes
            n_packets[packet.t_ns // BIN_NS] += 1

    bins = read(folder / name).bins
    assert (+bins["bytes"], +bins["packets"]) == (+n_bytes, +n_packets)


@pytest.mark.parametrize("name", TRAPS)
def test_a_row_a_packet_tells_what_was_written_of_each(name: str, folder: Path, tmp_path: Path) -> None:
    trap, path = TRAPS[name], tmp_path / "packets.parquet"

    write_packets(ByteWindow(Input(name=name, path=folder / name).pieces()), path)

    rows = pq.read_table(path).to_pylist()
    assert [row["number"] for row in rows] == list(range(1, len(trap.packets) + 1))
    for row, packet in zip(rows, trap.packets, strict=True):
        assert (row["t_ns"], row["wire_bytes"], ends_of(row)) == (packet.t_ns, packet.wire_bytes, packet.ends)
        assert row["captured_bytes"] == len(packet.data)
        assert packet.payload_bytes is None or row["payload_bytes"] == packet.payload_bytes


# What is wrong with it


@pytest.mark.parametrize("name", SOUND)
def test_sound_file_has_no_problems(name: str, folder: Path) -> None:
    assert read(folder / name).coverage.problems == []


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_its_byte(name: str, folder: Path) -> None:
    problems = read(folder / name).coverage.problems

    assert len(problems) == 1
    assert f"byte {TRAPS[name].stops_at}:" in problems[0]
    assert name in problems[0]


def test_what_unpacks_to_more_than_any_capture_ends_where_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "TRUSTED_BYTES", 1 << 20)
    trap = TRAPS["micro-little.pcap"]
    bomb = tmp_path / "bomb.pcap.gz"
    bomb.write_bytes(gzip.compress(trap.data + b"\xff" * (64 << 20)))

    found = read(bomb)

    assert found.coverage.totals["packets"] == len(trap.packets)
    assert f"byte {len(trap.data)}:" in " ".join(found.coverage.problems)


# As a user reads it


def test_ingest_puts_the_same_into_a_lake(tmp_path: Path) -> None:
    names = ("micro-little.pcap", "sections-of-both-byte-orders.pcapng", "gzip.pcap.gz", "garbage.pcap")
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_bytes(TRAPS[path.name].data)

    # They have the same packets at the same times, which are others only where they are of another place.
    inputs = [found for path in paths for found in ingest(path, lake=tmp_path / "lake", host=path.name).inputs]

    assert [found.status for found in inputs] == ["read", "read", "read", "partial"]
    assert [found.to_dict()["packets"] for found in inputs] == [len(TRAPS[name].packets) for name in names]
    lake = Lake.open(tmp_path / "lake")
    n_bytes = sum(TRAPS[name].wire_bytes for name in names)
    assert sum(lake.read("flows")["bytes"].to_pylist()) == n_bytes
    series = lake.read("series")
    of_bytes = series.filter(pc.equal(series["metric"], "bytes"))["series_id"]
    samples = pa.concat_tables(pq.read_table(path) for path in lake.files("samples"))
    assert pc.sum(samples.filter(pc.is_in(samples["series_id"], of_bytes))["value"]).as_py() == n_bytes
