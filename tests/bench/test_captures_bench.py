"""The bench of captures on small ones: what it generates is what others see in it, and every figure comes out."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.bench.captures import CASES, captures_table, run_case, run_kernel, run_peers
from tests.bench.captures_exact import exact_table, run_exact
from tests.bench.captures_files import CaptureFormat, write_capture
from tests.bench.captures_traffic import Traffic, packets_of
from tests.bench.fuzz_captures import fuzz
from tests.profiler.captures_oracles import capinfos_totals
from tests.profiler.captures_traps import TRAPS

N_PACKETS = 20_000


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos is not installed")
@pytest.mark.parametrize(("format", "suffix"), [("pcap", ".pcap"), ("pcap-ns", ".zst"), ("pcapng", ".gz")])
def test_generated_capture_is_what_capinfos_sees_in_it(format: CaptureFormat, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"made{suffix}"
    truth = write_capture(Traffic(n_packets=N_PACKETS), path, format=format)

    found = capinfos_totals([path])[path.name]

    assert found[:2] == (N_PACKETS, truth.wire_bytes.sum())
    assert found[2:] == (truth.first_ns.min(), truth.last_ns.max())


def test_traffic_is_in_order_of_time_and_the_same_twice() -> None:
    traffic = Traffic(n_packets=300_000, n_flows=64)
    once, again = ([np.concatenate(column) for column in zip(*packets_of(traffic), strict=True)] for _ in range(2))

    assert len(once[0]) == traffic.n_packets
    assert np.all(np.diff(once[0]) >= 0)
    for column, same in zip(once, again, strict=True):
        np.testing.assert_array_equal(column, same)


def test_truth_adds_up(tmp_path: Path) -> None:
    truth = write_capture(Traffic(n_packets=N_PACKETS, n_flows=1000), tmp_path / "made.pcap")

    assert truth.packets.sum() == N_PACKETS
    assert truth.bins.sum() == truth.wire_bytes.sum() > truth.payload_bytes.sum() > 0


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_in_the_lake_to_the_byte(name: str, tmp_path: Path) -> None:
    run = run_case(name, n_packets=N_PACKETS, folder=tmp_path)

    assert run.wrong == ()
    assert name in captures_table([run])


def test_kernel_alone_finds_every_packet(tmp_path: Path) -> None:
    write_capture(Traffic(n_packets=N_PACKETS), tmp_path / "made.pcap")

    assert run_kernel(tmp_path / "made.pcap", n_packets=N_PACKETS).mpps > 0


def test_peers_run_or_say_why_not(tmp_path: Path) -> None:
    write_capture(Traffic(n_packets=N_PACKETS), tmp_path / "made.pcap")

    for run in run_peers(tmp_path / "made.pcap", n_packets=N_PACKETS):
        assert "not installed" in run if isinstance(run, str) else run.cost.cpu_s > 0


def dies(data: bytes, **_: object) -> None:
    if len(data) % 5 == 0:
        os.kill(os.getpid(), signal.SIGSEGV)


def miscounts(data: bytes, **_: object) -> None:
    assert len(data) % 5, "one too many"


def test_fuzzing_finds_nothing_in_the_reader(tmp_path: Path) -> None:
    found = fuzz(seconds=6, seed=1, folder=tmp_path)

    assert found.n_tried > 0
    assert found.faults == []


@pytest.mark.parametrize(("check", "said"), [(dies, "SIGSEGV"), (miscounts, "one too many")])
def test_fuzzing_keeps_the_capture_at_which_a_check_fails(
    check: Callable[..., None], said: str, tmp_path: Path
) -> None:
    found = fuzz(seconds=6, seed=1, folder=tmp_path, check=check)

    kept, _, reason = found.faults[0].partition(": ")
    assert len(Path(kept).read_bytes()) % 5 == 0
    assert said in reason


def test_none_of_the_traps_catches_the_reader(tmp_path: Path) -> None:
    (ours,) = run_exact(["ours"], folder=tmp_path)

    assert (ours.totals_wrong, ours.flows_wrong) == ((), ())
    assert f"{len(TRAPS)} of {len(TRAPS)}" in exact_table([ours])


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.filterwarnings("ignore")
def test_oracles_are_called_wrong_just_where_they_are(tmp_path: Path) -> None:
    for found in run_exact(["capinfos", "tshark", "scapy"], folder=tmp_path):
        assert set(found.totals_wrong) == {name for name, trap in TRAPS.items() if found.tool in trap.totals_wrong}
        assert set(found.flows_wrong) == {name for name, trap in TRAPS.items() if found.tool in trap.flows_wrong}
