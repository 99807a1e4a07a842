"""The options of a plan as the command line gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from profiler.errors import UsageError
from profiler.units import parse_duration_s

if TYPE_CHECKING:
    from pipeline.shifts import PlanOptions

__all__ = ["BudgetOption", "Goal", "GoalOption", "PinOption", "WeightOption", "read_options"]


NO_SHIFT: Final = re.compile(r"0+(\.0*)?\s*(ns|us|µs|ms|s|min|m|h)?")
"""Durations are positive elsewhere; a job may well be pinned to the anchor itself."""


class Goal(StrEnum):
    """Values of ``--objective``."""

    MEAN = "mean"
    WORST = "worst"


GoalOption = Annotated[
    Goal, typer.Option("--objective", help="What shifts are to make good: the mean over links, or the worst of them.")
]
WeightOption = Annotated[
    list[str],
    typer.Option(
        "--weight", metavar="JOB=SIZE", help="How much a job counts; else as many as it has ranks. May be repeated."
    ),
]
PinOption = Annotated[
    list[str],
    typer.Option("--pin", metavar="JOB=TIME", help="Leave a job at a shift, such as A=0s. May be repeated."),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Give the best found after so long, such as 10s, where links form loops; else after a fixed search.",
    ),
]


def read_options(objective: Goal, *, weight: Iterable[str], pin: Iterable[str], budget: str | None) -> PlanOptions:
    """Return the options of a plan.

    Raises
    ------
    UsageError
        If one is not of its form, or makes no sense.
    """
    from pipeline.shifts.options import PlanOptions

    return PlanOptions(
        objective=objective.value,
        weights=_by_job(weight, option="--weight", example="A=2", value_of=_size),
        pinned=_by_job(pin, option="--pin", example="A=130ms", value_of=_shift_s),
        budget_s=None if budget is None else parse_duration_s(budget),
    )


def _by_job(words: Iterable[str], *, option: str, example: str, value_of: Callable[[str], float]) -> dict[str, float]:
    values: dict[str, float] = {}
    for word in words:
        job, equals, value = word.rpartition("=")
        if not equals or not job:
            raise UsageError(f"{option} {word!r}: write the job's name, = and its value, such as {example}")
        if job in values:
            raise UsageError(f"{option} {word!r}: job {job} has a value already; give one a job")
        values[job] = value_of(value)
    return values


def _shift_s(text: str) -> float:
    return 0.0 if NO_SHIFT.fullmatch(text.strip()) else parse_duration_s(text)


def _size(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--weight: size {text!r} is not a number; give one above 0") from None
