from __future__ import annotations

import csv
import io
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.cli.printer import Format, print_rows
from pipeline.cli.profile_table import exact_rows, readable_rows
from profiler.phases import Outlier, TrafficProfile
from tests.data import SAMPLE_DATA

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_S = 0.1
UP_S = 0.04
RATE_BPS = 400e6


class FakeNic(threading.Thread):
    """A kernel tree with one interface, whose counter a job of known period drives."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self.statistics = root / "class" / "net" / "ob0" / "statistics"
        self.statistics.mkdir(parents=True)
        (self.statistics.parent / "operstate").write_text("up\n")
        self.handles = {}
        for name in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
            (self.statistics / name).write_text("0".rjust(20) + "\n")
            self.handles[name] = os.open(self.statistics / name, os.O_WRONLY)
        self.done = threading.Event()

    def run(self) -> None:
        start_s = time.monotonic()
        while not self.done.wait(0.001):
            cycles, phase_s = divmod(time.monotonic() - start_s, PERIOD_S)
            up_s = cycles * UP_S + min(phase_s, UP_S)
            os.pwrite(self.handles["tx_bytes"], str(int(up_s * RATE_BPS / 8)).rjust(20).encode(), 0)


@pytest.fixture
def fake_nic(tmp_path: Path) -> Iterator[Path]:
    nic = FakeNic(tmp_path)
    nic.start()
    yield tmp_path
    nic.done.set()
    nic.join()
    for handle in nic.handles.values():
        os.close(handle)


def test_a_file_is_profiled_into_the_documented_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(SAMPLE_DATA / "alone_a.csv.gz"), "--host", "sw1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["version"]) == ("profile", 1)
    found = {(s["device"], s["direction"]): s for s in document["series"]}
    port = found["p1", "receive"]
    assert port["host"] == "sw1"
    assert port["status"] == "periodic"
    assert {
        "period_s", "period_low_s", "period_high_s", "confidence", "n_cycles", "jitter_frac", "other_periods_s",
        "alias_periods_s", "mean_bps", "peak_bps", "duty_frac", "need_more_s", "phases", "outliers", "warnings",
    } <= set(port)  # fmt: skip
    assert {"kind", "start_s", "width_s", "rate_bps"} <= set(port["phases"][0])
    assert found["p2", "receive"]["status"] == "idle"


def test_the_table_has_a_row_a_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(SAMPLE_DATA / "alone_a.csv.gz"), "--host", "sw1"]) == 0
    shown = capsys.readouterr().out
    assert "sw1/p1" in shown
    assert "Up 1" in shown


def test_each_job_on_a_counter_has_a_row_of_its_own() -> None:
    first, second = (TrafficProfile.from_phases(period_s=T, phases=[(0, 0.2, 8e9)]) for T in (0.7, 1.13))
    found = replace(first, host="h", device="d", port="1", others=(second,), other_periods_s=(1.13,))
    rows = readable_rows(found)
    assert [(row["port"], row["period"]) for row in rows] == [
        ("h/d/1", "700 ms ± <1 ns"),
        ("h/d/1 + job 2", "1.13 s ± <1 ns"),
    ]


def test_csv_holds_one_row_a_series_with_all_its_periods_and_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = TrafficProfile.from_phases(period_s=0.7, phases=[(0, 0.2, 8e9)])
    found = replace(
        job, other_periods_s=(1.13, 2.5), alias_periods_s=(0.03,), warnings=("a few, late", "far"), others=(job, job)
    )
    print_rows(exact_rows(found), output=Format.CSV)
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["other_periods_s"], row["alias_periods_s"]) == ("1.13 2.5", "0.03")
    assert row["warnings"] == "a few, late; far"
    assert main(["profile", str(SAMPLE_DATA / "alone_a.csv.gz"), "--csv"]) == 0
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {"other_periods_s", "alias_periods_s", "warnings"} <= set(read[0])
    assert len({(row["port"], row["device"], row["direction"]) for row in read}) == len(read)


@pytest.mark.parametrize(
    ("confidence", "jitter_frac", "shown"),
    [
        (None, None, ("-", "-")),
        (0.998, 0.0, (">0.99", "-")),
        (0.99, 0.0004, ("0.99", "<0.1%")),
        (0.5, 0.079, ("0.50", "7.9%")),
        (1.0, 0.001, (">0.99", "0.1%")),
        (0.003, 1.5, ("<0.01", "150.0%")),
    ],
)
def test_digits_left_out_never_make_certainty(
    confidence: float | None, jitter_frac: float | None, shown: tuple[str, str]
) -> None:
    job = TrafficProfile.from_phases(period_s=0.7, phases=[(0, 0.2, 8e9)])
    (row,) = readable_rows(replace(job, confidence=confidence, jitter_frac=jitter_frac))
    assert (row["confidence"], row["jitter"]) == shown


def test_one_long_iteration_is_no_plural() -> None:
    job = TrafficProfile.from_phases(period_s=0.7, phases=[(0, 0.2, 8e9)])
    long = Outlier(t_ns=0, duration_s=1.4)
    shown = [readable_rows(replace(job, outliers=(long,) * n))[0]["note"] for n in range(3)]
    assert shown == ["-", "1 long iteration", "2 long iterations"]


def test_live_traffic_is_profiled_while_it_runs(fake_nic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["profile", "--iface", "ob0", "--sys-root", str(fake_nic), "--for", "4s", "--host", "here", "--json"]
    assert main(arguments) == 0
    series = {s["direction"]: s for s in json.loads(capsys.readouterr().out)["series"]}
    assert series["transmit"]["host"] == "here"
    assert series["transmit"]["period_s"] == pytest.approx(PERIOD_S, rel=0.02)
    up = series["transmit"]["phases"][0]
    assert up["width_s"] == pytest.approx(UP_S, rel=0.1)
    assert up["rate_bps"] == pytest.approx(RATE_BPS, rel=0.1)
    assert series["receive"]["status"] == "idle"


def test_an_interrupt_ends_watching_and_shows_what_was_found(
    fake_nic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    assert main(["profile", "--iface", "ob0", "--sys-root", str(fake_nic), "--json"]) == 0
    series = {s["direction"]: s for s in json.loads(capsys.readouterr().out)["series"]}
    assert series["transmit"]["period_s"] == pytest.approx(PERIOD_S, rel=0.02)


def test_traffic_without_a_period_ends_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    total = np.cumsum(rng.exponential(1e6, 2000)).astype(np.int64)
    table = tmp_path / "noise.csv"
    rows = (f"{i * 1_000_000},{value}" for i, value in enumerate(total.tolist()))
    table.write_text("t_ns,eth0.rx_bytes\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["profile", str(table)]) == 3
    assert "aperiodic" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["x.csv", "--iface", "eth0"]])
def test_a_source_or_an_interface_must_be_named_but_not_both(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", *arguments]) == 2
    assert "SOURCE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["x.csv", "--for", "banana", "--interval", "frog"], "--for, --interval"),
        (["x.csv", "--sys-root", "/sys"], "--sys-root"),
        (["--iface", "lo", "--capacity", "400Gbps"], "--capacity"),
        (["--iface", "lo", "--capacity", "banana"], "--capacity"),
        (["--iface", "lo", "--mapping", "x.toml"], "--mapping"),
        (["--iface", "lo", "--for", "banana"], "banana"),
        (["--iface", "lo", "--for", "0s"], "0s"),
        (["--iface", "lo", "--interval", "frog"], "frog"),
        (["x.csv", "--capacity", "banana"], "banana"),
    ],
)
def test_options_that_would_change_nothing_and_values_of_nonsense_are_refused(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", *arguments]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "empty"), (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "PNG"), (b"a,b\n1,2\n", "t_ns")]
)
def test_a_wrong_file_is_named_with_what_is_wrong(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_bytes(content)
    assert main(["profile", str(path)]) == 1
    error = capsys.readouterr().err
    assert "wrong.csv" in error
    assert message in error


def test_a_missing_file_and_a_missing_interface_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(tmp_path / "none.csv")]) == 1
    assert "none.csv" in capsys.readouterr().err
    assert main(["profile", "--iface", "none0", "--for", "1s"]) == 1
    assert "none0" in capsys.readouterr().err


def test_a_counter_that_cannot_be_is_named_and_the_other_ports_have_their_answer(
    fake_nic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Words of 4 bytes, so that 2^62 of them are 2^64 bytes.
    port = fake_nic / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
    for name, value in {"counters/port_xmit_data": 2**62, "counters/port_rcv_data": 10}.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(f"{value}\n", encoding="ascii")
    (port / "state").write_text("4: ACTIVE\n", encoding="ascii")
    named = ["--iface", "ob0", "--device", "mlx5_0", "--sys-root", str(fake_nic)]
    assert main(["profile", *named, "--for", "3s", "--json"]) == 0
    told = capsys.readouterr()
    series = {(s["device"], s["direction"]): s for s in json.loads(told.out)["series"]}
    assert series["ob0", "transmit"]["period_s"] == pytest.approx(PERIOD_S, rel=0.02)
    assert series["mlx5_0", "receive"]["status"] == "idle"
    assert series["mlx5_0", "transmit"]["status"] == "no_data"
    assert str(port / "counters" / "port_xmit_data") in told.err
    assert "mlx5_0" in told.err
