"""One shift a job for the whole affinity graph."""

from __future__ import annotations

from pipeline.shifts.options import Objective, PlanOptions
from pipeline.shifts.plan import ShiftPlan
from pipeline.shifts.recommend import recommend_shifts
from pipeline.shifts.standing import is_interleaved

__all__ = ["Objective", "PlanOptions", "ShiftPlan", "is_interleaved", "recommend_shifts"]
