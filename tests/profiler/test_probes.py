"""Probes: the bytes of a job's own sockets, and statistics of drivers, against what was sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.cli.live_sources import LiveSources
from profiler.collectors import ethtool
from profiler.collectors.ethtool import EthtoolProbe, known_statistic
from profiler.collectors.processes import ProcessTree, cgroup_processes, checked_rights, process_tree, socket_inodes
from profiler.collectors.sockets import SocketsProbe
from profiler.errors import NotHere, UsageError
from profiler.record import Sampler, opened
from tests.profiler.rights import rights_of_nobody

if TYPE_CHECKING:
    from collections.abc import Iterator

TALKER = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def drain(end):
    while end.recv(1 << 20):
        pass
def connect():
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    threading.Thread(target=drain, args=(far,), daemon=True).start()
    return near
ends = [connect()]
for line in sys.stdin:
    word, number = line.split()
    if word == "connect":
        ends += [connect() for _ in range(int(number))]
    for end in ends:
        if word == "send":
            end.sendall(b"x" * int(number))
    print("done", flush=True)
"""


class Talker:
    """A process that sends on its own sockets what it is told to."""

    def __init__(self, *, nested: bool = False) -> None:
        inner = [sys.executable, "-c", TALKER]
        shell = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *inner]
        self.process = subprocess.Popen(
            shell if nested else inner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tell("send", 0)

    def tell(self, word: str, number: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def end(self) -> None:
        self.process.communicate(timeout=20)


@pytest.fixture
def talker() -> Iterator[Talker]:
    found = Talker()
    yield found
    found.end()


def probe_of(pid: int) -> SocketsProbe:
    try:
        return SocketsProbe.of_process(pid, host="h1", interval_s=10.0)
    except NotHere as error:
        pytest.skip(f"the kernel tells nothing of sockets here: {error}")


def settled(probe: SocketsProbe, total: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Read until both directions have arrived, looking up sockets at each read."""
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_DUTY", 1e9)
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
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_DUTY", 1e9)
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
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("profiler.collectors.sockets.LOOK_DUTY", 1e9)
    probe.read()
    n_known = len(probe._seen) + len(probe._foreign)
    other.end()
    probe.read()
    assert len(probe._seen) + len(probe._foreign) <= n_known - 40
    probe.close()


def test_what_is_not_seen_and_what_a_read_costs_is_said(talker: Talker) -> None:
    probe = probe_of(talker.process.pid)
    cost, losses = probe.remarks
    assert "a read takes" in cost
    assert "payload of TCP alone" in losses
    assert "open for less than 10000 ms" in losses
    probe.close()


def test_another_users_processes_are_refused_rather_than_counted_as_silent(tmp_path: Path) -> None:
    (tmp_path / "7" / "fd").mkdir(parents=True)
    (tmp_path / "7" / "fd").chmod(0)
    with rights_of_nobody(), pytest.raises(NotHere, match="process 7 is another user's"):
        checked_rights({7, 8}, proc=tmp_path)
    (tmp_path / "7" / "fd").chmod(0o755)


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


# Processes


def save_process(proc: Path, pid: int, *, parent: int, name: str = "python", started: int = 0) -> None:
    (proc / str(pid)).mkdir(exist_ok=True)
    between = " ".join(["0"] * 17)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} {between} {started} 0 0")


def test_a_tree_of_processes_has_its_children(talker: Talker) -> None:
    assert talker.process.pid in process_tree(os.getpid())
    assert process_tree(talker.process.pid) == {talker.process.pid}
    assert process_tree(999_999_999) == set()
    assert len(socket_inodes({talker.process.pid})) >= 3


def test_a_child_whose_parent_has_ended_stays_in_the_tree_and_its_number_is_no_one_elses(tmp_path: Path) -> None:
    for pid, parent in ((1, 0), (2, 1), (3, 2)):
        save_process(tmp_path, pid, parent=parent, started=pid)
    tree = ProcessTree(2, proc=tmp_path)
    assert tree.processes() == {2, 3}

    (tmp_path / "2" / "stat").unlink()
    save_process(tmp_path, 3, parent=1, started=3)
    save_process(tmp_path, 4, parent=3, started=4)
    assert tree.processes() == {3, 4}
    save_process(tmp_path, 3, parent=1, started=99)
    assert tree.processes() == {4}, "another process has the number 3 now"


def test_names_with_brackets_and_spaces_do_not_hide_a_parent(tmp_path: Path) -> None:
    for pid, name, parent in ((1, "init", 0), (2, "a) b) c", 1), (3, "x y", 2)):
        save_process(tmp_path, pid, parent=parent, name=name)

    assert process_tree(2, proc=tmp_path) == {2, 3}


def test_members_of_a_control_group_are_those_of_its_folders(tmp_path: Path) -> None:
    (tmp_path / "job" / "child").mkdir(parents=True)
    (tmp_path / "job" / "cgroup.procs").write_text("1\n2\n")
    (tmp_path / "job" / "child" / "cgroup.procs").write_text("3\n")

    assert cgroup_processes(tmp_path / "job") == {1, 2, 3}
    with pytest.raises(NotHere, match="no control group"):
        SocketsProbe.of_cgroup(tmp_path, host="h1", interval_s=1.0)


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
