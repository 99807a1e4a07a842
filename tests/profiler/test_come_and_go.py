"""Devices that go away while they are recorded, and come back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.collectors import find_sources
from profiler.record import Clock, Sampler, opened
from profiler.schema import Flag
from profiler.sources import read_rates
from profiler.store import Lake
from tests.data import ROOT
from tests.profiler.mlx5_host import Mlx5Host, count
from tests.profiler.namespaces import ip, namespace_of, pair_of_interfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from profiler.record import Chunk

MS = 1_000_000
SENDER = """
import socket, sys
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("one-b", 0))
for _ in range(int(sys.argv[1])):
    sender.send(bytes(1000))
"""


class ScriptedClock:
    """A clock that sleeps move, and that does things when a time has come."""

    def __init__(self, acts: dict[int, Callable[[], None]]) -> None:
        self.now_ns = 0
        self._acts = acts

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
        for at_ms in [at_ms for at_ms in self._acts if at_ms * MS <= self.now_ns]:
            self._acts.pop(at_ms)()

    def clock(self) -> Clock:
        return Clock(wall_ns=lambda: self.now_ns, monotonic_ns=lambda: self.now_ns, sleep_s=self.sleep)


@pytest.fixture
def host(tmp_path: Path) -> Mlx5Host:
    return Mlx5Host(root=tmp_path / "sys").write()


def sampled(host: Mlx5Host, acts: dict[int, Callable[[], None]], *, seconds: float) -> tuple[Sampler, list[Chunk]]:
    """Sample the InfiniBand port and an interface each 10 ms of a scripted time."""
    with opened(find_sources(host.root, ifaces=["eth0"], devices=["mlx5_2:1"]), host="h1") as found:
        sampler = Sampler(found.counters, interval_s=0.01, clock=ScriptedClock(acts).clock())
        return sampler, list(sampler.chunks(stop=lambda: False, duration_s=seconds))


def take_away(host: Mlx5Host) -> None:
    """Have the files that are open refuse, and no others in their place, as of a driver that is unloaded."""
    for file in (host.port("mlx5_2") / "counters").iterdir():
        file.write_text("")
        file.unlink()


def bring_back(host: Mlx5Host) -> None:
    for name in ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "port_xmit_wait"):
        (host.port("mlx5_2") / "counters" / name).write_text("5\n")


def test_a_device_that_comes_back_is_read_again_and_its_first_sample_flagged(host: Mlx5Host) -> None:
    sampler, chunks = sampled(host, {1_000: lambda: take_away(host), 2_500: lambda: bring_back(host)}, seconds=6.0)

    assert sorted(str(error).partition(": ")[0].rpartition("/")[2] for error in sampler.broken) == [
        "port_rcv_data", "port_rcv_packets", "port_xmit_data", "port_xmit_packets", "port_xmit_wait",
    ]  # fmt: skip
    (told,) = sampler.returned
    assert told.startswith("mlx5_2:1: is back, and read again after ")
    order = [counter.series.raw_name for counter in chunks[0].counters]
    back = next(i for i, chunk in enumerate(chunks) if i and len(chunk.counters) > len(chunks[i - 1].counters))
    assert [counter.series.raw_name for counter in chunks[back].counters] == order
    flags = {c.series.raw_name: chunks[back].flags[i] for i, c in enumerate(chunks[back].counters)}
    values = {c.series.raw_name: chunks[back].value[i] for i, c in enumerate(chunks[back].counters)}
    assert flags["port_xmit_data"][0] == Flag.MISSED
    assert not flags["port_xmit_data"][1:].any()
    assert not flags["tx_bytes"].any(), "the interface was read all the time"
    assert set(values["port_xmit_data"].tolist()) == {20}


def test_while_all_are_away_it_waits_and_goes_on(host: Mlx5Host) -> None:
    statistics = host.root / "class/net/eth0/statistics"

    def take_all() -> None:
        take_away(host)
        for file in (host.port("mlx5_2") / "hw_counters").iterdir():
            file.write_text("")
        for file in statistics.iterdir():
            file.write_text("")

    def restore() -> None:
        count(statistics / "tx_bytes", 900)

    sampler, chunks = sampled(host, {1_000: take_all, 9_000: restore}, seconds=20.0)

    assert [counter.series.raw_name for counter in sampler.counters] == ["tx_bytes"]
    gap_ms = (
        np.diff(np.concatenate([c.t_ns[[k.series.raw_name for k in c.counters].index("tx_bytes")] for c in chunks]))
        / MS
    )
    assert 8_000 < gap_ms.max() < 9_500
    assert chunks[-1].value.max() == 900


def test_one_counter_that_refuses_is_named_and_the_rest_goes_on(host: Mlx5Host) -> None:
    wait = host.port("mlx5_2") / "counters" / "port_xmit_wait"

    def refuse() -> None:
        wait.write_text("")

    sampler, chunks = sampled(host, {500: refuse}, seconds=1.0)

    assert [str(error) for error in sampler.broken] == [f"{wait}: expected a whole number, found b''"]
    assert len(chunks[-1].counters) == len(chunks[0].counters) - 1


# Real interfaces


@pytest.fixture
def namespace() -> Iterator[str]:
    with namespace_of("come") as name:
        pair_of_interfaces(name, "one")
        pair_of_interfaces(name, "two")
        yield name


def test_an_interface_deleted_and_made_again_is_one_series_with_a_reset(namespace: str, tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    inside = ["ip", "netns", "exec", namespace, sys.executable, "-c"]
    options = ["--iface", "one-a", "--iface", "two-a", "--for", "5s", "--interval", "5ms", "--json"]
    recorder = subprocess.Popen(
        [*inside, "from pipeline.cli.main import run; run()", "record", "--lake", str(lake.root), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    await_series(lake)
    time.sleep(0.3)
    subprocess.run([*inside, SENDER, "40"], check=True)
    time.sleep(0.3)
    ip(namespace, "link", "del", "one-a")
    time.sleep(0.3)
    pair_of_interfaces(namespace, "one")
    time.sleep(1.5)
    subprocess.run([*inside, SENDER, "7"], check=True)
    printed, _ = recorder.communicate(timeout=30)

    told = json.loads(printed)
    assert recorder.returncode == 0
    assert told["failed"] == []
    assert any("one-a: is back" in warning for warning in told["warnings"])
    lengths = {one["device"]: len(lake.counter(one["series_id"])) for one in lake.read("series").to_pylist()}
    assert lengths["one-a"] < lengths["two-a"]
    received = next(r for r in read_rates(lake.root)[0] if (r.device, r.direction) == ("one-a", "receive"))
    # The kernel's own packets (IPv6 neighbours) come on top; the last ones before it went are not read.
    assert 40_000 <= received.delta_bytes.sum() <= 60_000
    assert np.count_nonzero(received.flags & np.uint16(Flag.RESET)) == 1


def await_series(lake: Lake) -> None:
    deadline_s = time.monotonic() + 20
    while not lake.read("series").num_rows:
        assert time.monotonic() < deadline_s, "no recording began in 20 s"
        time.sleep(0.05)
