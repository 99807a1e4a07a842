"""From a rate series to its iteration period, or to the reason why there is none."""

from __future__ import annotations

from profiler.period.detect import detect_period
from profiler.period.estimate import PeriodEstimate
from profiler.period.status import STATUSES, Status

__all__ = ["STATUSES", "PeriodEstimate", "Status", "detect_period"]
