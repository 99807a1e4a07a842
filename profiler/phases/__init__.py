"""From a rate series and its period to the Up and Down phases of an iteration."""

from __future__ import annotations

from profiler.phases.extract import extract_phases, profile
from profiler.phases.mask import up_mask
from profiler.phases.phase import Outlier, Phase
from profiler.phases.profile import TrafficProfile

__all__ = ["Outlier", "Phase", "TrafficProfile", "extract_phases", "profile", "up_mask"]
