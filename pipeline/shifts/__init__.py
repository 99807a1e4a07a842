"""One shift a job for the whole affinity graph."""

from __future__ import annotations

from pipeline.shifts.plan import ShiftPlan
from pipeline.shifts.recommend import recommend
from pipeline.shifts.standing import is_interleaved

__all__ = ["ShiftPlan", "is_interleaved", "recommend"]
