"""A plan file that is written anew while the job runs: when its slots count, and what becomes of one that is wrong."""

from __future__ import annotations

import json
import logging
import os
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from profiler.pacer import Pacer
from tests.profiler.fake_clocks import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

S = 1_000_000_000
START_NS = 4_000_000_000 * S
"""Far ahead of the machine's clock, so that a file's time of change, which no test can set, lies before it."""
OWN_NS = 200_000_000
OLD_S, NEW_S = 0.25, 0.4
SWITCH_S = 5.0
LATE_NS = 100_000
"""The clock's steps, and more: an iteration that waited begins so soon after its slot."""


class Training:
    """A paced job on a clock of its own; files written in it carry that clock's time."""

    def __init__(self, path: Path, *, started_at_ns: int = START_NS) -> None:
        self.path = path
        self.clock = clock = FakeClock(started_at_ns)

        class FakePacer(Pacer):
            def __init__(self, **settings: Any) -> None:
                super().__init__(**settings, clock=clock, sleep=clock.sleep)

        self.pacer = FakePacer.from_plan(path, job="A")

    def run_for(self, seconds: float) -> list[int]:
        """Run iterations for a time and return when each began to communicate, in ns."""
        end_ns = self.clock.now_ns + round(seconds * S)
        begun_ns = []
        while self.clock.now_ns < end_ns:
            self.clock.now_ns += OWN_NS
            self.pacer.wait()
            begun_ns.append(self.clock.now_ns)
        return begun_ns

    def holds(self, period_s: float, *, seconds: float = 3.0) -> bool:
        """Run for a time and return whether every iteration began at a slot of a period, anchored at 0."""
        return all(is_at_slot(begun_ns, period_s) for begun_ns in self.run_for(seconds))


def is_at_slot(at_ns: int, period_s: float) -> bool:
    return at_ns % round(period_s * S) <= LATE_NS


def write_plan(path: Path, *, period_s: float | None, at_ns: int = START_NS, **more: Any) -> None:
    """Write a plan and put it in its place at once, as the command line does."""
    shift = {"job": "A", "shift_s": 0.0, "pace_period_s": period_s}
    document = {"kind": "shift_plan", "version": 1, "anchor_ns": 0, "shifts": [shift], **more}
    put(path, json.dumps(document), at_ns=at_ns)


def plan_of(*, period_s: float, n_times: int = 1, **more: Any) -> str:
    shift = {"job": "A", "shift_s": 0.0, "pace_period_s": period_s, **more}
    return json.dumps({"kind": "shift_plan", "version": 1, "shifts": [shift] * n_times})


def put(path: Path, text: str, *, at_ns: int) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    os.utime(partial, ns=(at_ns, at_ns))
    partial.replace(path)


@pytest.fixture
def training(tmp_path: Path) -> Training:
    write_plan(tmp_path / "plan.json", period_s=OLD_S, at_ns=START_NS - 3_600 * S)
    return Training(tmp_path / "plan.json")


def test_a_plan_put_in_place_of_the_old_one_counts_five_seconds_after_it_was_written(training: Training) -> None:
    assert training.holds(OLD_S, seconds=2.0)
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    from_ns = training.clock.now_ns + round(SWITCH_S * S)
    begun_ns = training.run_for(12.0)
    assert all(is_at_slot(at_ns, OLD_S) for at_ns in begun_ns if at_ns < from_ns)
    # The first one takes the open slot, which began up to 60 ms before.
    assert all(is_at_slot(at_ns, NEW_S) for at_ns in begun_ns if at_ns >= from_ns + 0.5 * S)
    told = training.pacer.statistics()
    assert (told["n_plans"], told["period_s"], told["n_adjustments"]) == (1, NEW_S, 0)


def test_a_plan_that_says_from_when_it_counts_is_taken_up_then(training: Training) -> None:
    write_plan(training.path, period_s=NEW_S, valid_from_ns=START_NS + 9 * S)
    begun_ns = training.run_for(15.0)
    assert all(is_at_slot(at_ns, OLD_S) for at_ns in begun_ns if at_ns < START_NS + 9 * S)
    assert all(is_at_slot(at_ns, NEW_S) for at_ns in begun_ns if at_ns >= START_NS + 9.5 * S)


def test_ranks_that_look_at_different_moments_change_slots_at_the_same_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, period_s=OLD_S, at_ns=0)
    ranks = [Training(path, started_at_ns=START_NS + after_ns) for after_ns in (0, 130_000_000, 777_000_000)]
    for rank in ranks:
        rank.run_for(3.0)
    write_plan(path, period_s=NEW_S, at_ns=START_NS + 3 * S)
    first_new_ns = []
    for rank in ranks:
        while rank.pacer.n_plans == 0:
            (at_ns,) = rank.run_for(0.001)
        first_new_ns.append(at_ns)
    assert max(first_new_ns) - min(first_new_ns) <= LATE_NS
    assert 0 <= first_new_ns[0] - (START_NS + 8 * S) < (OLD_S + NEW_S) * S


def test_ranks_change_together_to_a_plan_that_was_moved_into_place_with_an_old_time(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, period_s=OLD_S, at_ns=0)
    now_ns = time.time_ns()
    ranks = [Training(path, started_at_ns=now_ns + after_ns) for after_ns in (0, 130_000_000, 777_000_000)]
    for rank in ranks:
        rank.pacer.wait()
    write_plan(path, period_s=NEW_S, at_ns=now_ns - 600 * S)
    first_new_ns = []
    for rank in ranks:
        while rank.pacer.n_plans == 0:
            (at_ns,) = rank.run_for(0.001)
        first_new_ns.append(at_ns)
    assert max(first_new_ns) - min(first_new_ns) <= LATE_NS
    # The machine's own clock went on by what writing and reading took.
    assert first_new_ns[0] - now_ns >= round((SWITCH_S - OLD_S) * S)


def test_a_first_plan_that_does_not_count_yet_paces_nobody_until_it_does(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    from_ns = START_NS + 9 * S
    write_plan(path, period_s=NEW_S, valid_from_ns=from_ns)
    training = Training(path)
    told = training.pacer.statistics()
    assert (training.pacer.is_on, told["state"], told["period_s"]) == (False, "off", None)
    begun_ns = training.run_for(15.0)
    early_ns = [at_ns for at_ns in begun_ns if at_ns < from_ns]
    assert {after - before for before, after in pairwise(early_ns)} == {OWN_NS}
    assert all(is_at_slot(at_ns, NEW_S) for at_ns in begun_ns if at_ns >= from_ns + round(NEW_S * S))
    assert (training.pacer.state, training.pacer.statistics()["n_adjustments"]) == ("held", 0)


def test_a_first_plan_that_counts_since_long_is_held_at_once(tmp_path: Path) -> None:
    write_plan(tmp_path / "plan.json", period_s=NEW_S, valid_from_ns=START_NS - 1)
    assert Training(tmp_path / "plan.json").holds(NEW_S)


def test_slots_start_where_communication_does_after_the_beginning_of_an_iteration(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    put(path, plan_of(period_s=OLD_S, shift_s=0.03, lead_s=0.1), at_ns=0)
    begun_ns = Training(path).run_for(3.0)
    assert all(is_at_slot(at_ns - 130_000_000, OLD_S) for at_ns in begun_ns)


def test_a_plan_that_was_to_come_is_dropped_with_the_file_that_told_of_it(training: Training) -> None:
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(1.5)
    put(training.path, "{", at_ns=training.clock.now_ns)
    assert training.holds(OLD_S, seconds=10.0)
    assert training.pacer.n_plans == 0
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    assert training.holds(NEW_S)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"kind": "shift_plan", "vers', "not a JSON document"),
        ("", "not a JSON document"),
        ("\ud83d".encode("utf-8", "surrogatepass").decode("latin-1"), "not a JSON document"),
        ('{"kind": "profile"}', "kind is 'profile'"),
        ('{"kind": "shift_plan", "version": 1, "shifts": []}', "no job 'A'; the plan has no jobs"),
        ('{"kind": "shift_plan", "version": 1, "shifts": [{"job": "A", "pace_period_s": -1, "shift_s": 0}]}', "cannot"),
        ('{"kind": "shift_plan", "version": 1, "shifts": [{"job": "A", "pace_period_s": NaN, "shift_s": 0}]}', "nan"),
        (plan_of(period_s=1e300), "period_s 1e+300: must be positive and finite"),
        (plan_of(period_s=1e10), "must be positive and finite, from 1e-09 to 4e+09 s"),
        (plan_of(period_s=True), "pace_period_s is True, expected a number of seconds"),
        (plan_of(period_s=0.3, shift_s=1e300), "shift_s 1e+300: must be finite"),
        (plan_of(period_s=0.3, shift_s=10**400), "int too large to convert to float"),
        (plan_of(period_s=0.3, shift_s=False), "shift_s is False, expected a number of seconds"),
        (plan_of(period_s=0.3, shift_s="0.1"), "shift_s is '0.1', expected a number of seconds"),
        (plan_of(period_s=0.3, lead_s=True), "lead_s is True, expected a number of seconds"),
        (plan_of(period_s=0.3, lead_s=None), "lead_s is None, expected a number of seconds"),
        (plan_of(period_s=0.3, n_times=2), "job 'A' has two shifts; leave one"),
        ('{"kind": "shift_plan", "version": 1, "anchor_ns": 1.5, "shifts": [{"job": "A", "pace_period_s": 1}]}', "1.5"),
    ],
)
def test_a_plan_that_cannot_be_followed_leaves_the_old_slots_and_says_so_once(
    training: Training, text: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(training.path, text, at_ns=training.clock.now_ns)
    assert training.holds(OLD_S, seconds=20.0)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    told = training.pacer.statistics()
    for message in (warnings[0], told["plan_error"]):
        assert str(training.path) in message
        assert words in message
    assert "the slots of before stay" in warnings[0]
    assert (told["n_plans"], told["period_s"]) == (0, OLD_S)


def test_a_deleted_plan_leaves_the_old_slots_and_its_return_is_followed(
    training: Training, caplog: pytest.LogCaptureFixture
) -> None:
    kept = training.path.with_suffix(".kept")
    training.path.rename(kept)
    assert training.holds(OLD_S, seconds=5.0)
    assert "plan.json" in training.pacer.statistics()["plan_error"]
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 1
    kept.rename(training.path)
    assert training.holds(OLD_S)
    assert training.pacer.statistics()["plan_error"] is None
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    assert training.holds(NEW_S)


def test_a_file_that_is_half_written_when_looked_at_is_read_again_without_a_word(
    training: Training, caplog: pytest.LogCaptureFixture
) -> None:
    at_ns = training.clock.now_ns
    write_plan(training.path, period_s=NEW_S, at_ns=at_ns)
    whole = training.path.read_text(encoding="utf-8")
    put(training.path, whole[: len(whole) // 2], at_ns=at_ns)
    training.run_for(0.9)
    put(training.path, whole, at_ns=at_ns + 700_000_000)
    training.run_for(SWITCH_S + 2.0)
    assert training.holds(NEW_S)
    assert not [record for record in caplog.records if record.levelno == logging.WARNING]


def test_a_good_plan_after_a_wrong_one_is_followed(training: Training) -> None:
    put(training.path, "{", at_ns=training.clock.now_ns)
    training.run_for(4.0)
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    assert training.holds(NEW_S)
    assert training.pacer.statistics()["plan_error"] is None


def test_the_same_plan_written_again_changes_nothing(training: Training) -> None:
    training.run_for(1.0)
    write_plan(training.path, period_s=OLD_S, at_ns=training.clock.now_ns, note="written again")
    assert training.holds(OLD_S, seconds=10.0)
    assert training.pacer.n_plans == 0


def test_a_plan_may_end_pacing_and_begin_it_again(training: Training) -> None:
    write_plan(training.path, period_s=None, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    assert training.pacer.state == "off"
    assert {after - before for before, after in pairwise(training.run_for(2.0))} == {OWN_NS}
    write_plan(training.path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    assert training.holds(NEW_S)
    assert training.pacer.n_plans == 2


def test_slots_that_were_let_go_are_tried_at_once_when_a_plan_gives_longer_ones(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, period_s=0.15, at_ns=0)
    training = Training(path)
    training.run_for(5.0)
    assert training.pacer.statistics()["state"] == "let_go"
    assert "missed again and again" in training.pacer.statistics()["reason"]
    write_plan(path, period_s=NEW_S, at_ns=training.clock.now_ns)
    training.run_for(SWITCH_S + 1.0)
    told = training.pacer.statistics()
    assert (told["state"], told["reason"]) == ("held", None)
    assert training.holds(NEW_S)


def test_a_file_servers_clock_that_runs_ahead_does_not_put_a_plan_off(training: Training) -> None:
    write_plan(training.path, period_s=NEW_S, at_ns=START_NS + 3_600 * S)
    training.run_for(SWITCH_S + 2.0)
    assert training.holds(NEW_S)
