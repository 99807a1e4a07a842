"""One packet counts once, however often and in whatever form its capture is ingested."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from pipeline.sql import open_lake
from profiler.importers import Options, follow, ingest, shared_bins
from profiler.store import Lake, Recording, check_lake, compact
from tests.profiler.frames import ethernet, interface, ipv4, option, packet, pcap, ports, section, simple_packet

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers import InputReport

STEP_US = 100
N_PACKETS = 600
FRAMES = [
    ethernet(ipv4(ports(1000 + i, 2000, bytes(20)), (f"10.0.0.{i + 1}", "10.0.0.9"), proto=6), 0x0800) for i in range(2)
] + [ethernet(bytes(46), 0x88CC)]
"""Two flows between addresses, and one of packets without any."""
PACKETS = [(1_700_000_000, i * STEP_US, FRAMES[i % 3], 1000) for i in range(N_PACKETS)]


def written(path: Path, start: int = 0, stop: int = N_PACKETS) -> Path:
    path.write_bytes(pcap(PACKETS[start:stop]))
    return path


def taken(path: Path, lake: Path, **options: Any) -> InputReport:
    (report,) = ingest(path, lake=lake, options=Options(**options)).inputs
    return report


@pytest.mark.parametrize(("other", "status"), [(b"eth1", "read"), (b"eth0", "failed")])
def test_one_flow_may_be_seen_at_two_interfaces_that_have_names(tmp_path: Path, other: bytes, status: str) -> None:
    for number, name in enumerate((b"eth0", other)):
        packets = PACKETS[100 * number : 300 + 100 * number]
        blocks = [packet(frame, ticks=at_s * 10**6 + at_us, wire=size) for at_s, at_us, frame, size in packets]
        (tmp_path / f"{number}").write_bytes(section() + interface(option(2, name)) + b"".join(blocks))

    found = [taken(tmp_path / f"{number}", tmp_path / "lake", host="h") for number in range(2)]

    assert [report.status for report in found] == ["read", status]


def packets_in(lake: Path) -> list[float]:
    """Return how many packets of 1000 bytes each way to count has: rates, readings, flows."""
    opened = Lake.open(lake)
    series = opened.read("series")
    of_bytes = [
        number
        for number, metric in zip(series["series_id"].to_pylist(), series["metric"].to_pylist(), strict=True)
        if metric == "bytes"
    ]
    read = sum(int(counter.value.sum()) for _, counter in opened.counters(of_bytes))
    with open_lake(lake) as database:
        (row,) = database.sql(
            "select (select sum(bytes) from rates) as r, (select sum(bytes) from flows) as f"
        ).to_pylist()
    return [int(row["r"]) / 1000, read / 1000, int(row["f"]) / 1000]


ONCE = [N_PACKETS] * 3


@pytest.mark.parametrize("cut", [303, 305])
def test_bin_in_which_a_capture_was_rotated_has_the_bytes_of_both_files(tmp_path: Path, cut: int) -> None:
    # At 1 ms and 10 packets a bin, the first cut leaves three packets to one file; the second five, as to the other.
    for number, (start, stop) in enumerate([(0, cut), (cut, N_PACKETS)]):
        assert taken(written(tmp_path / f"c{number}.pcap", start, stop), tmp_path / "lake").status == "read"

    assert packets_in(tmp_path / "lake") == ONCE


def test_packed_or_converted_capture_is_there_already(tmp_path: Path) -> None:
    taken(written(tmp_path / "c.pcap"), tmp_path / "lake")
    (tmp_path / "c.gz").write_bytes(gzip.compress((tmp_path / "c.pcap").read_bytes()))
    blocks = [packet(frame, ticks=at_s * 10**6 + at_us, wire=size) for at_s, at_us, frame, size in PACKETS]
    named = interface(option(2, b"eth0"))
    (tmp_path / "c.pcapng").write_bytes(section() + named + b"".join(blocks))

    again = [taken(tmp_path / name, tmp_path / "lake") for name in ("c.gz", "c.pcapng")]

    assert [report.status for report in again] == ["already there"] * 2
    assert "its packets are those of" in again[0].message
    assert packets_in(tmp_path / "lake") == ONCE


def test_other_bins_take_the_place_of_those_that_were_there(tmp_path: Path) -> None:
    path = written(tmp_path / "c.pcap")
    for options in ({}, {"bin_s": 0.01}, {"series_by": "flow"}):
        report = taken(path, tmp_path / "lake", **options)
        assert report.status == "read"
        assert packets_in(tmp_path / "lake") == ONCE

    assert [item.what for item in report.skipped] == [str(path)]
    assert "takes its place" in report.skipped[0].why
    assert Lake.open(tmp_path / "lake").states() == {"ok": 1}


def test_capture_that_has_grown_takes_the_place_of_its_parts_and_they_are_there_then(tmp_path: Path) -> None:
    for name, start, stop in (("a", 0, 200), ("b", 200, 300)):
        taken(written(tmp_path / f"{name}.pcap", start, stop), tmp_path / "lake")

    assert taken(written(tmp_path / "whole.pcap"), tmp_path / "lake").status == "read"
    assert taken(tmp_path / "a.pcap", tmp_path / "lake").status == "already there"
    assert packets_in(tmp_path / "lake") == ONCE


def test_what_has_some_of_the_packets_is_refused_unless_it_was_captured_elsewhere(tmp_path: Path) -> None:
    taken(written(tmp_path / "c.pcap", 0, 400), tmp_path / "lake", host="near")
    other = written(tmp_path / "d.pcap", 200, 600)
    report = taken(other, tmp_path / "lake", host="near")

    assert report.status == "failed"
    assert "has 2 flows of it already" in report.message
    assert "say where by --host" in report.message
    assert packets_in(tmp_path / "lake") == [400] * 3
    assert Lake.open(tmp_path / "lake").states() == {"ok": 1}
    assert taken(other, tmp_path / "lake", host="far").status == "read"
    assert sorted(set(Lake.open(tmp_path / "lake").read("flows")["point"].to_pylist())) == ["far", "near"]


@pytest.mark.parametrize(("first", "second"), [("h", None), (None, "h")])
def test_place_that_was_not_told_may_be_any(tmp_path: Path, first: str | None, second: str | None) -> None:
    taken(written(tmp_path / "c.pcap"), tmp_path / "lake", host=first)

    assert taken(tmp_path / "c.pcap", tmp_path / "lake", host=second).status == "already there"

    taken(written(tmp_path / "d.pcap", 0, 400), tmp_path / "other", host=first)
    report = taken(written(tmp_path / "e.pcap", 200), tmp_path / "other", host=second)

    assert report.status == "failed"
    assert ("say where by --host" in report.message) == (first is not None)
    assert packets_in(tmp_path / "other") == [400] * 3


def test_packets_that_are_others_by_their_bins_are_not_lost(tmp_path: Path) -> None:
    """Of one flow, at the same times as others and fewer: what goes over two ports by turns, or another day's load."""
    chosen = [i % 20 < 12 for i in range(N_PACKETS)]  # of each second bin all but one, of the others one
    for name, part in (("p0", True), ("p1", False)):
        packets = [row for row, is_one in zip(PACKETS, chosen, strict=True) if is_one is part]
        (tmp_path / f"{name}.pcap").write_bytes(pcap(packets[3:-3] if name == "p1" else packets))

    for order in ("p0", "p1"), ("p1", "p0"):
        reports = [taken(tmp_path / f"{name}.pcap", tmp_path / order[0]) for name in order]

        assert [report.status for report in reports] == ["read", "failed"]
        assert "could count twice" in reports[1].message


def test_files_of_a_rotation_share_nothing_though_late_packets_are_in_the_next(tmp_path: Path) -> None:
    # Of the last 4 ms of the first file, each second bin lost eight of ten packets to the second file.
    late = [i for i in range(360, 400) if i // 10 % 2 and i % 10 > 1]
    (tmp_path / "a.pcap").write_bytes(pcap([row for i, row in enumerate(PACKETS[:400]) if i not in late]))
    (tmp_path / "b.pcap").write_bytes(pcap([PACKETS[i] for i in late]))

    reports = [taken(tmp_path / f"{name}.pcap", tmp_path / "lake") for name in "ab"]

    assert [report.status for report in reports] == ["read", "read"]
    assert packets_in(tmp_path / "lake") == [400] * 3


def test_packets_of_a_short_last_file_that_may_be_there_or_not_are_refused(tmp_path: Path) -> None:
    late = [382]  # of one flow, of which two others are in the same bin
    (tmp_path / "a.pcap").write_bytes(pcap([row for i, row in enumerate(PACKETS[:400]) if i not in late]))
    (tmp_path / "b.pcap").write_bytes(pcap([PACKETS[i] for i in late]))

    reports = [taken(tmp_path / f"{name}.pcap", tmp_path / "lake") for name in "ab"]

    assert [report.status for report in reports] == ["read", "failed"]


def test_bins_of_long_captures_are_compared_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_bins, "_BLOCK_ROWS", 30)
    taken(written(tmp_path / "a.pcap", 200, 400), tmp_path / "lake", bin_s=0.003)

    assert taken(written(tmp_path / "whole.pcap"), tmp_path / "lake").status == "read"
    assert taken(tmp_path / "a.pcap", tmp_path / "lake").status == "already there"
    assert packets_in(tmp_path / "lake") == ONCE

    packets = [PACKETS[0], *[PACKETS[150]] * 40, PACKETS[1], PACKETS[2], *PACKETS[-3:]]  # 40 of a flow in one bin
    (tmp_path / "b.pcap").write_bytes(pcap(packets))
    assert taken(tmp_path / "b.pcap", tmp_path / "lake").status == "failed"


def test_file_whose_start_the_lake_has_is_not_followed(tmp_path: Path) -> None:
    taken(written(tmp_path / "a.pcap", 0, 400), tmp_path / "lake")

    report = follow(written(tmp_path / "b.pcap", 310), lake=tmp_path / "lake", stop=lambda: True)

    assert report.status == "failed"
    assert "without --follow" in report.message


def test_capture_that_was_begun_anew_before_the_other_ended_is_refused(tmp_path: Path) -> None:
    taken(written(tmp_path / "a.pcap", 0, 400), tmp_path / "lake")

    report = taken(written(tmp_path / "b.pcap", 310), tmp_path / "lake")  # 9 ms of both

    assert report.status == "failed"
    assert packets_in(tmp_path / "lake") == [400] * 3


def test_capture_of_packets_without_addresses_that_has_grown_takes_the_place_of_its_part(tmp_path: Path) -> None:
    for name, n in (("a", 50), ("b", 100), ("c", 50)):
        (tmp_path / name).write_bytes(pcap([(1_700_000_000, i * 10_000, FRAMES[2], 1000) for i in range(n)]))

    reports = [taken(tmp_path / name, tmp_path / "lake") for name in "abc"]

    assert [report.status for report in reports] == ["read", "read", "already there"]
    assert packets_in(tmp_path / "lake") == [100] * 3


def test_packets_without_addresses_may_be_at_two_places_at_one_time(tmp_path: Path) -> None:
    for number, frame in enumerate(FRAMES):
        packets = [(1_700_000_000, i * STEP_US + number, each, 1000) for i in range(9) for each in (frame, FRAMES[2])]
        (tmp_path / f"{number}.pcap").write_bytes(pcap(packets[: 18 - number]))

    reports = [taken(tmp_path / f"{number}.pcap", tmp_path / "lake") for number in range(2)]

    assert [report.status for report in reports] == ["read", "read"]


def test_of_two_who_ingest_the_same_packets_at_once_one_does(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True).root
    paths = [written(tmp_path / "c.pcap"), tmp_path / "c.gz"]
    paths[1].write_bytes(gzip.compress(paths[0].read_bytes()))

    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda path: taken(path, lake), paths))

    assert sorted(report.status for report in reports) == ["already there", "read"]


def in_parts(tmp_path: Path) -> Path:
    """Return a lake of two files that was compacted: its samples are no more those of either."""
    for name, start, stop in (("a", 0, 200), ("b", 200, 300)):
        taken(written(tmp_path / f"{name}.pcap", start, stop), tmp_path / "parts")
    compact(Lake.open(tmp_path / "parts"))
    return tmp_path / "parts"


def test_what_was_compacted_cannot_be_replaced(tmp_path: Path) -> None:
    lake = in_parts(tmp_path)

    report = taken(written(tmp_path / "whole.pcap"), lake)

    assert report.status == "failed"
    assert "was compacted" in report.message
    assert "--host" not in report.message
    assert taken(written(tmp_path / "rest.pcap", 300), lake).status == "read"
    assert taken(written(tmp_path / "a.gz", 0, 200), lake).status == "already there"
    assert packets_in(lake) == ONCE


def test_lake_that_was_compacted_counts_once_in_another(tmp_path: Path) -> None:
    parts, lake = in_parts(tmp_path), tmp_path / "lake"
    assert {report.status for report in ingest(parts, lake=lake).inputs} == {"read"}
    assert packets_in(lake) == [300] * 3

    assert taken(written(tmp_path / "whole.pcap"), lake).status == "failed"
    assert packets_in(lake) == [300] * 3

    taken(tmp_path / "whole.pcap", tmp_path / "one")
    reports = ingest(parts, lake=tmp_path / "one").inputs

    assert {report.status for report in reports} == {"failed"}
    assert all("merged there by compaction" in report.message for report in reports)
    assert packets_in(tmp_path / "one") == ONCE


def test_capture_that_was_not_finished_in_its_lake_is_not_merged(tmp_path: Path) -> None:
    path, lake = written(tmp_path / "c.pcap"), tmp_path / "lake"
    taken(path, lake)
    recording = Recording(recording_id="f" * 64, source="grown", format="capture", parameters={"bin_s": 0.001})
    one = Lake.open(tmp_path / "one", create=True)
    with suppress(KeyboardInterrupt), one.writer(recording) as writer:
        (rows,) = Lake.open(lake).files("flows")
        writer.write_flows(pq.read_table(rows))
        raise KeyboardInterrupt

    (report,) = ingest(one.root, lake=lake).inputs

    assert report.status == "failed"
    assert "nothing of it was taken" in report.message
    assert packets_in(lake) == ONCE
    assert taken(path, one.root).status == "read"  # in place of flows whose bins were never written
    assert packets_in(one.root) == ONCE


def test_capture_without_times_is_told_by_its_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    path.write_bytes(section() + interface() + b"".join(simple_packet(frame) for frame in FRAMES))
    (tmp_path / "c.gz").write_bytes(gzip.compress(path.read_bytes()))

    assert taken(path, tmp_path / "lake").status == "read"
    assert taken(tmp_path / "c.gz", tmp_path / "lake").status == "already there"


def test_followed_file_is_there_when_it_is_ingested_and_replaced_once_it_has_grown(tmp_path: Path) -> None:
    path, lake = written(tmp_path / "c.pcap", 0, 400), tmp_path / "lake"
    assert follow(path, lake=lake, stop=lambda: True).status == "read"
    assert taken(path, lake).status == "already there"
    assert taken(written(path), lake).status == "read"
    assert packets_in(lake) == ONCE

    refused = follow(path, lake=lake, stop=lambda: True)

    assert refused.status == "failed"
    assert "without --follow" in refused.message
    assert packets_in(lake) == ONCE


def test_lake_that_has_the_packets_too_is_not_merged_in(tmp_path: Path) -> None:
    path = written(tmp_path / "c.pcap")
    taken(path, tmp_path / "one")
    path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
    taken(path.with_suffix(".gz"), tmp_path / "two")

    (report,) = ingest(tmp_path / "two", lake=tmp_path / "one").inputs

    assert report.status == "already there"
    assert packets_in(tmp_path / "one") == ONCE


def test_equal_files_of_one_bin_add_up_and_do_not_contradict(tmp_path: Path) -> None:
    for start in range(0, 9, 3):  # one packet of each flow in each of three files, all within a millisecond
        taken(written(tmp_path / f"{start}.pcap", start, start + 3), tmp_path / "lake")

    assert packets_in(tmp_path / "lake") == [9] * 3
    found = check_lake(Lake.open(tmp_path / "lake"))
    assert not found.problems
    assert "in both" not in "".join(found.notes)
