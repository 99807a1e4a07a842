"""One host, one traffic series: from bytes to an iteration period and its Up/Down phases.

Names are imported on first use, so that a training script can ``import profiler.pacer`` at the cost of the
standard library alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiler.period import PeriodEstimate, detect_period
    from profiler.phases import Phase, TrafficProfile, extract_phases, profile
    from profiler.signals import RateSeries
    from profiler.store import Lake

__all__ = [
    "Lake",
    "PeriodEstimate",
    "Phase",
    "RateSeries",
    "TrafficProfile",
    "detect_period",
    "extract_phases",
    "profile",
]

_HOMES = {
    "Lake": "profiler.store",
    "PeriodEstimate": "profiler.period",
    "Phase": "profiler.phases",
    "RateSeries": "profiler.signals",
    "TrafficProfile": "profiler.phases",
    "detect_period": "profiler.period",
    "extract_phases": "profiler.phases",
    "profile": "profiler.phases",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name not in _HOMES:
        raise AttributeError(f"module 'profiler' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
