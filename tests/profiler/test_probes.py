"""Probes: the bytes of a job's own sockets, and statistics of drivers, against what was sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.live_sources import LiveSources
from profiler.collectors import ethtool, find_sources
from profiler.collectors.ethtool import EthtoolProbe, known_statistic
from profiler.collectors.sockets import SocketsProbe
from profiler.errors import NotHere, UsageError
from profiler.record import Sampler, Timing, opened, record
from profiler.store import Lake
from tests.data import ROOT
from tests.profiler.talkers import Talker, probe_of, talking

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def talker() -> Iterator[Talker]:
    with talking() as found:
        yield found


SYS_ROOT = ROOT / "tests" / "fixtures" / "sys"


def settled(probe: SocketsProbe, total: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Read until both directions have arrived, looking up sockets at each read."""
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_DUTY", 1e9)
    for _ in range(200):
        found = list(probe.read())
        if found == [total, total]:
            return found
    return found


def test_bytes_of_sockets_are_those_that_the_process_sent(talker: Talker, monkeypatch: pytest.MonkeyPatch) -> None:
    talker.tell("send", 5_000)
    probe = probe_of(talker.process.pid)

    assert list(probe.read()) == [0, 0]  # what was before does not count
    talker.tell("send", 3_000_000)

    assert settled(probe, 3_000_000, monkeypatch) == [3_000_000, 3_000_000]
    probe.close()


def test_sockets_opened_later_count_from_their_first_byte(talker: Talker, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = probe_of(talker.process.pid)

    talker.tell("connect", 2)
    talker.tell("send", 1_000)

    assert settled(probe, 3_000, monkeypatch) == [3_000, 3_000]
    probe.close()


def test_sockets_of_children_count_and_those_of_other_processes_do_not(
    talker: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = Talker(nested=True)
    probe = probe_of(nested.process.pid)

    talker.tell("send", 777)
    nested.tell("send", 1_000)

    assert settled(probe, 1_000, monkeypatch) == [1_000, 1_000]
    nested.end()
    probe.close()


def test_what_was_counted_stays_once_the_process_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    talker = Talker()
    probe = probe_of(talker.process.pid)
    talker.tell("send", 1_000)
    assert settled(probe, 1_000, monkeypatch) == [1_000, 1_000]

    talker.end()

    assert list(probe.read()) == [1_000, 1_000]
    assert probe.is_over
    probe.close()


def test_a_process_that_is_not_there_is_named() -> None:
    with pytest.raises(NotHere, match="pid999999999: no such process"):
        SocketsProbe.of_process(999_999_999, host="h1", interval_s=1.0)


def test_a_connection_that_is_handed_over_counts_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_DUTY", 1e9)
    one, other = Talker(), Talker()
    members = {one.process.pid}
    try:
        probe = SocketsProbe("job", pids=lambda: members, host="h1", interval_s=10.0)
        other.tell("send", 50_000)
        assert list(probe.read()) == [0, 0]
        members.add(other.process.pid)  # as a process that joins a control group
        probe.read()
        other.tell("send", 1_000)
        assert settled(probe, 1_000, monkeypatch) == [1_000, 1_000]
        probe.close()
    finally:
        one.end()
        other.end()


def test_sockets_that_have_ended_are_forgotten_and_their_bytes_are_not(
    talker: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = probe_of(talker.process.pid)
    other = Talker()
    other.tell("connect", 20)
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.ownership.LOOK_DUTY", 1e9)
    probe.read()
    n_known = probe._ownership.n_known
    other.end()
    probe.read()
    assert probe._ownership.n_known <= n_known - 40
    probe.close()


def test_what_is_not_seen_and_what_a_read_costs_is_said(talker: Talker) -> None:
    probe = probe_of(talker.process.pid)
    cost, losses = probe.remarks
    assert "a read takes" in cost
    assert "payload of TCP alone" in losses
    assert "open for less than 10 s, or 10 s if its process had just begun" in losses
    probe.close()


def test_an_interval_that_reading_would_fill_is_refused_with_one_that_serves(talker: Talker) -> None:
    probe_of(talker.process.pid).close()

    with pytest.raises(UsageError, match=r"take --interval .*ms or more"):
        SocketsProbe.of_process(talker.process.pid, host="h1", interval_s=1e-6)


def test_a_recording_of_sockets_is_two_series_of_one_window(talker: Talker) -> None:
    probe = probe_of(talker.process.pid)
    with opened([probe], host="h1") as found:
        (chunk,) = Sampler(found.counters, interval_s=0.05, chunk_s=10.0).chunks(stop=lambda: False, duration_s=0.2)

    assert [(counter.series.device, counter.series.direction) for counter in chunk.counters] == [
        (f"pid{talker.process.pid}", "transmit"),
        (f"pid{talker.process.pid}", "receive"),
    ]
    assert (chunk.t_ns[0] == chunk.t_ns[1]).all()
    assert (chunk.window_ns[0] == chunk.window_ns[1]).all()
    assert chunk.window_ns.min() > 0


def test_recording_a_process_ends_with_it(talker: Talker, tmp_path: Path) -> None:
    probe_of(talker.process.pid).close()
    other = Talker()
    program = "from pipeline.cli.main import run; run()"
    command = [sys.executable, "-c", program, "record", "--lake", str(tmp_path / "lake"), "--json"]
    recorder = subprocess.Popen(
        [*command, "--pid", str(other.process.pid), "--interval", "50ms"], stdout=subprocess.PIPE, text=True
    )
    try:
        while not list((tmp_path / "lake").rglob("*.sqlite*")):
            assert recorder.poll() is None
        other.tell("send", 1_000)
        other.end()
        printed, _ = recorder.communicate(timeout=60)
    finally:
        recorder.kill()

    summary: dict[str, Any] = json.loads(printed)
    assert recorder.returncode == 0
    assert summary["sources"] == [f"pid{other.process.pid}"]
    assert summary["failed"] == []


# Drivers


class FakeDriver:
    def __init__(self, interface: str) -> None:
        if interface != "eth0":
            raise OSError(19, "No such device")
        self.n_reads = 0

    def get_statistics(self) -> list[tuple[str, int]]:
        self.n_reads += 1
        return [
            ("rx_bytes", 1),
            ("rx_bytes_phy", 10 * self.n_reads),
            ("tx_vport_rdma_unicast_bytes", 7),
            ("rx0_csum", 3),
        ]

    def close(self) -> None:
        pass


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyroute2.ethtool.ioctl.IoctlEthtool", FakeDriver)


@pytest.mark.usefixtures("driver")
def test_statistics_that_the_kernel_does_not_have_are_read_by_one_question() -> None:
    probe = EthtoolProbe("eth0", host="h1", interval_s=1.0)

    found = {(c.series.raw_name, c.series.layer, c.series.direction) for c in probe.counters()}

    assert found == {
        ("rx_bytes_phy", "wire", "receive"),
        ("tx_vport_rdma_unicast_bytes", "rdma_vport", "transmit"),
    }
    assert probe.read()[1] == 7
    assert probe.cost_s < 0.01


@pytest.mark.usefixtures("driver")
def test_only_the_statistics_asked_for_are_read_and_the_cost_is_said() -> None:
    sources, _ = LiveSources(drivers=["eth0:rx0_csum, rx_bytes"]).find(Path("/sys"), host="h1", interval_s=1.0)
    (probe,) = sources
    assert isinstance(probe, EthtoolProbe)
    assert [counter.series.raw_name for counter in probe.counters()] == ["rx0_csum", "rx_bytes"]
    assert probe.read() == [3, 1]
    assert [(counter.series.metric, counter.series.unit) for counter in probe.counters()] == [
        ("rx0_csum", "events"),
        ("bytes", "bytes"),
    ]
    (remark,) = probe.remarks
    assert "a read of its driver's statistics takes" in remark
    assert "of the time" in remark


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(("interface", "names"), [("eth0", ["no_such"]), ("eth9", [])])
def test_what_a_driver_does_not_count_is_named(interface: str, names: list[str]) -> None:
    with pytest.raises(NotHere, match=interface):
        EthtoolProbe(interface, host="h1", interval_s=1.0, names=names)


@pytest.mark.usefixtures("driver")
def test_a_driver_that_is_slow_is_not_asked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ethtool, "MAX_DUTY", 1e-9)

    with pytest.raises(UsageError, match="too long for every 10 ms"):
        EthtoolProbe("eth0", host="h1", interval_s=0.01)


def test_names_of_queues_are_not_those_of_the_interface() -> None:
    assert known_statistic("rx0_bytes") is None
    assert known_statistic("tx_bytes_phy") == ("bytes", "transmit", "wire")


@pytest.mark.usefixtures("driver")
def test_an_interface_that_goes_away_is_dropped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyroute2.ethtool.ioctl import NoSuchDevice

    probe = EthtoolProbe("eth0", host="h1", interval_s=1.0)

    def gone(_driver: FakeDriver) -> list[tuple[str, int]]:
        raise NoSuchDevice("eth0")

    with opened([probe], host="h1") as found:
        sampler = Sampler(found.counters, interval_s=0.01)
        monkeypatch.setattr(FakeDriver, "get_statistics", gone)
        assert list(sampler.chunks(stop=lambda: False, duration_s=0.1)) == []

    assert sampler.counters == ()
    assert "tells its statistics no more (NoSuchDevice)" in str(sampler.broken[0])


def drivers_of(*asked: str) -> list[Any]:
    return list(LiveSources(drivers=asked).find(Path("/sys"), host="h1", interval_s=1.0)[0])


@pytest.mark.usefixtures("driver")
def test_drivers_named_twice_are_read_once_and_two_counters_of_one_series_are_refused() -> None:
    (probe,) = drivers_of("eth0:rx_bytes,rx_bytes", "eth0:rx_bytes")
    assert len(probe.counters()) == 1

    twice = drivers_of("eth0", "eth0:rx_bytes_phy")
    with pytest.raises(UsageError, match="eth0: rx_bytes_phy is named twice"), opened(twice, host="h1"):
        pass


@pytest.mark.usefixtures("driver")
def test_a_drivers_count_of_what_the_kernel_counts_is_never_mixed_into_it_and_its_links_speed_stays_known(
    tmp_path: Path,
) -> None:
    ports = find_sources(SYS_ROOT, ifaces=["eth0"])
    with (
        pytest.raises(UsageError, match="eth0: rx_bytes is named twice, for ethtool and nic"),
        opened([*ports, *drivers_of("eth0:rx_bytes")], host="h1"),
    ):
        pass

    lake = Lake.open(tmp_path / "lake", create=True)
    timing = Timing(interval_s=0.01, duration_s=0.02)
    record(lake, [*ports, *drivers_of("eth0:rx_bytes_phy")], host="h1", timing=timing, stop=lambda: False)
    (row,) = lake.read("recordings").to_pylist()
    assert json.loads(row["parameters"])["speed_bps"] == {"eth0": ports[0].speed_bps}
    assert ports[0].speed_bps
