"""One host, one traffic series: from bytes to an iteration period and its Up/Down phases.

Names are imported on first use, so that a training script can ``import profiler.pacer`` at the cost of the
standard library alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiler.batch import profile_many
    from profiler.collectives import CollectiveEvents
    from profiler.events import profile_events
    from profiler.live import LiveCounter
    from profiler.period import PeriodEstimate, detect_period
    from profiler.phases import Phase, TrafficProfile, extract_phases, profile, up_mask
    from profiler.ports import carried_jobs, detect_together
    from profiler.signals import RateSeries
    from profiler.store import Lake

__all__ = [
    "CollectiveEvents",
    "Lake",
    "LiveCounter",
    "PeriodEstimate",
    "Phase",
    "RateSeries",
    "TrafficProfile",
    "carried_jobs",
    "detect_period",
    "detect_together",
    "extract_phases",
    "profile",
    "profile_events",
    "profile_many",
    "up_mask",
]

_HOMES = {
    "CollectiveEvents": "profiler.collectives",
    "Lake": "profiler.store",
    "LiveCounter": "profiler.live",
    "PeriodEstimate": "profiler.period",
    "Phase": "profiler.phases",
    "RateSeries": "profiler.signals",
    "TrafficProfile": "profiler.phases",
    "carried_jobs": "profiler.ports",
    "detect_period": "profiler.period",
    "detect_together": "profiler.ports",
    "extract_phases": "profiler.phases",
    "profile": "profiler.phases",
    "profile_events": "profiler.events",
    "profile_many": "profiler.batch",
    "up_mask": "profiler.phases",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name not in _HOMES:
        raise AttributeError(f"module 'profiler' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
