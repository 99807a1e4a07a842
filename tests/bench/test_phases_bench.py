"""Widths and rates of our phases against jobs of known bursts, which are not made by our own generator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from tests.bench.bursts import Errors, errors_of, jobs
from tests.bench.tables import layout

SEED = 41
N_JOBS = 150
RIGHT_FRAC = 0.02
MIN_FRAC = 0.95
"""Of the answers so many must be within the limit."""
MAX_EXTRA_FRAC = 0.01
"""As on the held-out traces."""
LIMITS: dict[str, tuple[float, Callable[[Errors], float]]] = {
    "duty": (0.05, lambda one: one.duty_frac),
    "peak": (0.10, lambda one: one.peak_frac),
    "bytes": (0.05, lambda one: one.bits_frac),
}
"""What may be off by how much: the duty of the whole iteration, the others of themselves."""


@pytest.fixture(scope="module")
def found() -> list[Errors | None]:
    return [errors_of(job) for job in islice(jobs(SEED), N_JOBS)]


@pytest.fixture(scope="module")
def right(found: list[Errors | None]) -> list[Errors]:
    """The answers whose period is right, and a table of how far they are off."""
    right = [one for one in found if one is not None and one.period_frac < RIGHT_FRAC]
    rows = [["phases of known jobs", "limit", "within", "median", "90 %", "worst"]]
    for name, (limit, error) in LIMITS.items():
        errors = sorted(map(error, right))
        shown = [errors[int(part * (len(errors) - 1))] for part in (0.5, 0.9, 1.0)]
        rows.append([name, f"{limit:.0%}", f"{_within(errors, limit):.1%}", *(f"{one:.2%}" for one in shown)])
    n_silent = found.count(None)
    counts = f"{len(found)} jobs: {len(right)} right, {len(found) - len(right) - n_silent} wrong, {n_silent} silent"
    print(f"\n\n{layout(rows)}\n{counts}")  # noqa: T201
    return right


def test_periods_of_bursts_in_any_place_are_right(found: list[Errors | None], right: list[Errors]) -> None:
    assert len(right) >= MIN_FRAC * len(found)


@pytest.mark.parametrize("name", LIMITS)
def test_what_phases_say_is_near_the_truth(name: str, right: list[Errors]) -> None:
    limit, error = LIMITS[name]
    assert _within([*map(error, right)], limit) >= MIN_FRAC


def test_every_width_lies_between_its_quartiles(right: list[Errors]) -> None:
    assert all(one.in_order for one in right)


def test_one_job_is_not_taken_for_two(found: list[Errors | None]) -> None:
    assert sum(one.n_extra for one in found if one is not None) <= MAX_EXTRA_FRAC * len(found)


def _within(errors: list[float], limit: float) -> float:
    return sum(error <= limit for error in errors) / len(errors)
