"""`in_order`: candidates best first, equal ones as the caller gave them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.ranking.result import Criterion, RankedCandidate

__all__ = ["TIES", "in_order"]

TIES: Final[dict[Criterion, float]] = {"mean": 1e-9, "worst": 1e-9, "time": 0.01}
"""Candidates that are worse than the best of their group by no more than this are as good as it: scores are exact but
for rounding, a simulated mean over its period is good to a per cent."""


def in_order(candidates: Sequence[RankedCandidate], *, by: Criterion) -> tuple[RankedCandidate, ...]:
    """Return candidates best first.

    Parameters
    ----------
    candidates
        In the caller's order.
    by
        Criterion. A candidate that has no value for it comes last.

    Notes
    -----
    From the best on, a group takes in every candidate within `TIES` of its first and best; within a group the caller's
    order counts. So every candidate of a group is better than every one of the next.
    """
    costs = [_cost(candidate, by) for candidate in candidates]
    groups: list[list[int]] = []
    for i in sorted(range(len(costs)), key=lambda i: costs[i]):
        if groups and (costs[i] == costs[groups[-1][0]] or costs[i] - costs[groups[-1][0]] <= TIES[by]):
            groups[-1].append(i)
        else:
            groups.append([i])
    return tuple(candidates[i] for group in groups for i in sorted(group))


def _cost(candidate: RankedCandidate, by: Criterion) -> float:
    """Return what is to be small; infinite where it is not known."""
    if not candidate.is_judged:
        return math.inf
    if by == "time":
        return math.inf if candidate.predicted_slowdown is None else candidate.predicted_slowdown
    score = candidate.score_mean if by == "mean" else candidate.score_worst
    return -(score or 0.0)
