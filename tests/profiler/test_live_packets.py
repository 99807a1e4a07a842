"""Packets captured while they come, on interfaces made for it: what was sent is what the lake holds."""

from __future__ import annotations

import socket
import time
from ctypes.util import find_library
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from profiler.collectors import libpcap
from profiler.collectors.blind import uncaptured
from profiler.collectors.packets import SNAP_BYTES, PacketTap
from profiler.errors import LakeError, NotHere, SourceBroken, UsageError
from profiler.importers import Options, ingest
from profiler.record import WantedPackets, check_packets, record_packets
from profiler.store import Lake
from tests.profiler.captures_verbs import CNP, SEND_ONLY, WRITE_ONLY, roce2, verb
from tests.profiler.frames import ethernet, ipv4, pcap, ports
from tests.profiler.namespaces import entered, ip, namespace_of, pair_of_interfaces
from tests.profiler.rights import rights_of_nobody

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from profiler.record import PacketsSummary

ROCE = "udp port 4791"
LONGEST_S = 10.0
"""A machine so busy that a packet takes longer from one end of a cable to the other fails the test."""

pytestmark = pytest.mark.skipif(find_library("pcap") is None, reason="packets are captured with libpcap")


@pytest.fixture
def namespace() -> Iterator[str]:
    """Be where there are two interfaces, w-a and w-b, joined to each other."""
    with namespace_of("packets") as name, entered(name):
        pair_of_interfaces(name, "w")
        yield name


def send(*frames: bytes, by: str = "w-a") -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((by, 0))
        for frame in frames:
            sender.send(frame)


def steps(*actions: Callable[[], object]) -> Callable[[], bool]:
    """Return what does one thing each time that it is asked whether to stop, and says yes when none is left."""
    left = iter(actions)
    return lambda: next((action() is StopIteration for action in left), True)


def record(
    folder: Path,
    *actions: Callable[[], object],
    by: Literal["pair", "flow"] = "pair",
    packet_filter: str = ROCE,
) -> PacketsSummary:
    """Capture on w-b while things happen, one after the other."""
    options = Options(host="h1", series_by=by)
    wanted = WantedPackets(iface="w-b", packet_filter=packet_filter, options=options, duration_s=LONGEST_S)
    return record_packets(Lake.open(folder / "lake", create=True), wanted, stop=steps(*actions))


def samples(lake: Lake) -> pa.Table:
    files = [pq.read_table(path) for path in lake.files("samples")]
    return pa.concat_tables(files) if files else pa.table({"value": []})


def recorded(folder: Path) -> dict[str, object]:
    (row,) = Lake.open(folder / "lake").read("recordings").to_pylist()
    return dict(row)


@pytest.mark.usefixtures("namespace")
def test_lake_holds_what_was_sent_packet_by_packet_and_byte_by_byte(tmp_path: Path) -> None:
    write = roce2(verb(WRITE_ONLY, qp=17, psn=1, n_payload=1000))
    answers = [roce2(verb(SEND_ONLY, qp=18, psn=psn, n_payload=64), ends=("10.9.0.2", "10.9.0.1")) for psn in (1, 2, 2)]
    notice = roce2(verb(CNP, qp=17, psn=0))
    other = ethernet(ipv4(ports(1000, 53, bytes(99)), ("10.9.0.1", "10.9.0.2"), proto=17), 0x0800)
    assert len(write) > SNAP_BYTES  # bytes are those on the wire, not those that were kept

    sent = [*[write] * 40, *answers, other, notice]
    summary = record(tmp_path, lambda: send(*sent), by="flow")

    n_bytes = 40 * len(write) + sum(map(len, answers)) + len(notice)
    assert summary.totals["packets"] == 44
    assert summary.totals["wire_bytes"] == n_bytes
    assert summary.totals["payload_bytes"] == 40 * 1000 + 3 * 64
    assert (summary.totals["cnps"], summary.totals["dropped"], summary.is_cut) == (1, 0, False)
    assert summary.warnings == ()
    lake = Lake.open(tmp_path / "lake")
    flows = {(row["dst"], row["qp"]): (row["packets"], row["bytes"]) for row in lake.read("flows").to_pylist()}
    assert flows[("10.9.0.1", 18)] == (3, sum(map(len, answers)))
    assert sum(packets for packets, _ in flows.values()) == 44
    series = lake.read("series").to_pylist()
    assert {(row["layer"], row["unit"]) for row in series} == {("capture", "bytes"), ("capture", "packets")}
    of_bytes = [row["series_id"] for row in series if row["metric"] == "bytes"]
    assert (
        pc.sum(samples(lake).filter(pc.field("series_id").isin(pa.array(of_bytes, pa.uint64())))["value"]).as_py()
        == n_bytes
    )
    row = recorded(tmp_path)
    assert (row["source"], row["format"], row["status"], row["message"]) == ("w-b", "capture", "ok", None)
    assert '"filter": "udp port 4791"' in str(row["parameters"])


@pytest.mark.usefixtures("namespace")
def test_samples_are_in_the_lake_while_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.record.packets.SEAL_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.importers.captures.reader._WRITE_EVERY_NS", 0)
    monkeypatch.setattr("profiler.importers.captures.reader._LATENESS_NS", 0)
    seen = list[int]()
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1))

    def look() -> None:
        seen.append(samples(Lake.open(tmp_path / "lake")).num_rows)

    def pause() -> None:
        time.sleep(0.06)  # longer than the kernel's ring keeps a block
        send(frame)

    record(tmp_path, *[pause, look] * 6)
    assert seen[-1] > 0


@pytest.mark.usefixtures("namespace")
def test_packets_that_the_kernel_dropped_are_told_and_with_those_counted_are_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiler.collectors.packets._RING_BYTES", 1 << 18)
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1, n_payload=400))
    summary = record(tmp_path, lambda: send(*[frame] * 3000))

    assert summary.totals["dropped"] > 0
    assert summary.totals["packets"] + summary.totals["dropped"] == 3000
    (warning,) = summary.warnings
    assert warning.startswith(f"w-b: {summary.totals['dropped']} packets dropped by the kernel")
    assert recorded(tmp_path)["message"] == warning
    assert recorded(tmp_path)["status"] == "partial"


def test_interface_that_goes_away_ends_it_and_what_came_is_kept(namespace: str, tmp_path: Path) -> None:
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1))
    summary = record(
        tmp_path,
        lambda: send(*[frame] * 5),
        lambda: time.sleep(0.1),
        lambda: None,
        lambda: ip(namespace, "link", "del", "w-a"),
        *[lambda: None] * 100,
    )

    assert summary.is_cut
    assert summary.duration_s < LONGEST_S / 2
    assert summary.totals["packets"] == 5
    (warning,) = summary.warnings
    assert warning.startswith("w-b: ")
    assert warning.endswith("after the start; what came before is kept; record again once it is back")
    assert recorded(tmp_path)["status"] == "partial"
    assert Lake.open(tmp_path / "lake").read("flows")["packets"].to_pylist() == [5]


def test_interface_that_was_down_for_a_while_is_told(namespace: str, tmp_path: Path) -> None:
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1))
    summary = record(
        tmp_path,
        lambda: send(frame),
        lambda: time.sleep(0.1),
        lambda: ip(namespace, "link", "set", "w-b", "down"),
        lambda: None,
        lambda: ip(namespace, "link", "set", "w-b", "up"),
        *[lambda: None] * 6,
        lambda: send(frame, frame),
    )

    assert summary.totals["packets"] == 3
    assert not summary.is_cut
    (warning,) = summary.warnings
    assert warning.startswith("w-b: down for")


def test_interface_that_is_down_at_the_end_is_told_as_a_fault(namespace: str, tmp_path: Path) -> None:
    summary = record(tmp_path, lambda: ip(namespace, "link", "set", "w-a", "down"), *[lambda: None] * 3)

    assert summary.is_cut
    assert "to the end; is its link up?" in summary.warnings[0]
    assert "no packet came" in summary.remarks[0]


@pytest.mark.usefixtures("namespace")
def test_time_to_record_is_kept(tmp_path: Path) -> None:
    wanted = WantedPackets(iface="w-b", duration_s=0.2)
    summary = record_packets(Lake.open(tmp_path / "lake", create=True), wanted, stop=lambda: False)

    assert 0.2 <= summary.duration_s < LONGEST_S
    assert recorded(tmp_path)["status"] == "ok"


@pytest.mark.usefixtures("namespace")
def test_unknown_interface_is_named_with_those_that_there_are() -> None:
    with pytest.raises(NotHere, match=r"eth77: no such interface; there are .*w-[ab]"):
        check_packets(WantedPackets(iface="eth77"))


@pytest.mark.usefixtures("namespace")
def test_filter_that_is_none_is_told_in_the_words_of_libpcap() -> None:
    with pytest.raises(UsageError, match=r"--filter 'upd port 4791': .*syntax error"):
        check_packets(WantedPackets(iface="w-a", packet_filter="upd port 4791"))


def test_without_the_right_to_capture_it_is_told_how_to_get_it() -> None:
    with rights_of_nobody(), pytest.raises(SourceBroken, match=r"lo: no right to capture .* sudo setcap cap_net_raw"):
        PacketTap("lo")


def test_without_libpcap_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libpcap, "find_library", lambda _name: None)
    libpcap.library.cache_clear()
    libpcap.bindings.cache_clear()
    with pytest.raises(NotHere, match="install libpcap"):
        PacketTap("lo")


def test_rdma_that_is_not_captured_is_told_by_the_name_of_its_device(tmp_path: Path) -> None:
    for folder in (
        "net/eth9/statistics",
        "net/eth9/device/infiniband/mlx5_7",
        "net/eth8/statistics",
        "infiniband/mlx5_7",
    ):
        (tmp_path / "class" / folder).mkdir(parents=True)

    assert uncaptured("eth9", tmp_path).startswith(
        "eth9: RDMA of mlx5_7 passes by the network stack and is not captured"
    )
    assert "it takes a mirror port, or the RDMA device" in uncaptured("eth8", tmp_path)
    assert uncaptured("mlx5_7", tmp_path) == ""


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("n_before", [0, 3])
def test_of_two_recorders_of_one_interface_each_packet_counts_once(tmp_path: Path, n_before: int) -> None:
    """The other one records within the time of the first, which may have seen packets before."""
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1))
    others: list[PacketsSummary] = []

    def record_beside() -> None:
        wider = f"{ROCE} or icmp"
        others.append(record(tmp_path, lambda: send(frame, frame), lambda: time.sleep(0.06), packet_filter=wider))

    first = record(tmp_path, lambda: send(*[frame] * n_before), lambda: time.sleep(0.06), record_beside)

    assert (others[0].totals["packets"], first.totals["packets"]) == (2, 2 + n_before)
    lake = Lake.open(tmp_path / "lake")
    kept = first if n_before else others[0]
    assert [row["recording_id"] for row in lake.read("recordings").to_pylist()] == [kept.recording_id]
    assert lake.read("flows")["packets"].to_pylist() == [2 + n_before]
    told = " ".join((*first.warnings, *first.remarks))
    assert ("takes its place" in told) if n_before else ("nothing to do: its packets are those of w-b" in told)
    assert (first.n_samples > 0, first.is_refused) == (n_before > 0, False)


@pytest.mark.usefixtures("namespace")
def test_what_is_being_recorded_is_not_recorded_by_another_too(tmp_path: Path) -> None:
    def record_beside() -> None:
        with pytest.raises(LakeError, match="another process is capturing on w-b into this lake, with the same filter"):
            record(tmp_path)

    record(tmp_path, record_beside)
    record(tmp_path)
    assert Lake.open(tmp_path / "lake").states() == {"ok": 2}


@pytest.mark.usefixtures("namespace")
def test_recorder_whose_packets_the_lake_has_in_part_is_refused(tmp_path: Path) -> None:
    frame = roce2(verb(SEND_ONLY, qp=1, psn=1))
    lake = Lake.open(tmp_path / "lake", create=True)
    now_ns = time.time_ns()
    capture = pcap([(now_ns // 10**9 - 1, 0, frame, len(frame)), (now_ns // 10**9 + 30, 0, frame, len(frame))] * 2)
    (tmp_path / "c.pcap").write_bytes(capture)
    (report,) = ingest(tmp_path / "c.pcap", lake=lake, host="h1").inputs
    assert report.status == "read"

    summary = record(tmp_path, lambda: send(*[frame] * 9), lambda: time.sleep(0.06))

    assert (summary.is_refused, summary.n_samples, summary.files) == (True, 0, ())
    assert "they could count twice, so nothing of it was taken" in summary.warnings[-1]
    assert lake.read("flows")["packets"].to_pylist() == [4]
