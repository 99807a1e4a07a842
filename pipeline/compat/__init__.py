"""How compatible the jobs of one link are: exact kernel, n-job solver, bounds, scores and verdict."""

from __future__ import annotations

from pipeline.compat.congestion import own_profile
from pipeline.compat.explain import explain
from pipeline.compat.explanation import Explanation
from pipeline.compat.pairs import PairScore, PairScores, score_chosen_pairs, score_pairs
from pipeline.compat.result import Compatibility, JobShift
from pipeline.compat.solve import solve

__all__ = [
    "Compatibility",
    "Explanation",
    "JobShift",
    "PairScore",
    "PairScores",
    "explain",
    "own_profile",
    "score_chosen_pairs",
    "score_pairs",
    "solve",
]
