"""A capture that is still being written: what has come is in the lake while the rest is not."""

from __future__ import annotations

import os
import threading
import time
import zlib
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from profiler.importers import Options, follow, ingest
from profiler.importers.capture import capture_parameters
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.captures.window import ByteWindow
from profiler.importers.follow import _pieces
from profiler.importers.sink import MemorySink
from profiler.store import Lake, Recording
from tests.profiler.frames import ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FRAME = ethernet(ipv4(ports(1000, 2000, bytes(20)), ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)
SECOND_NS = 10**9


def records(*seconds: int) -> bytes:
    """Return packets of a capture, without its header."""
    return pcap([(at_s, 0, FRAME, 100) for at_s in seconds])[24:]


def once_after(n_asked: int) -> Callable[[], bool]:
    """Return what says no so often, then yes."""
    asked = iter(range(10**9))
    return lambda: next(asked) >= n_asked


def read_at(
    packets_at: list[tuple[float, list[int]]], *, is_live: bool = False
) -> tuple[list[list[int]], MemorySink, list[str]]:
    """Follow packets that come at some times, in s; return which had been written just after each, all, and notes."""
    sink, written, now = MemorySink(), list[list[int]](), [0.0]

    def seconds() -> list[int]:
        of_bytes = [(t_ns, value) for series, t_ns, value, _ in sink.counters() if series.metric == "bytes"]
        return sorted(int(t) // SECOND_NS for t_ns, value in of_bytes for t in t_ns[value > 0])

    def pieces() -> Iterator[bytes]:
        yield pcap([])
        for now[0], packets in packets_at:
            yield records(*packets)
            yield b""
            written.append(seconds())

    reader = CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair")
    coverage = reader.follow(ByteWindow(pieces()), now_ns=lambda: int(now[0] * SECOND_NS), is_live=is_live)
    assert coverage.totals["packets"] == sum(len(packets) for _, packets in packets_at)
    return [*written, seconds()], sink, [item.what for item in coverage.skipped]


def test_bins_are_written_before_the_end_and_only_those_that_are_old_enough() -> None:
    written, sink, notes = read_at([(10, [7]), (10.5, [8]), (11.2, [9]), (12.5, []), (15, [14])])

    # Once a second, what is two seconds older than the newest packet.
    assert written == [[], [], [], [], [7, 8, 9], [7, 8, 9, 14]]
    assert notes == []
    assert sum(int(value.sum()) for series, _, value, _ in sink.counters() if series.metric == "bytes") == 400


@pytest.mark.parametrize(("is_live", "waiting"), [(True, []), (False, [9])])
def test_bins_are_written_while_packets_pause_but_for_those_that_another_program_may_add_to(
    is_live: bool, waiting: list[int]
) -> None:
    written, sink, notes = read_at([(10, [7, 8, 9]), (11.5, []), (12.6, []), (14, [13])], is_live=is_live)

    assert written[1] == []
    assert written[2] == [second for second in (7, 8, 9) if second not in waiting]
    assert written[-1] == [7, 8, 9, 13]
    assert notes == []
    assert sum(int(value.sum()) for series, _, value, _ in sink.counters() if series.metric == "bytes") == 400


def test_bin_that_has_come_in_part_before_a_pause_is_not_split() -> None:
    packets = [[(9, at_us, FRAME, 100) for at_us in part] for part in ((0, 20_100), (20_200, 20_900))]
    sink, now_ns = MemorySink(), [9 * SECOND_NS]

    def pieces() -> Iterator[bytes]:
        yield pcap(packets[0])
        for now_ns[0] in range(10 * SECOND_NS, 20 * SECOND_NS, SECOND_NS):
            yield b""
        yield pcap(packets[1])[24:]

    reader = CaptureReader("made", sink, host=None, bin_ns=1_000_000, by="pair")
    coverage = reader.follow(ByteWindow(pieces()), now_ns=lambda: now_ns[0])
    (values,) = [value[value > 0].tolist() for series, _, value, _ in sink.counters() if series.metric == "bytes"]

    assert values == [100, 300]
    assert coverage.skipped == []


def test_what_came_before_a_pause_is_sealed_though_nothing_is_written_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiler.store.writer._TELLING_PAUSE", 0)  # else a slow machine seals later than this reads
    lake, now_s, seen = Lake.open(tmp_path / "lake", create=True), [10], list[tuple[int, list[int]]]()

    def pieces() -> Iterator[bytes]:
        yield pcap([]) + records(7, 8, 9)
        for now_s[0] in range(10, 16):
            yield b""
            writer._sealer.wait()
            rows = sum(pq.read_metadata(path).num_rows for path in lake.files("samples"))
            seen.append((rows, lake.read("flows")["packets"].to_pylist()))

    with lake.writer(Recording(recording_id="ab" * 32, source="w", format="capture"), seal_every_s=0.0) as writer:
        reader = CaptureReader("w", writer, host=None, bin_ns=1_000_000, by="pair")
        writer.before_seal(reader.tell_flows)
        window = ByteWindow(pieces())
        reader.follow(window, now_ns=lambda: now_s[0] * SECOND_NS, is_live=True, after_write=writer.seal_when_due)

    n_rows = sum(pq.read_metadata(path).num_rows for path in lake.files("samples"))
    assert seen[-1] == (n_rows, [3])


def test_no_bin_is_sealed_before_the_flows_of_its_packets(tmp_path: Path) -> None:
    lake, now_s, seen = Lake.open(tmp_path / "lake", create=True), [0], list[tuple[int, int]]()

    def look() -> None:
        writer._sealer.wait()
        files = lake.files("samples")
        numbers = lake.read("series").filter(pc.field("metric") == "packets")["series_id"]
        counted = [pq.read_table(path).filter(pc.field("series_id").isin(numbers))["value"] for path in files]
        told = sum(lake.read("flows")["packets"].to_pylist())
        seen.append((sum(pc.sum(values).as_py() or 0 for values in counted), told))

    def pieces() -> Iterator[bytes]:
        yield pcap([])
        for now_s[0] in range(10, 30):
            yield records(now_s[0])
            yield b""
            look()

    with lake.writer(Recording(recording_id="ab" * 32, source="w", format="capture"), seal_every_s=0.0) as writer:
        reader = CaptureReader("w", writer, host=None, bin_ns=1_000_000, by="pair")
        writer.before_seal(reader.tell_flows)
        window = ByteWindow(pieces())
        reader.follow(window, now_ns=lambda: now_s[0] * SECOND_NS, after_write=writer.seal_when_due)

    assert seen[-1][0] > 10
    assert all(told >= counted for counted, told in seen)


def test_flows_so_far_are_in_the_lake_while_the_capture_goes_on(tmp_path: Path) -> None:
    lake, seen, now_s = Lake.open(tmp_path / "lake", create=True), list[list[int]](), [0]

    def pieces() -> Iterator[bytes]:
        yield pcap([])
        for now_s[0] in (20, 25, 40, 41):
            yield records(now_s[0] - 1)
            yield b""
            writer.seal()
            seen.append(lake.read("flows")["packets"].to_pylist())

    recording = Recording(recording_id="ab" * 32, source="made", format="capture")
    with lake.writer(recording) as writer:
        reader = CaptureReader("made", writer, host=None, bin_ns=1_000_000, by="pair")
        writer.before_seal(reader.tell_flows)
        reader.follow(ByteWindow(pieces()), now_ns=lambda: now_s[0] * SECOND_NS)

    # Each time in place of those before.
    assert seen == [[1], [2], [3], [4]]
    assert lake.read("flows")["packets"].to_pylist() == [4]


@pytest.mark.parametrize("n_told", [3, 8])
def test_capture_whose_follower_was_killed_is_replaced_when_it_is_ingested(tmp_path: Path, n_told: int) -> None:
    lake, path = Lake.open(tmp_path / "lake", create=True), tmp_path / "c.pcap"
    path.write_bytes(pcap([]) + records(*range(1, 9)))
    made_by = capture_parameters(Options())
    killed = lake.writer(Recording(recording_id="ab" * 32, source="c.pcap", format="capture", parameters=made_by))
    sink, told = MemorySink(), pcap([]) + records(*range(1, 1 + n_told))
    CaptureReader("c.pcap", sink, host=None, bin_ns=1_000_000, by="pair").read(iter([told]))
    sink.copy_to(killed)
    killed.seal()

    (report,) = ingest(path, lake=lake).inputs
    assert report.status == "failed"  # while it is followed

    killed._resources.close()
    (report,) = ingest(path, lake=lake).inputs
    assert report.status == "read"
    assert lake.states() == {"ok": 1}
    assert lake.read("flows")["packets"].to_pylist() == [8]


def test_a_clock_in_the_future_does_not_make_the_present_late() -> None:
    written, _, notes = read_at([(10, [4_000_000_000]), (12, [11]), (13, [12]), (14, [13]), (15, [14])])

    assert notes == []
    assert written[-2] == [11, 12]
    assert written[-1] == [11, 12, 13, 14, 4_000_000_000]


def test_file_that_grows_is_read_to_where_it_is_when_told_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap([(1, 0, FRAME, 100)]))
    stop = threading.Event()

    def grow() -> None:
        for at_s in (2, 3):
            time.sleep(0.1)
            with path.open("ab") as file:
                file.write(records(at_s))
        with path.open("ab") as file:
            file.write(records(4)[:-5])
        time.sleep(0.5)
        stop.set()

    writer = threading.Thread(target=grow)
    writer.start()
    report = follow(path, lake=tmp_path / "lake", stop=stop.is_set)
    writer.join()

    assert (report.status, report.message) == ("read", "")
    assert report.coverage.totals["packets"] == 3
    assert [item.why.split(": ")[1] for item in report.coverage.skipped] == [
        "the file ends inside a packet, which was still being written"
    ]
    lake = Lake.open(tmp_path / "lake")
    assert lake.read("flows")["packets"].to_pylist() == [3]
    assert lake.read("recordings")["status"].to_pylist() == ["ok"]


def test_packed_file_that_grows_is_read_as_far_as_it_is_written(tmp_path: Path) -> None:
    packer, path = zlib.compressobj(wbits=31), tmp_path / "c.pcap.gz"
    path.write_bytes(packer.compress(pcap([(1, 0, FRAME, 100)])) + packer.flush(zlib.Z_SYNC_FLUSH))
    report = follow(path, lake=tmp_path / "lake", stop=once_after(5))

    assert (report.status, report.coverage.totals["packets"]) == ("read", 1)
    assert [item.why for item in report.coverage.skipped] == ["the rest of it was still being written"]


def test_damage_is_told_as_in_a_file_that_is_done(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap([(1, 0, FRAME, 100)]) + b"\xff" * 100)
    report = follow(path, lake=tmp_path / "lake", stop=lambda: True)

    assert report.status == "partial"
    assert f"byte {24 + 16 + len(FRAME)}: a packet longer" in report.message


def test_what_is_no_capture_or_is_not_there_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("<html>")
    failures = [follow(tmp_path / name, lake=tmp_path / "lake", stop=lambda: True) for name in ("c.txt", "missing")]

    assert [report.status for report in failures] == ["failed", "failed"]
    assert "looks like HTML page" in failures[0].message
    assert "No such file" in failures[1].message


def test_file_that_is_cut_meanwhile_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap([(1, 0, FRAME, 100)]))
    asked = once_after(3)

    def stop() -> bool:
        path.write_bytes(b"new")
        return asked()

    report = follow(path, lake=tmp_path / "lake", stop=stop)

    assert report.status == "partial"
    assert "the file was cut" in report.message
    assert report.coverage.totals["packets"] == 1


def test_pipe_ends_with_its_writer_and_gives_what_has_come_meanwhile() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as stream:  # noqa: PTH123 - of a number
        pieces = _pieces(stream, lambda: False)
        os.write(writing, b"abc")
        assert next(pieces) == b"abc"
        assert next(pieces) == b""
        os.write(writing, b"de")
        assert next(pieces) == b"de"
        os.close(writing)
        with pytest.raises(StopIteration):
            next(pieces)
