"""Answers against the exact score: what was claimed, what was reached, and the best that anybody reached."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tests.bench.compatibility.cases import draw_case
from tests.bench.compatibility.exact import exact_score
from tests.bench.compatibility.methods import METHODS

if TYPE_CHECKING:
    from tests.bench.compatibility.answer import Answer
    from tests.bench.compatibility.cases import Case

__all__ = ["PROVED", "Judged", "judge_family", "runs_here"]

PROVED: Final = 1e-9
"""A gap of less than this is none: rounding."""
WARM_UP_SEED: Final = 0
BRIEF_S: Final = 0.05
N_RUNS: Final = 3
"""What is so brief is solved as often as this, and the least time counts: the first may load code, any be disturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One method on one case.

    ``claim_error`` is how far the claimed score is from the exact score of the same shifts, ``loss`` how far that is
    below the best exact score of all methods on this case.
    """

    method: str
    case: Case
    score: float
    claim_error: float
    gap: float | None
    spent_s: float
    loss: float = 0.0

    @property
    def is_proved(self) -> bool:
        """Whether the method says that nothing is better."""
        return self.gap is not None and self.gap < PROVED


def runs_here() -> list[str]:
    """Return the methods that are installed."""
    return [name for name, method in METHODS.items() if method.lacks is None]


def judge_family(name: str, *, seeds: Sequence[int], methods: Iterable[str]) -> list[Judged]:
    """Return what each method makes of the cases of a family; cases that it cannot state are left out.

    What a method loads and compiles at its first case of a family is not timed.
    """
    methods = list(methods)
    for method in methods:
        METHODS[method].solve(draw_case(name, WARM_UP_SEED))
    found = [
        judged
        for method in methods
        for seed in seeds[: METHODS[method].most_seeds]
        if (judged := _judge(method, draw_case(name, seed))) is not None
    ]
    best = {seed: max(one.score for one in found if one.case.seed == seed) for seed in {one.case.seed for one in found}}
    return [replace(one, loss=best[one.case.seed] - one.score) for one in found]


def _judge(method: str, case: Case) -> Judged | None:
    answer, spent_s = _timed(method, case)
    if answer is None:
        return None
    if spent_s < BRIEF_S:
        spent_s = min(spent_s, *(_timed(method, case)[1] for _ in range(N_RUNS - 1)))
    score = exact_score(case, answer.shifts_ns)
    return Judged(
        method=method,
        case=case,
        score=float(score),
        claim_error=abs(answer.score - float(score)),
        gap=answer.gap,
        spent_s=spent_s if answer.spent_s is None else answer.spent_s,
    )


def _timed(method: str, case: Case) -> tuple[Answer | None, float]:
    """Return an answer and the CPU time that it took."""
    start_s = time.process_time()
    answer = METHODS[method].solve(case)
    return answer, time.process_time() - start_s
