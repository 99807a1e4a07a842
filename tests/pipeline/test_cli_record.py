"""``offbeat record``: options, answers and exit codes."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.cli.main import main
from profiler.record import Timing
from profiler.store import Lake
from tests.profiler.mlx5_host import Mlx5Host

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SYS_ROOT = ROOT / "tests" / "fixtures" / "sys"


def run(tmp_path: Path, *options: str, sys_root: Path = SYS_ROOT) -> int:
    return main(["record", "--lake", str(tmp_path / "lake"), "--sys-root", str(sys_root), *options])


def test_it_makes_the_lake_records_and_prints_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--iface", "eth0", "--device", "mlx5_0", "--interval", "10ms", "--for", "100ms", "--host", "h7")
    assert run(tmp_path, *options) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "eth0, mlx5_0:1" in shown.out
    series = Lake.open(tmp_path / "lake").read("series").to_pylist()
    assert {(one["host"], one["device"], one["layer"]) for one in series} == {
        ("h7", "eth0", "netdev"),
        ("h7", "mlx5_0", "rdma_vport"),
    }
    assert len(series) == 8


def test_json_and_csv_give_the_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--iface", "eth0", "--interval", "10ms", "--for", "50ms", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kind"], answer["interval_s"], answer["sources"]) == ("recording", 0.01, ["eth0"])
    assert answer["n_samples"] == 4 * answer["n_ticks"]
    assert run(tmp_path, "--iface", "eth0", "--interval", "10ms", "--for", "50ms", "--csv") == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert row["sources"] == "eth0"
    assert int(row["n_samples"]) == 4 * int(row["n_ticks"])


def test_by_default_it_records_all_that_counts_and_leaves_out_what_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--interval", "10ms", "--for", "50ms", "--json") == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert "not read, for their links are down: eth2, eth3, mlx4_0:2; name one" in shown.err
    assert "i40iw0:1 has no rdma counters" in shown.err
    assert answer["sources"] == ["bond0", "eth0", "eth0.100", "eth1", "mlx4_0:1", "mlx5_0:1"]


def test_a_named_source_that_fails_is_told_and_the_others_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--device", "i40iw0", "--iface", "eth0", "--interval", "10ms", "--for", "50ms", "--json")
    assert run(tmp_path, *options) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["failed"] == ["i40iw0:1"]
    assert "i40iw0:1 has no rdma counters" in shown.err


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--interval", "0.1ms"], 2, "interval of 0.1 ms: too short"),
        (["--interval", "5"], 2, "duration '5': expected a number with a unit"),
        (["--for", "soon"], 2, "duration 'soon'"),
        (["--for", "1e300s"], 2, "duration '1e300s': longer than the 292 years"),
        (["--iface", "eth9"], 1, "no interface eth9 on this machine; it has: bond0"),
        (["--device", "mlx5_7"], 1, "no device mlx5_7 on this machine"),
        (["--device", "i40iw0", "--for", "1s"], 1, "i40iw0:1 has no rdma counters"),
        (["--colour"], 2, "No such option"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_right_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, complaint: str
) -> None:
    assert run(tmp_path, *options) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert complaint in shown.err


def test_an_empty_tree_is_told_and_no_lake_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sys").mkdir()
    assert run(tmp_path, sys_root=tmp_path / "sys") == 1
    assert "no interface and no RDMA port that is up; name one with --iface or --device" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_a_folder_that_is_not_a_lake_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "thesis.tex").write_text("mine")
    assert run(tmp_path, "--iface", "eth0", "--for", "1s") == 1
    assert "not a lake, and not empty (it has thesis.tex)" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "lake").iterdir()] == ["thesis.tex"]


def test_on_a_terminal_it_shows_progress_on_stderr_and_only_there(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    script = "import sys; from pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    options = (
        "--lake",
        str(tmp_path / "lake"),
        "--sys-root",
        str(SYS_ROOT),
        "--iface",
        "eth0",
        "--for",
        "1s",
        "--json",
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "record", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    answer, _ = process.communicate(timeout=20)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert json.loads(answer)["sources"] == ["eth0"]
    assert b"recording" in shown
    assert b"ticks of 4 counters" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


def test_what_a_named_port_is_blind_to_is_said_unless_it_is_named_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "sys"
    for name in ("eth0", "bond0"):
        folder = root / "class" / "net" / name
        (folder / "statistics").mkdir(parents=True)
        for counter in ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets"):
            (folder / "statistics" / counter).write_text("1\n")
    (root / "class" / "net" / "eth0" / "device" / "infiniband" / "mlx5_0").mkdir(parents=True)
    (root / "class" / "net" / "bond0" / "lower_eth0").symlink_to("../eth0")

    brief = ("--interval", "10ms", "--for", "20ms")
    assert run(tmp_path, "--iface", "eth0", *brief, sys_root=root) == 0
    assert capsys.readouterr().err == "offbeat: eth0: does not count what RDMA moves; name --device mlx5_0 too\n"
    assert run(tmp_path, "--iface", "bond0", *brief, sys_root=root) == 0
    assert capsys.readouterr().err == "offbeat: bond0: does not count what RDMA moves; name --device mlx5_0 too\n"
    assert run(tmp_path, "--iface", "bond0", "--iface", "eth0", *brief, sys_root=root) == 0
    assert "bond0: its traffic is counted by eth0 too; never add them up" in capsys.readouterr().err


def test_profiling_live_says_too_what_a_port_is_blind_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Mlx5Host(root=tmp_path / "sys").write()
    assert (
        main(["profile", "--iface", "bond0", "--sys-root", str(host.root), "--interval", "10ms", "--for", "50ms"]) == 3
    )
    assert "bond0: does not count what RDMA moves; name --device mlx5_bond_0 too" in capsys.readouterr().err


def test_profiling_live_reads_at_random_places_of_each_interval_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[bool] = []

    def dither(timing: Timing) -> Callable[[], float]:
        asked.append(timing.is_dithered)
        return lambda: 0.5

    monkeypatch.setattr(Timing, "dither", dither)
    live = ["profile", "--iface", "eth0", "--sys-root", str(SYS_ROOT), "--interval", "10ms", "--for", "50ms"]
    assert (main(live), main([*live, "--dither"])) == (3, 3)
    assert asked == [False, True]
    assert main(["profile", "--dither", str(SYS_ROOT)]) == 2
    assert "--dither: SOURCE is not watched live" in capsys.readouterr().err


def test_one_impossible_counter_costs_the_others_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Mlx5Host(root=tmp_path / "sys").write()
    (host.port("mlx5_2") / "counters" / "port_xmit_data").write_text(f"{2**62}\n")
    options = ["--device", "mlx5_2:1", "--sys-root", str(host.root), "--interval", "10ms", "--for", "100ms", "--json"]
    assert main(["profile", *options]) == 3
    series = json.loads(capsys.readouterr().out)["series"]
    assert {one["direction"] for one in series} == {"transmit", "receive"}


def test_profiling_what_counts_no_bytes_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Driver:
        def __init__(self, interface: str) -> None:
            self.interface = interface

        def get_statistics(self) -> list[tuple[str, int]]:
            return [("rx_drops", 1)]

        def close(self) -> None:
            pass

    monkeypatch.setattr("pyroute2.ethtool.ioctl.IoctlEthtool", Driver)
    assert main(["profile", "--ethtool", "eth0:rx_drops", "--interval", "10ms", "--for", "50ms"]) == 3
    assert "eth0: rx_drops: no bytes, of which alone a profile is made" in capsys.readouterr().err


def test_what_is_said_before_a_recording_is_kept_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = Mlx5Host(root=tmp_path / "sys").write()
    options = ("--device", "efa_0", "--interval", "10ms", "--for", "50ms", "--json")
    assert run(tmp_path, *options, sys_root=host.root) == 0
    shown = capsys.readouterr()
    (remark,) = json.loads(shown.out)["remarks"]
    assert shown.err == f"offbeat: {remark}\n"
    assert "asks it for its counters each 12 ms only" in remark
