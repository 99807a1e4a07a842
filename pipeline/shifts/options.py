"""`PlanOptions`: what a plan is to be good for, what it may not change, and how long it may take."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from profiler.errors import UsageError
from profiler.units import NS_PER_S

__all__ = ["DEFAULT_WEIGHT", "Objective", "PlanOptions"]

Objective = Literal["mean", "worst"]

DEFAULT_WEIGHT: Final = 1.0
"""Of a job whose size is not given: without sizes all jobs count alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """What is asked of a plan; see `recommend_shifts`.

    Parameters
    ----------
    objective
        ``mean`` of the links' scores, each weighted by the sizes of the jobs it binds, or the ``worst`` link's score.
    weights
        Size of jobs, in any unit; those not named have size 1.
    pinned
        Shifts, in seconds, that are to stay as they are.
    budget_s
        Time that the search where links form loops may take. By default it does so much work as takes a second or so
        for a hundred links, and always comes to the same answer; with a budget a faster machine gets further.
    seed
        Of all that is drawn at random.

    Raises
    ------
    UsageError
        If the objective is not one of the two, a weight or the budget is not positive, or a pinned shift is negative.
    """

    objective: Objective = "mean"
    weights: Mapping[str, float] = field(default_factory=dict)
    pinned: Mapping[str, float] = field(default_factory=dict)
    budget_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.objective not in get_args(Objective):
            raise UsageError(f"plan: objective {self.objective!r}; give {' or '.join(get_args(Objective))}")
        for job, weight in self.weights.items():
            if not 0 < weight < math.inf:
                raise UsageError(f"plan: job {job} has weight {weight!r}; sizes of jobs are positive and finite")
        for job, shift_s in self.pinned.items():
            if not 0 <= shift_s < math.inf:
                raise UsageError(f"plan: job {job} is pinned to shift {shift_s!r} s; a shift is finite, not negative")
        if self.budget_s is not None and not self.budget_s > 0:
            raise UsageError(f"plan: budget_s {self.budget_s!r}; give a positive time in seconds, or none")

    def sized(self, sizes: Mapping[str, float]) -> PlanOptions:
        """Return the same options with a weight for each job that has a size but no weight."""
        known = {job: size for job, size in sizes.items() if size > 0}
        return replace(self, weights={**known, **self.weights})

    def unused(self, jobs: Collection[str]) -> Iterator[str]:
        """Yield a warning for each weight or pin of a job that is not among those that can be shifted."""
        for what, names in (("weight", self.weights), ("pin", self.pinned)):
            for job in sorted(set(names) - set(jobs)):
                yield f"the {what} of job {job} changes nothing: it is no periodic job on any link that jobs share"

    def weight_of(self, jobs: Collection[str]) -> float:
        """Return what a link counts that binds some jobs: a link delays every job on it, so their sizes add up."""
        return sum(self.weights.get(job, DEFAULT_WEIGHT) for job in jobs)

    def pinned_ns(self, job: str, *, period_ns: int) -> int | None:
        """Return where in its period a job is pinned, None if it is not."""
        return None if job not in self.pinned else round(self.pinned[job] * NS_PER_S) % period_ns
