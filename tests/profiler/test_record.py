"""Recording into a lake: what is stored, what is noted, and how it survives its sources and its own death."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.collectors import find_sources
from profiler.errors import LakeError, SourceBroken, UsageError
from profiler.record import Clock, RecordSummary, Timing, record
from profiler.record.clock import prompt_wakes
from profiler.store import Lake
from tests.profiler.namespaces import ip, namespace_of, pair_of_interfaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiler.record import Sampler

pytestmark = pytest.mark.true_time

ROOT = Path(__file__).parents[2]
SYS_ROOT = ROOT / "tests" / "fixtures" / "sys"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the fixture tree, to be damaged."""
    return shutil.copytree(SYS_ROOT, tmp_path / "sys")


def run(lake: Lake, root: Path, *names: str, duration_s: float = 0.2, show: Callable[[Sampler], None]) -> RecordSummary:
    return record(
        lake,
        find_sources(root, ifaces=names),
        host="h1",
        timing=Timing(interval_s=0.002, duration_s=duration_s, hand_over_s=0.25),
        stop=lambda: False,
        show=show,
    )


def quiet(_sampler: Sampler) -> None:
    """Show nothing."""


def the_recording(lake: Lake) -> dict[str, object]:
    (entry,) = lake.read("recordings").to_pylist()
    found: dict[str, object] = entry
    return found


def test_a_recording_stores_each_tick_of_each_counter_with_its_clock_anchor(lake: Lake) -> None:
    before_ns = time.time_ns()
    summary = run(lake, SYS_ROOT, "eth0", "eth1", show=quiet)
    after_ns = time.time_ns()
    entry = the_recording(lake)
    series = lake.read("series").to_pylist()
    assert len(series) == 8
    for one in series:
        counter = lake.counter(one["series_id"])
        text = (SYS_ROOT / "class/net" / one["device"] / "statistics" / one["raw_name"]).read_text()
        assert set(counter.value.tolist()) == {int(text)}
        assert len(counter) == summary.n_ticks
        assert before_ns < counter.t_ns[0] < counter.t_ns[-1] < after_ns
    assert summary.n_ticks + summary.n_missed in (100, 101)
    assert summary.n_samples == 8 * summary.n_ticks == entry["n_rows"]
    assert entry["status"] == "ok"
    assert before_ns < int(str(entry["anchor_wall_ns"])) < after_ns
    assert json.loads(str(entry["parameters"]))["speed_bps"] == {"eth0": 100e9, "eth1": 100e9}


def test_the_summary_tells_figures_and_files(lake: Lake) -> None:
    shown: list[int] = []
    summary = run(lake, SYS_ROOT, "eth0", duration_s=0.6, show=lambda sampler: shown.append(sampler.n_ticks))
    told = summary.to_dict()
    assert (told["kind"], told["version"], told["sources"]) == ("recording", 1, ["eth0"])
    assert [lake.root / path for path in summary.files] == lake.files("samples")
    assert 0 < summary.cpu_frac < 3
    assert summary.missed_frac == summary.n_missed / (summary.n_ticks + summary.n_missed)
    assert len(shown) >= 2
    assert shown == sorted(shown)
    assert shown[-1] == summary.n_ticks
    assert summary.to_text_row()["samples"] == str(4 * summary.n_ticks)


def test_a_source_that_vanishes_is_noted_and_the_others_go_on(lake: Lake, tree: Path) -> None:
    def vanish(_sampler: Sampler) -> None:
        for file in (tree / "class/net/eth0/statistics").iterdir():
            file.write_text("")

    summary = run(lake, tree, "eth0", "eth1", duration_s=0.8, show=vanish)
    entry = the_recording(lake)
    assert summary.failed == ("eth0",)
    assert (entry["status"], str(entry["message"]).count("eth0/statistics")) == ("partial", 4)
    lengths = {one["device"]: len(lake.counter(one["series_id"])) for one in lake.read("series").to_pylist()}
    assert 100 < lengths["eth0"] < 150
    assert lengths["eth1"] > 300


def test_when_the_last_source_stays_away_it_ends_with_an_error_and_keeps_the_samples(
    lake: Lake, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiler.record.sampler.COME_BACK_S", 0.1)

    def vanish(_sampler: Sampler) -> None:
        for file in tree.rglob("statistics/*"):
            file.write_text("")

    with pytest.raises(SourceBroken, match=r"no counter can be read any more; the \d+ samples read before are kept"):
        run(lake, tree, "eth0", duration_s=5.0, show=vanish)
    entry = the_recording(lake)
    assert entry["status"] == "error"
    assert int(str(entry["n_rows"])) > 400
    assert "no counter can be read any more" in str(entry["message"])


def test_a_source_broken_from_the_start_is_an_error_row(lake: Lake, tree: Path) -> None:
    for file in (tree / "class/net/eth0/statistics").iterdir():
        file.write_text("nonsense")
    with pytest.raises(SourceBroken, match="no counter can be read; nothing was recorded"):
        run(lake, tree, "eth0", show=quiet)
    assert the_recording(lake)["status"] == "error"


def test_an_interval_too_short_is_refused_before_anything_is_written(lake: Lake) -> None:
    with pytest.raises(UsageError, match="too short"):
        record(lake, find_sources(SYS_ROOT), host="h1", timing=Timing(interval_s=1e-5), stop=lambda: False)
    assert lake.read("recordings").num_rows == 0


def test_the_cpu_is_split_into_the_kernels_reads_and_ours(lake: Lake) -> None:
    summary = run(lake, SYS_ROOT, "eth0", "eth1", duration_s=0.5, show=quiet)
    assert summary.kernel_cpu_frac is not None
    assert 0 < summary.kernel_cpu_frac < summary.cpu_frac
    text = summary.to_text_row()
    assert (text["CPU"][-1], text["of it in reads"][-1]) == ("%", "%")


def test_what_the_lake_must_know_of_the_ports_is_in_the_recording(lake: Lake, tree: Path) -> None:
    (tree / "class/net/bond0/lower_eth0").symlink_to("../eth0")
    timing = Timing(interval_s=0.01, duration_s=0.05, refresh_s={"bond0": 0.1})
    sources = find_sources(tree, ifaces=["bond0", "eth1"])
    summary = record(lake, sources, host="h1", timing=timing, stop=lambda: False)
    parameters = json.loads(str(the_recording(lake)["parameters"]))
    assert parameters["refresh_s"] == summary.refresh_s == {"bond0": 0.1}
    assert parameters["counted_too_by"] == {"bond0": ["eth0"]}


def test_a_wall_clock_that_is_set_meanwhile_is_told_and_moves_no_sample(lake: Lake) -> None:
    start_ns = time.monotonic_ns()

    def wall_ns() -> int:
        now_ns = time.monotonic_ns()
        return 1_796_000_000 * 10**9 + now_ns + (5 * 10**9 if now_ns - start_ns > 100_000_000 else 0)

    timing = Timing(interval_s=0.002, duration_s=0.3, clock=Clock(wall_ns=wall_ns))
    summary = record(lake, find_sources(SYS_ROOT, ifaces=["eth0"]), host="h1", timing=timing, stop=lambda: False)
    (warning,) = summary.warnings
    assert "the wall clock was set by +5.000 s meanwhile" in warning
    assert warning in str(the_recording(lake)["message"])
    t_ns = lake.counter(lake.read("series").to_pylist()[0]["series_id"]).t_ns
    assert t_ns[-1] - t_ns[0] < 1_000_000_000


def test_sleeps_are_as_prompt_as_the_kernel_can_while_it_reads_and_as_before_after() -> None:
    slack = Path("/proc/self/timerslack_ns")
    if not slack.exists():
        pytest.skip("the kernel does not let us choose")
    before = slack.read_text()
    with prompt_wakes():
        assert slack.read_text().strip() == "1"
    assert slack.read_text() == before


# Killed, and out of room


def start(lake: Lake, *arguments: str, seal_every_s: float = 0.2) -> subprocess.Popen[str]:
    """Start a recording of the loopback that seals often."""
    script = (
        "import sys; from profiler.record import recorder; from pipeline.cli.main import main;"
        f"recorder.SEAL_EVERY_S = {seal_every_s}; sys.exit(main(sys.argv[1:]))"
    )
    options = ("--lake", str(lake.root), "--sys-root", str(SYS_ROOT))
    command = [sys.executable, "-c", script, "record", *options, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_samples(lake: Lake, process: subprocess.Popen[str]) -> int:
    """Wait until samples count, and return how many."""
    for _ in range(500):
        entries = lake.read("recordings").to_pylist()
        if entries and entries[0]["n_rows"]:
            return int(entries[0]["n_rows"])
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("nothing was sealed in 10 s")


def wait_for_series(lake: Lake) -> None:
    """Wait until a recording is about to begin."""
    deadline_s = time.monotonic() + 10
    while not lake.read("series").num_rows:
        assert time.monotonic() < deadline_s, "no recording began in 10 s"
        time.sleep(0.02)


def test_killed_while_recording_it_loses_at_most_what_was_not_sealed(lake: Lake) -> None:
    process = start(lake, "--iface", "eth0", "--iface", "eth1")
    n_rows = wait_for_samples(lake, process)
    process.kill()
    process.communicate()
    entry = the_recording(lake)
    assert entry["status"] == "partial"
    assert "was killed" in str(entry["message"])
    lengths = [len(lake.counter(one["series_id"])) for one in lake.read("series").to_pylist()]
    assert len(lengths) == 8
    assert sum(lengths) >= n_rows


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_with_everything_sealed(lake: Lake, number: signal.Signals) -> None:
    process = start(lake, "--iface", "eth0", "--json", seal_every_s=5.0)
    wait_for_series(lake)
    time.sleep(0.3)
    process.send_signal(number)
    answer, complaints = process.communicate(timeout=10)
    assert (process.returncode, complaints) == (0, "")
    summary = json.loads(answer)
    assert summary["n_ticks"] > 50
    entry = the_recording(lake)
    assert (entry["status"], entry["n_rows"]) == ("ok", summary["n_samples"])


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with a lake on it and room for nothing more than a small file."""
    if os.geteuid() != 0:
        pytest.skip("mounts a file system, which needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    Lake.open(folder / "lake", create=True)
    (folder / "filler").write_bytes(bytes(740 * 1024))
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_up_ends_it_with_a_clear_message_and_keeps_what_was_sealed(
    full_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiler.record.recorder.SEAL_EVERY_S", 0.1)
    lake = Lake.open(full_disk / "lake")
    with pytest.raises(LakeError, match=r"No space left on device|disk is full"):
        run(lake, SYS_ROOT, *("eth0", "eth1", "bond0", "lo"), duration_s=30.0, show=quiet)
    lengths = [len(lake.counter(one["series_id"])) for one in lake.read("series").to_pylist()]
    assert sum(lengths) == the_recording(lake)["n_rows"]
    assert min(lengths) > 0


# A real interface


@pytest.fixture
def namespace() -> Iterator[str]:
    """A network namespace with two pairs of interfaces, one-a to one-b and two-a to two-b, that are up."""
    with namespace_of("record") as name:
        for pair in ("one", "two"):
            pair_of_interfaces(name, pair)
        yield name


def test_an_interface_deleted_while_recording_is_reported_and_the_other_is_kept(lake: Lake, namespace: str) -> None:
    script = "import sys; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", script, "record", "--lake", str(lake.root)]
    process = subprocess.Popen(
        [*command, "--iface", "one-a", "--iface", "two-a", "--for", "1500ms", "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_series(lake)
    time.sleep(0.5)
    ip(namespace, "link", "del", "one-a")
    answer, complaints = process.communicate(timeout=20)
    assert process.returncode == 1
    # The kernel says "no such device", or "invalid argument" in the moment in which it goes.
    assert re.search(r"one-a/statistics/tx_bytes: [\w ]+; is one-a still there\?", complaints)
    summary = json.loads(answer)
    assert (summary["sources"], summary["failed"]) == (["one-a", "two-a"], ["one-a"])
    assert the_recording(lake)["status"] == "partial"
    lengths = {one["device"]: len(lake.counter(one["series_id"])) for one in lake.read("series").to_pylist()}
    assert 0 < lengths["one-a"] < lengths["two-a"]
    assert np.isclose(lengths["two-a"], 1500, rtol=0.3)
