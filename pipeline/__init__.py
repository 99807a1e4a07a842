"""Many jobs: from traffic profiles to compatibility scores and time shifts.

Names are imported on first use, so that the command line starts fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.compat import Compatibility, Explanation, PairScores, explain, score_pairs, solve
    from pipeline.flow import Analysis, analyze
    from pipeline.ranking import rank
    from pipeline.shifts import PlanOptions, ShiftPlan, recommend_shifts
    from pipeline.simulation import simulate
    from pipeline.sql import open_lake

__all__ = [
    "Analysis",
    "Compatibility",
    "Explanation",
    "PairScores",
    "PlanOptions",
    "ShiftPlan",
    "analyze",
    "explain",
    "open_lake",
    "rank",
    "recommend_shifts",
    "score_pairs",
    "simulate",
    "solve",
]

_HOMES = {
    "Analysis": "pipeline.flow",
    "Compatibility": "pipeline.compat",
    "Explanation": "pipeline.compat",
    "PairScores": "pipeline.compat",
    "PlanOptions": "pipeline.shifts",
    "ShiftPlan": "pipeline.shifts",
    "analyze": "pipeline.flow",
    "explain": "pipeline.compat",
    "open_lake": "pipeline.sql",
    "rank": "pipeline.ranking",
    "recommend_shifts": "pipeline.shifts",
    "score_pairs": "pipeline.compat",
    "simulate": "pipeline.simulation",
    "solve": "pipeline.compat",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name not in _HOMES:
        raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
