"""The shared anchor: slots of hosts whose clocks differ, are set or are unsure, and what is told of that."""

from __future__ import annotations

import logging
import subprocess
import sys
import time

import pytest

from profiler.pacer import ClockError, Pacer, read_clock_error
from profiler.pacer.clock import SYSTEM_CLOCK, ClockReader
from profiler.pacer.timex import Timex, read_timex
from profiler.pacer.waiter import Waiter
from tests.profiler.fake_clocks import SettableClock

MS = 1_000_000
PERIOD_NS = 266 * MS


def timex_of(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    told = Timex(**{"estimated_us": 500, "maximum_us": 9_000, "status": 0x2001, **values})
    monkeypatch.setattr("profiler.pacer.timex.read_timex", lambda: told)


def test_the_kernel_is_asked_for_its_clocks_error_in_the_layout_that_it_fills() -> None:
    # A second look at the same structure: Python's own copy of the kernel's clock stands in it, in s and µs.
    script = (
        "import ctypes, time; from profiler.pacer.timex import _Timex; t = _Timex(modes=0); "
        "ctypes.CDLL(None).adjtimex(ctypes.byref(t)); "
        "print(abs(t.time_s - time.time()) < 5, 9_000 <= t.tick <= 11_000, ctypes.sizeof(t))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # 208 bytes on 64-bit Linux: <sys/timex.h>.
    assert done.stdout.split() == ["True", "True", "208"]
    told = read_timex()
    assert told.maximum_us >= 0
    assert told.estimated_us >= 0


def test_a_synchronised_clock_tells_its_estimated_and_its_greatest_error_in_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timex_of(monkeypatch)
    assert read_clock_error() == ClockError(is_synchronised=True, estimated_s=0.0005, maximum_s=0.009)
    assert Pacer(period_s=0.266).statistics()["clock"] == read_clock_error().to_dict()


def test_a_clock_that_nothing_synchronises_is_told_and_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    timex_of(monkeypatch, status=0x40, maximum_us=16_000_000)
    pacer = Pacer(period_s=0.266)
    assert "this host's clock is not synchronised; slots of other hosts may lie elsewhere" in caplog.text
    told = pacer.statistics()["clock"]
    assert (told["is_synchronised"], told["maximum_s"]) == (False, None)
    assert "no daemon" in told["reason"]


@pytest.mark.parametrize(("maximum_us", "n_warnings"), [(39_000, 0), (41_000, 1)])
def test_a_clock_whose_error_may_be_wider_than_a_slot_is_open_is_warned_of(
    maximum_us: int, n_warnings: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    timex_of(monkeypatch, maximum_us=maximum_us)
    Pacer(period_s=0.266, tolerance_frac=0.15)
    Pacer.off()
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == n_warnings


def test_a_machine_that_cannot_tell_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert read_clock_error() == ClockError(reason="not known: adjtimex is a call of Linux, this is darwin")


def test_a_clock_of_ones_own_has_no_known_error() -> None:
    clock = SettableClock()
    told = Pacer(period_s=0.266, clock=clock, sleep=clock.sleep).statistics()["clock"]
    assert told["reason"] == "not known: not the system's clock"


def test_slots_of_two_hosts_differ_by_what_their_clocks_do_and_no_more() -> None:
    started_ns = []
    for ahead_ms in (0, 7):
        clock = SettableClock(10**18, ahead_ns=ahead_ms * MS, yield_ns=1_000)
        pacer = Pacer(period_s=0.266, shift_s=0.1, clock=clock, sleep=clock.sleep)
        for _ in range(5):
            pacer.wait()
            clock.now_ns += 200 * MS
        pacer.wait()
        started_ns.append(clock.now_ns)
    assert started_ns[0] - started_ns[1] == pytest.approx(7 * MS, abs=2_000)


def test_a_clock_that_is_slewed_is_followed_without_an_adjustment() -> None:
    clock = SettableClock(10**18, yield_ns=1_000)
    pacer = Pacer(period_s=0.266, clock=clock, sleep=clock.sleep)
    # The kernel slews by 500 ppm at most; after 400 iterations the wall clock is 53 ms behind.
    for _ in range(400):
        clock.now_ns += 250 * MS
        clock.ahead_ns -= round(500e-6 * PERIOD_NS)
        pacer.wait()
        assert clock() % PERIOD_NS < 300_000
    assert (pacer.n_adjustments, pacer.n_clock_steps) == (0, 0)


@pytest.mark.parametrize(("step_ms", "n_steps"), [(0, 0), (1, 0), (3, 1), (-3, 1), (3_600_000, 1), (-3_600_000, 1)])
def test_a_wall_clock_that_is_set_is_told_from_one_that_is_slewed(step_ms: int, n_steps: int) -> None:
    clock = SettableClock(10**18)
    reader = ClockReader(clock)
    reader.read()
    clock.now_ns += 200 * MS
    clock.ahead_ns += step_ms * MS
    step_ns = reader.read().step_ns
    assert step_ns == (step_ms * MS if n_steps else 0)


def test_clocks_that_were_not_read_together_judge_nothing() -> None:
    class PutOff(SettableClock):
        """The process loses the processor for 30 ms whenever it has read the wall clock."""

        def __call__(self) -> int:
            shown_ns = super().__call__()
            self.now_ns += 30 * MS
            return shown_ns

    reader = ClockReader(PutOff(10**18))
    assert [reader.read().step_ns for _ in range(5)] == [0] * 5


def test_a_reading_that_was_put_off_judges_neither_itself_nor_the_next_one() -> None:
    class Starved(SettableClock):
        """The process loses the processor for 40 ms after each of the next few looks at the wall clock."""

        n_put_off = 0

        def __call__(self) -> int:
            shown_ns = super().__call__()
            self.now_ns += 40 * MS * (self.n_put_off > 0)
            self.n_put_off -= 1
            return shown_ns

    clock = Starved(10**18)
    reader = ClockReader(clock)
    reader.read()
    clock.n_put_off = 3
    clock.now_ns += 200 * MS
    assert reader.read().step_ns == 0
    clock.now_ns += 200 * MS
    assert reader.read().step_ns == 0
    # From there on a clock that is set is noticed again.
    clock.ahead_ns += 5 * MS
    assert reader.read().step_ns == 5 * MS


@pytest.mark.parametrize("ahead_ms", [3_600_000, -3_600_000])
def test_a_clock_that_is_set_is_an_adjustment_but_neither_a_pause_nor_missed_slots(ahead_ms: int) -> None:
    clock = SettableClock(10**18, yield_ns=1_000)
    pacer = Pacer(period_s=0.266, clock=clock, sleep=clock.sleep)
    for i in range(10):
        pacer.wait()
        clock.now_ns += 200 * MS
        clock.ahead_ns += ahead_ms * MS * (i == 5)
    told = pacer.statistics()
    assert (told["n_clock_steps"], told["n_adjustments"]) == (1, 1)
    assert (told["n_missed_slots"], told["n_pauses"]) == (0, 0)


@pytest.mark.parametrize("back_ms", [5, 266, 3_600_000])
def test_a_wall_clock_set_back_while_waiting_makes_no_wait_longer(back_ms: int) -> None:
    clock = SettableClock(10**18)

    def sleep(seconds: float) -> None:
        clock.sleep(min(seconds, 0.05))
        if clock.now_ns < 10**18 + 60 * MS:
            clock.ahead_ns -= back_ms * MS

    reader = ClockReader(clock)
    now = reader.read()
    waited_ns = Waiter(reader, sleep).wait_until(now.wall_ns + 200 * MS, since=now)
    assert waited_ns <= 202 * MS


def test_a_wall_clock_set_forward_while_waiting_ends_the_wait_and_counts_true_time() -> None:
    clock = SettableClock(10**18)

    def sleep(seconds: float) -> None:
        clock.sleep(min(seconds, 0.05))
        clock.ahead_ns += 3_600_000 * MS

    reader = ClockReader(clock)
    now = reader.read()
    assert Waiter(reader, sleep).wait_until(now.wall_ns + 200 * MS, since=now) == 50 * MS


def test_the_systems_clock_is_the_epochs_and_its_steady_side_never_steps() -> None:
    assert abs(SYSTEM_CLOCK() - time.time_ns()) < 10**9
    steady_ns = [SYSTEM_CLOCK.steady() for _ in range(100)]
    assert steady_ns == sorted(steady_ns)
