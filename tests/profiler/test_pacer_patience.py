"""Lateness does not cascade: what pacing may cost, over thousands of iterations of hosts with every trouble."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.pacer import Pacer
from profiler.pacer.patience import MAX_CREDIT, SLOTS_A_MISS, Patience
from tests.profiler.fake_clocks import SettableClock

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERIOD_S = 0.266
NATURAL_S = PERIOD_S / 1.045
TOLERANCE_FRAC = 0.15
N_ITERATIONS = 4_000

Work = Callable[["NDArray[np.int64]", np.random.Generator], "NDArray[np.float64]"]
"""Own times in seconds of iterations, given their numbers."""


def jitter(frac: float) -> Work:
    return lambda i, draws: np.maximum(0.1, draws.normal(1, frac, i.size)) * NATURAL_S


def longer_than_slot(factor: float) -> Work:
    return lambda i, draws: np.full(i.size, factor * PERIOD_S)  # noqa: ARG005


def stragglers(share: float) -> Work:
    return lambda i, draws: np.where(draws.random(i.size) < share, 3 * NATURAL_S, steady_work(i, draws))


def interrupted(every: int, for_s: float) -> Work:
    return lambda i, draws: steady_work(i, draws) + np.where(i % every == every - 1, for_s, 0.0)


steady_work = jitter(0.03)

TROUBLES: dict[str, Work] = {
    "none": steady_work,
    "every iteration 0.5 % longer than the slot": longer_than_slot(1.005),
    "every iteration 1 % longer than the slot": longer_than_slot(1.01),
    "every iteration 5 % longer than the slot": longer_than_slot(1.05),
    "every iteration 20 % longer than the slot": longer_than_slot(1.2),
    "every iteration 15 times as long as the slot": longer_than_slot(15.02),
    "a host that slowly becomes a third slower": lambda i, draws: steady_work(i, draws) * (1 + i / i.size / 3),
    "jitter of 8 %": jitter(0.08),
    "jitter of 11 %": jitter(0.11),
    "jitter of 30 %": jitter(0.3),
    "exponential delays of 30 %": lambda i, draws: (0.7 + draws.exponential(0.3, i.size)) * NATURAL_S,
    "one straggler in 20": stragglers(0.05),
    "one straggler in 100": stragglers(0.01),
    "a checkpoint every 50 iterations": interrupted(50, 5.0),
    "a short evaluation every 5 iterations": interrupted(5, 0.5),
    "warm-up": lambda i, draws: np.where(i < 8, 4.0, 1.0) * steady_work(i, draws),
}


@dataclass
class Run:
    """A run in true time: what it took, what it would have taken unpaced, and each iteration's own time."""

    pacer: Pacer
    clock: SettableClock
    own_s: list[float]

    @property
    def taken_s(self) -> float:
        return self.clock.now_ns / 1e9

    @property
    def unpaced_s(self) -> float:
        return math.fsum(self.own_s)

    @property
    def bound_s(self) -> float:
        """What `Pacer` states: the longer of each iteration and its slot, and less than a slot for each one missed."""
        n_missed = MAX_CREDIT + self.taken_s / PERIOD_S / SLOTS_A_MISS
        cost_s = (1 - TOLERANCE_FRAC) * PERIOD_S
        return math.fsum(max(own_s, PERIOD_S) for own_s in self.own_s) + cost_s * (1 + n_missed)


def run(work: Work, *, steps_ns: Callable[[int], int] = lambda i: 0, n_iterations: int = N_ITERATIONS) -> Run:  # noqa: ARG005
    clock = SettableClock(ahead_ns=10**18)
    pacer = Pacer(period_s=PERIOD_S, shift_s=0.133, tolerance_frac=TOLERANCE_FRAC, clock=clock, sleep=clock.sleep)
    own_s = work(np.arange(n_iterations), np.random.default_rng(7)).tolist()
    for i, each_s in enumerate(own_s):
        clock.now_ns += round(each_s * 1e9)
        clock.ahead_ns += steps_ns(i)
        pacer.wait()
    return Run(pacer, clock, own_s)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_paced_job_is_never_slower_than_stated_whatever_troubles_it(trouble: str) -> None:
    done = run(TROUBLES[trouble])
    assert done.taken_s <= done.bound_s
    # The plan stretches by 4.5 %, missed slots by another 5 % and six slots.
    assert done.taken_s <= 1.095 * done.unpaced_s + 6 * PERIOD_S


@pytest.mark.parametrize("step_ms", [-3_000, -266, -150, -60, -5, 5, 60, 150, 266, 3_000])
def test_a_clock_that_is_set_again_and_again_costs_no_more_than_missed_slots_do(step_ms: int) -> None:
    for every in (1, 7, 50, 400):
        done = run(steady_work, steps_ns=step_every(every, step_ms * 1_000_000))
        n_small = N_ITERATIONS // every if abs(step_ms) / 1e3 < TOLERANCE_FRAC * PERIOD_S else 0
        assert done.taken_s <= done.bound_s + n_small * abs(step_ms) / 1e3
        assert done.pacer.n_clock_steps == pytest.approx(N_ITERATIONS / every, abs=1)


def step_every(every: int, step_ns: int) -> Callable[[int], int]:
    return lambda i: step_ns * (i % every == every - 1)


def test_without_patience_a_job_longer_than_its_slot_takes_two_thirds_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.pacer.patience.MAX_CREDIT", math.inf)
    done = run(TROUBLES["every iteration 20 % longer than the slot"], n_iterations=500)
    assert done.taken_s == pytest.approx(2 / 1.2 * done.unpaced_s, rel=0.01)
    assert done.pacer.state == "held"


def test_a_job_within_its_slots_is_held_all_the_time_and_takes_its_slots_time() -> None:
    for trouble in ("none", "jitter of 8 %", "one straggler in 100", "a checkpoint every 50 iterations"):
        assert run(TROUBLES[trouble]).pacer.statistics()["n_let_go"] == 0, trouble
    done = run(steady_work)
    assert done.taken_s == pytest.approx(N_ITERATIONS * PERIOD_S, rel=0.001)


def test_letting_go_is_said_once_with_what_to_do_and_told_in_the_statistics(caplog: pytest.LogCaptureFixture) -> None:
    done = run(TROUBLES["every iteration 20 % longer than the slot"], n_iterations=50)
    told = done.pacer.statistics()
    assert (told["state"], told["n_let_go"], told["n_adjustments"]) == ("let_go", 1, 5)
    assert told["reason"] == (
        "slots of 0.266 s missed again and again: iterations of 0.3192 s (median) are longer than the slots: "
        "ask for a new plan"
    )
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "pacing is let go, the job runs free until slot" in warnings[0]
    assert told["reason"] in warnings[0]


def test_jitter_that_no_slot_holds_is_not_called_a_job_longer_than_its_slot() -> None:
    reason = run(TROUBLES["jitter of 30 %"], n_iterations=200).pacer.statistics()["reason"]
    assert "too irregular or disturbed" in reason


def test_a_job_that_is_let_go_never_waits_until_it_tries_again() -> None:
    clock = SettableClock()
    pacer = Pacer(period_s=0.1, clock=clock, sleep=clock.sleep)
    states = []
    for _ in range(400):
        clock.now_ns += 120_000_000
        waited_s = pacer.wait()
        states.append(pacer.state)
        assert waited_s == 0.0 or pacer.state == "held"
    first_free = states.index("let_go")
    retried_at = states.index("held", first_free)
    # Slots 0 to 127 lie within the first 128 * 0.1 s: the trial is the first iteration ready after that.
    assert sum(state == "held" for state in states[:first_free]) == 6
    assert states[retried_at - 1] == "let_go"
    assert 12.8 <= pacer_ready_s(states, retried_at) < 12.8 + 0.12


def pacer_ready_s(states: Sequence[str], i_iteration: int) -> float:
    """Return when iteration i was ready, in a run of 0.12 s an iteration: a held one ends at a slot, 0.1 s apart."""
    ready_s = went_s = 0.0
    for i in range(i_iteration + 1):
        ready_s = went_s + 0.12
        went_s = math.ceil(ready_s / 0.1 - 1e-9) * 0.1 if states[i] == "held" else ready_s
    return ready_s


def test_a_disturbance_that_ends_is_followed_by_slots_held_again() -> None:
    done = run(lambda i, draws: steady_work(i, draws) * np.where((i >= 500) & (i < 540), 1.3, 1.0))
    # Its 13 s end within the 17 s that a job runs free at least.
    told = done.pacer.statistics()
    assert (told["state"], told["n_let_go"], told["n_retries"], told["reason"]) == ("held", 1, 1, None)
    assert done.taken_s <= 1.06 * done.unpaced_s


def test_trials_of_a_job_that_never_fits_become_rare_and_nearly_free() -> None:
    done = run(TROUBLES["every iteration 20 % longer than the slot"], n_iterations=20_000)
    # Free times of 64 to 4096 slots, each up to twice as long until a slot of the right number comes.
    assert 7 <= done.pacer.statistics()["n_retries"] <= 12
    assert done.taken_s <= 1.003 * done.unpaced_s


def test_patience_bears_five_misses_at_once_and_one_in_twenty_for_ever() -> None:
    patience = Patience()
    assert [patience.bear(0) for _ in range(6)] == [True] * 5 + [False]
    patient = Patience()
    for i in range(2_000):
        patient.earn(1.0)
        if i % 20 == 19:
            assert patient.bear(i)
    impatient = Patience()
    n_borne = 0
    for i in range(0, 2_000, 18):
        impatient.earn(18.0)
        if not impatient.bear(i):
            break
        n_borne += 1
    assert 30 < n_borne < 2_000 // 18


def test_failed_trials_double_the_time_to_the_next_and_a_lasting_one_resets_it() -> None:
    patience = Patience()
    lengths = []
    i_slot = 1_000_003
    for _ in range(9):
        patience.credit = 0.0
        assert not patience.bear(i_slot)
        assert patience.try_again_at is not None
        lengths.append(patience.try_again_at - i_slot)
        i_slot = patience.try_again_at
        assert not patience.try_again(i_slot - 1)
        assert patience.try_again(i_slot)
    for n, length in enumerate(lengths):
        least = 64 * 2 ** min(n, 6)
        assert least < length <= 2 * least
    assert patience.settle(i_slot + 4_096)
    patience.credit = 0.0
    assert not patience.bear(i_slot + 5_000)
    assert patience.try_again_at is not None
    assert patience.try_again_at - (i_slot + 5_000) <= 128


def test_a_clock_set_back_by_years_does_not_put_the_trial_off_by_years() -> None:
    patience = Patience()
    patience.credit = 0.0
    patience.bear(10**9)
    assert not patience.try_again(1_000)
    assert patience.try_again(1_000 // 64 * 64 + 128)
