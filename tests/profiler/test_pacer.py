"""The pacer against arithmetic: a clock that only sleeping and working move."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from profiler.pacer import Pacer, PlanError
from tests.profiler.fake_clocks import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

PERIOD_NS = 266_000_000
SHIFT_NS = 133_000_000
TOLERANCE_NS = 39_900_000


def pacer_on(clock: FakeClock, **options: Any) -> Pacer:
    settings = {"period_s": 0.266, "shift_s": 0.133, **options}
    return Pacer(**settings, clock=clock, sleep=clock.sleep)


def write_plan(path: Path, **changes: Any) -> Path:
    shift = {"job": "A", "shift_s": 0.133, "pace_period_s": 0.266, "stretch_frac": 0.04}
    unpaced = {"job": "B", "shift_s": 0.0, "pace_period_s": None, "stretch_frac": None}
    plan = {"kind": "shift_plan", "version": 1, "anchor_ns": 0, "shifts": [shift, unpaced], **changes}
    path.write_text(json.dumps(plan), encoding="utf-8")
    return path


def test_an_early_iteration_waits_until_its_slot_starts() -> None:
    clock = FakeClock(100)
    pacer = pacer_on(clock)
    waited_s = pacer.wait()
    assert SHIFT_NS <= clock.now_ns < SHIFT_NS + 2_000
    assert waited_s == pytest.approx((SHIFT_NS - 100) / 1e9, abs=2e-6)
    assert (pacer.n_iterations, pacer.n_waits, pacer.n_adjustments) == (1, 1, 0)


def test_slots_follow_each_other_by_whole_periods_without_rounding_over_a_day() -> None:
    clock = FakeClock()
    pacer = pacer_on(clock, period_s=1 / 3, shift_s=0.0, tolerance_frac=0.0)
    period_ns = 333_333_333
    clock.now_ns = 259_200 * period_ns - 5_000_000
    for i_slot in range(259_200, 259_210):
        pacer.wait()
        assert 0 <= clock.now_ns - i_slot * period_ns < 2_000
        clock.now_ns += period_ns - 5_000_000


def test_lateness_within_the_tolerance_goes_at_once_and_keeps_the_slot() -> None:
    clock = FakeClock(SHIFT_NS)
    pacer = pacer_on(clock)
    pacer.wait()
    clock.now_ns = SHIFT_NS + PERIOD_NS + TOLERANCE_NS
    assert pacer.wait() == 0.0
    assert pacer.n_adjustments == 0
    assert pacer.statistics()["last_late_s"] == pytest.approx(0.0399)
    clock.now_ns = SHIFT_NS + 2 * PERIOD_NS - 10_000_000
    pacer.wait()
    assert clock.now_ns == pytest.approx(SHIFT_NS + 2 * PERIOD_NS, abs=2_000)


def test_lateness_beyond_the_tolerance_takes_the_next_slot_and_counts_one_adjustment(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "profiler.pacer")
    clock = FakeClock(SHIFT_NS)
    pacer = pacer_on(clock)
    pacer.wait()
    clock.now_ns = SHIFT_NS + PERIOD_NS + TOLERANCE_NS + 1
    pacer.wait()
    assert clock.now_ns == pytest.approx(SHIFT_NS + 2 * PERIOD_NS, abs=2_000)
    assert pacer.n_adjustments == 1
    assert "+39.9 ms from slot 1, takes slot 2" in caplog.text


def test_a_pause_of_many_slots_is_one_adjustment_and_no_burst_of_catching_up() -> None:
    clock = FakeClock(SHIFT_NS)
    pacer = pacer_on(clock)
    pacer.wait()
    clock.now_ns = SHIFT_NS + 100 * PERIOD_NS + PERIOD_NS // 2
    for i_slot in (101, 102, 103):
        pacer.wait()
        assert clock.now_ns == pytest.approx(SHIFT_NS + i_slot * PERIOD_NS, abs=2_000)
        clock.now_ns += 200_000_000
    assert pacer.n_adjustments == 1


def test_a_pause_that_ends_within_the_tolerance_of_a_slot_takes_that_slot() -> None:
    clock = FakeClock(SHIFT_NS)
    pacer = pacer_on(clock)
    pacer.wait()
    clock.now_ns = SHIFT_NS + 5 * PERIOD_NS + 1_000_000
    assert pacer.wait() == 0.0
    assert pacer.n_adjustments == 1


def test_the_first_iteration_takes_the_open_slot_or_the_next_without_an_adjustment() -> None:
    open_clock, closed_clock = FakeClock(SHIFT_NS + 20_000_000), FakeClock(SHIFT_NS + 50_000_000)
    open_pacer, closed_pacer = pacer_on(open_clock), pacer_on(closed_clock)
    assert open_pacer.wait() == 0.0
    closed_pacer.wait()
    assert closed_clock.now_ns == pytest.approx(SHIFT_NS + PERIOD_NS, abs=2_000)
    assert open_pacer.n_adjustments == closed_pacer.n_adjustments == 0


def test_a_clock_set_back_costs_one_adjustment_and_never_more_than_a_period() -> None:
    clock = FakeClock(SHIFT_NS + 1000 * PERIOD_NS)
    pacer = pacer_on(clock)
    pacer.wait()
    clock.now_ns -= 500 * PERIOD_NS
    assert pacer.wait() <= PERIOD_NS / 1e9
    assert pacer.n_adjustments == 1


def test_a_clock_set_back_during_the_wait_ends_it() -> None:
    clock = FakeClock()

    def sleep_while_the_clock_is_set_back(seconds: float) -> None:
        clock.sleep(seconds)
        clock.now_ns -= 3_600_000_000_000

    pacer = Pacer(period_s=0.266, shift_s=0.133, clock=clock, sleep=sleep_while_the_clock_is_set_back)
    assert pacer.wait() == 0.0
    assert len(clock.slept_s) == 1


def test_two_pacers_with_one_anchor_keep_their_distance_whenever_they_start() -> None:
    starts_ns = []
    for shift_s, now_ns in ((0.0, 10**18 + 7), (0.133, 10**18 + 912_345_678)):
        clock = FakeClock(now_ns)
        pacer_on(clock, shift_s=shift_s, tolerance_frac=0.0).wait()
        starts_ns.append(clock.now_ns)
    assert (starts_ns[1] - starts_ns[0]) % PERIOD_NS == pytest.approx(SHIFT_NS, abs=4_000)


def test_most_of_the_wait_is_slept_and_only_its_end_yielded() -> None:
    clock = FakeClock()
    pacer_on(clock).wait()
    assert clock.slept_s[0] == pytest.approx(0.1328)
    assert set(clock.slept_s[1:]) == {0.0}


def test_a_real_wait_never_ends_before_its_slot() -> None:
    pacer = Pacer(period_s=0.05, tolerance_frac=0.0)
    for _ in range(4):
        before_ns = time.time_ns()
        waited_s = pacer.wait()
        after_ns = time.time_ns()
        assert after_ns // 50_000_000 > before_ns // 50_000_000
        assert 0 < waited_s <= (after_ns - before_ns) / 1e9


def test_a_pacer_that_is_off_never_waits_and_counts_iterations() -> None:
    pacer = Pacer.off()
    assert [pacer.wait() for _ in range(3)] == [0.0, 0.0, 0.0]
    assert not pacer.is_on
    told = pacer.statistics()
    assert (told["state"], told["n_iterations"], told["n_waits"], told["n_adjustments"]) == ("off", 3, 0, 0)
    assert (told["waited_s"], told["last_late_s"], told["late_s"]["n"]) == (0.0, 0.0, 0)


def test_a_plan_gives_the_job_its_shift_period_and_anchor(tmp_path: Path) -> None:
    clock = FakeClock()

    class FakePacer(Pacer):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings, clock=clock, sleep=clock.sleep)

    pacer = FakePacer.from_plan(write_plan(tmp_path / "plan.json", anchor_ns=1_000), job="A")
    starts_ns = []
    for _ in range(2):
        pacer.wait()
        starts_ns.append(clock.now_ns)
    assert pacer.is_on
    assert starts_ns == pytest.approx([1_000 + SHIFT_NS, 1_000 + SHIFT_NS + PERIOD_NS], abs=2_000)


def test_a_plan_that_does_not_pace_the_job_gives_a_pacer_that_says_it_never_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pacer = Pacer.from_plan(write_plan(tmp_path / "plan.json"), job="B")
    assert not pacer.is_on
    assert "does not pace job B; its pacer never waits" in caplog.text


@pytest.mark.parametrize(
    ("changes", "job", "message"),
    [
        ({}, "C", r"no job 'C'; the plan has A, B"),
        ({"kind": "profile"}, "A", r"kind is 'profile', expected one of shift_plan"),
        ({"version": 2}, "A", r"version is 2, this pacer reads version 1"),
        ({"shifts": None}, "A", r"shifts is NoneType, expected a list"),
        ({"shifts": [{"job": "A", "pace_period_s": -1.0, "shift_s": 0.0}]}, "A", r"period_s -1.0: must be positive"),
        ({"shifts": [{"job": "A", "pace_period_s": 0.2}]}, "A", r"job A: cannot hold .*shift_s"),
    ],
)
def test_a_plan_that_cannot_be_followed_says_why(
    tmp_path: Path, changes: dict[str, Any], job: str, message: str
) -> None:
    path = write_plan(tmp_path / "plan.json", **changes)
    with pytest.raises(PlanError, match=message) as caught:
        Pacer.from_plan(path, job=job)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_json_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(PlanError, match=r"plan\.json: not a JSON document"):
        Pacer.from_plan(path, job="A")


@pytest.mark.parametrize(
    "options",
    [
        {"period_s": 0.0},
        {"period_s": float("nan")},
        {"period_s": float("inf")},
        {"period_s": 1e300},
        {"shift_s": float("nan")},
        {"shift_s": -1e300},
        {"tolerance_frac": 1.0},
        {"tolerance_frac": -0.1},
    ],
)
def test_slots_without_a_meaning_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        pacer_on(FakeClock(), **options)


def test_importing_the_pacer_imports_the_standard_library_alone() -> None:
    script = (
        "import sys; before = set(sys.modules); import profiler.pacer; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(new - set(sys.stdlib_module_names) - {'profiler'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
