"""The best of some shifts drawn at random, each judged exactly: what any method must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tests.bench.compatibility.answer import Answer
from tests.bench.compatibility.exact import NS_PER_MS, exact_score

if TYPE_CHECKING:
    from tests.bench.compatibility.cases import Case

__all__ = ["best_of_random"]

N_TRIED: Final = 50


def best_of_random(case: Case) -> Answer:
    """Return the best of `N_TRIED` random shifts."""
    rng = np.random.default_rng(case.seed)
    highs = [job.period_ms * NS_PER_MS for job in case.jobs]
    tried = [tuple(rng.integers(highs).tolist()) for _ in range(N_TRIED)]
    scores = [exact_score(case, shifts_ns) for shifts_ns in tried]
    best = max(range(N_TRIED), key=scores.__getitem__)
    return Answer(score=float(scores[best]), shifts_ns=tried[best])
