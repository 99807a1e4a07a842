"""What others can read of a running pacer: counts against arithmetic, and files that are whole at every moment."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pytest

from profiler.pacer import Pacer, read_statistics
from profiler.pacer.quantiles import Quantiles
from profiler.pacer.recent import RecentRate
from tests.profiler.fake_clocks import SettableClock

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_S = 0.266
S = 1_000_000_000
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def pacer_on(clock: SettableClock) -> Pacer:
    return Pacer(period_s=PERIOD_S, clock=clock, sleep=clock.sleep)


def work(clock: SettableClock, seconds: float) -> None:
    clock.now_ns += round(seconds * S)


def test_counts_tell_what_happened_to_each_iteration() -> None:
    clock = SettableClock(ahead_ns=10**18 // 266_000_000 * 266_000_000, yield_ns=1_000)
    pacer = pacer_on(clock)
    pacer.wait()
    for own_s in (0.2, 0.2, 0.286, 0.6, 0.2, 2.0, 0.2):
        work(clock, own_s)
        pacer.wait()
    told = pacer.statistics()
    # 0.286: 20 ms late, goes; 0.6 is ready 88 ms after slot 5 and takes 6, not 4; 2.0 is ready after slot 14, takes 15.
    assert (told["n_iterations"], told["n_waits"], told["n_adjustments"]) == (8, 6, 2)
    assert (told["n_missed_slots"], told["n_pauses"]) == (2 + 7, 1)
    assert told["late_s"]["n"] == 7
    assert told["late_s"]["max"] == pytest.approx(2.0 - PERIOD_S, abs=1e-5)
    assert told["late_s"]["p50"] == 0.0
    assert told["own_iteration_s"] == pytest.approx(0.2, abs=1e-5)
    # Eight iterations end with slot 16; all that was not work was waiting.
    assert told["waited_s"] == pytest.approx(16 * PERIOD_S - sum((0.2, 0.2, 0.286, 0.6, 0.2, 2.0, 0.2)), abs=1e-4)
    assert told["adjustments_per_min"] == pytest.approx(2 * 60 / (16 * PERIOD_S), rel=0.02)


def test_a_pause_that_is_announced_is_no_adjustment() -> None:
    clock = SettableClock(10**18)
    announced, silent = pacer_on(clock), pacer_on(clock)
    for pacer in (announced, silent):
        pacer.wait()
        work(clock, 30.05)
        if pacer is announced:
            pacer.reanchor()
        pacer.wait()
        assert clock() % 266_000_000 < 200_000
    assert (announced.n_adjustments, silent.n_adjustments) == (0, 1)


def test_statistics_are_one_document_a_rank_with_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for job, rank in (("vgg", 1), ("vgg", 0), ("a/b", 3)):
        monkeypatch.setenv("RANK", str(rank))
        clock = SettableClock(10**18)
        pacer = pacer_on(clock)
        pacer.report_to(tmp_path, job=job)
        pacer.wait()
    told = read_statistics(tmp_path)
    assert [(each["job"], each["rank"]) for each in told] == [("a/b", 3), ("vgg", 0), ("vgg", 1)]
    assert {(each["kind"], each["version"], each["state"]) for each in told} == {("pacer", 1, "held")}
    assert read_statistics(tmp_path / "vgg-1.json")[0]["rank"] == 1
    assert told[0].keys() >= pacer.statistics().keys()


def test_no_two_pacers_write_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    whose = [("a/b", 0, "h1"), ("a_b", 0, "h1"), ("a%2Fb", 0, "h1"), ("x", None, "h1"), ("x", None, "h2")]
    for job, rank, host in whose:
        monkeypatch.setattr("platform.node", lambda host=host: host)
        pacer = pacer_on(SettableClock(10**18))
        pacer.report_to(tmp_path, job=job, rank=rank)
        pacer.wait()
    told = [(each["job"], each["rank"], each["host"]) for each in read_statistics(tmp_path)]
    assert sorted(told, key=str) == sorted(whose, key=str)
    assert {unquote(path.name) for path in tmp_path.glob("a*")} == {"a/b-0.json", "a_b-0.json", "a%2Fb-0.json"}


def test_reports_are_written_every_so_often_and_not_more(tmp_path: Path) -> None:
    clock = SettableClock(10**18)
    pacer = pacer_on(clock)
    pacer.report_to(tmp_path, job="A", rank=0, every_s=2.0)
    seen = set()
    for _ in range(40):
        pacer.wait()
        work(clock, 0.2)
        seen.add(read_statistics(tmp_path)[0]["n_iterations"])
    # 2 s are eight iterations of 0.266 s.
    assert sorted(seen) == [1, 9, 17, 25, 33]


def test_a_reader_sees_whole_documents_while_they_are_written(tmp_path: Path) -> None:
    clock = SettableClock(10**18)
    pacer = pacer_on(clock)
    path = tmp_path / "A-0.json"
    pacer.write_statistics(path)
    is_done = threading.Event()

    def write() -> None:
        for _ in range(300):
            pacer.wait()
            work(clock, 0.2)
            pacer.write_statistics(path)
        is_done.set()

    writer = threading.Thread(target=write)
    writer.start()
    n_seen = []
    while not is_done.is_set():
        n_seen.append(read_statistics(path)[0]["n_iterations"])
    writer.join()
    assert n_seen == sorted(n_seen)
    assert read_statistics(path)[0]["n_iterations"] == 300
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_stops_no_training_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SettableClock(10**18)
    pacer = pacer_on(clock)
    pacer.report_to(tmp_path / "gone", job="A", rank=0, every_s=0.1)
    for _ in range(5):
        pacer.wait()
        work(clock, 0.2)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "cannot write the pacer's statistics" in warnings[0]
    with pytest.raises(FileNotFoundError):
        pacer.write_statistics(tmp_path / "gone" / "A.json")


@pytest.mark.parametrize(("text", "words"), [("{", "not a JSON document"), ('{"kind": "profile"}', "not a pacer's")])
def test_a_file_of_something_else_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="ascii")
    with pytest.raises(ValueError, match=rf"x\.json: {words}"):
        read_statistics(tmp_path)


def test_statistics_are_json_without_nan_before_anything_has_happened() -> None:
    for pacer in (Pacer.off(), pacer_on(SettableClock(10**18))):
        assert json.loads(json.dumps(pacer.statistics(), allow_nan=False))["n_iterations"] == 0


@pytest.mark.parametrize("scale_s", [1e-4, 0.02, 300.0])
def test_quantiles_are_within_five_per_cent_of_sorted_values(scale_s: float) -> None:
    values_s = np.random.default_rng(3).lognormal(np.log(scale_s), 1.0, 5_000)
    counted = Quantiles()
    for value_s in values_s:
        counted.add(float(value_s))
    for share in (0.01, 0.5, 0.9, 0.99):
        assert counted.at(share) == pytest.approx(np.quantile(values_s, share, method="inverted_cdf"), rel=0.05)
    assert counted.max_s == values_s.max()


def test_quantiles_of_nothing_are_absent_and_of_absurd_durations_bounded() -> None:
    counted = Quantiles()
    assert counted.at(0.5) is None
    for duration_s in (0.0, 1e-9, 1e12, 1e300):
        counted.add(duration_s)
    assert counted.at(0.5) == 0.0
    assert counted.max_s == 1e300


def test_the_rate_of_adjustments_forgets_what_is_older_than_ten_minutes() -> None:
    rate = RecentRate()
    assert rate.per_min == 0.0
    rate.pass_to(0, n_events=5)
    rate.pass_to(60 * S, n_events=1)
    assert rate.per_min == pytest.approx(6.0)
    rate.pass_to(601 * S, n_events=0)
    assert rate.per_min == pytest.approx(0.1)
    rate.pass_to(700 * S, n_events=0)
    assert rate.per_min == 0.0
