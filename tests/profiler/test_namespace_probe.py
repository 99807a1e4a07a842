"""Counters of a process's own network namespace, against the kernel's own files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from profiler.collectors.namespaces import open_namespace
from profiler.collectors.processes import network_namespace
from profiler.collectors.sockets import SocketsProbe
from profiler.errors import NotHere
from profiler.record import Sampler, opened
from profiler.store import Lake
from tests.data import ROOT
from tests.profiler.namespaces import ip, namespace_of, pair_of_interfaces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def job() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A namespace with a pair of interfaces, and a process in it that does nothing until it is told to end."""
    with namespace_of("netns") as name:
        pair_of_interfaces(name, "one")
        process = subprocess.Popen(["ip", "netns", "exec", name, "cat"], stdin=subprocess.PIPE)
        while network_namespace(process.pid) == network_namespace(os.getpid()):
            assert process.poll() is None
        try:
            yield name, process
        finally:
            process.communicate(timeout=10)


def kernel_count(namespace: str, interface: str, name: str) -> int:
    file = f"/sys/class/net/{interface}/statistics/{name}"
    return int(subprocess.check_output(["ip", "netns", "exec", namespace, "cat", file]))


def test_its_counters_are_those_of_its_interfaces(job: tuple[str, subprocess.Popen[bytes]]) -> None:
    namespace, process = job
    with opened(open_namespace(process.pid, host="h1"), host="h1") as found:
        assert {counter.source.name for counter in found.counters} == {
            f"pid{process.pid}:{end}" for end in ("one-a", "one-b")
        }
        for counter in found.counters:
            name = counter.series.raw_name
            least = kernel_count(namespace, counter.series.port, name)
            assert least <= counter.read() <= kernel_count(namespace, counter.series.port, name)


def test_an_interface_that_is_deleted_is_dropped_and_named_and_the_others_go_on(
    job: tuple[str, subprocess.Popen[bytes]],
) -> None:
    namespace, process = job
    pair_of_interfaces(namespace, "two")
    with opened(open_namespace(process.pid, host="h1"), host="h1") as found:
        sampler = Sampler(found.counters, interval_s=0.005)
        ip(namespace, "link", "del", "two-a")
        list(sampler.chunks(stop=lambda: False, duration_s=0.05))
    assert {counter.series.port for counter in sampler.counters} == {"one-a", "one-b"}
    assert "two-a is gone from the process's network namespace" in str(sampler.broken[0])


def test_an_interface_that_comes_after_the_start_is_named(job: tuple[str, subprocess.Popen[bytes]]) -> None:
    namespace, process = job
    probes = open_namespace(process.pid, host="h1")
    before = [loss for probe in probes for loss in probe.lost]
    pair_of_interfaces(namespace, "two")
    after = [loss for probe in probes for loss in probe.lost]
    for probe in probes:
        probe.close()
    assert before == []
    assert after == [f"pid{process.pid}: not read, for they came after the start: two-a, two-b"]


def test_it_is_over_when_the_process_ends(job: tuple[str, subprocess.Popen[bytes]]) -> None:
    _, process = job
    probe = open_namespace(process.pid, host="h1")[0]
    before = probe.is_over
    process.communicate(timeout=10)
    assert (before, probe.is_over) == (False, True)
    probe.close()


def test_a_process_in_our_own_namespace_has_no_counters_of_its_own() -> None:
    with pytest.raises(NotHere, match=rf"with all others: take --pid {os.getpid()}, or --iface"):
        open_namespace(os.getpid(), host="h1")
    with pytest.raises(NotHere, match="process 999999999: its network namespace is not to be seen"):
        open_namespace(999_999_999, host="h1")


def test_its_sockets_are_read_too_and_the_cheaper_way_is_named(job: tuple[str, subprocess.Popen[bytes]]) -> None:
    _, process = job
    probe = SocketsProbe.of_process(process.pid, host="h1", interval_s=1.0)
    assert any(f"--netns {process.pid}" in remark for remark in probe.remarks)
    probe.close()


def test_a_recording_names_process_and_interface(job: tuple[str, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    _, process = job
    command = [sys.executable, "-c", "from pipeline.cli.main import run; run()", "record", "--json"]
    options = ["--lake", str(tmp_path / "lake"), "--netns", str(process.pid), "--for", "300ms"]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sources"] == [f"pid{process.pid}:one-a", f"pid{process.pid}:one-b"]
    series = Lake.open(tmp_path / "lake").read("series").to_pylist()
    assert {(one["device"], one["port"], one["layer"]) for one in series} == {
        (f"pid{process.pid}", "one-a", "netdev"),
        (f"pid{process.pid}", "one-b", "netdev"),
    }
