"""Deadlines on a clock that the test sets."""

from __future__ import annotations

import math

import pytest

from pipeline.deadline import NEVER, Deadline
from profiler.errors import UsageError


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_deadline_comes_after_its_budget() -> None:
    clock = Clock()
    deadline = Deadline.after(2.0, clock_s=clock)
    clock.now_s += 1.75
    assert not deadline.is_over()
    assert deadline.elapsed_s() == 1.75
    clock.now_s += 0.25
    assert deadline.is_over()


def test_without_a_budget_it_never_comes_but_time_is_counted() -> None:
    clock = Clock()
    deadline = Deadline.after(None, clock_s=clock)
    clock.now_s += 1e9
    assert not deadline.is_over()
    assert not deadline.is_finite
    assert deadline.elapsed_s() == 1e9
    assert not NEVER.is_over()


@pytest.mark.parametrize("budget_s", [0.0, -1.0, math.nan])
def test_a_budget_that_is_no_time_is_refused(budget_s: float) -> None:
    with pytest.raises(UsageError, match="must be positive"):
        Deadline.after(budget_s)
