"""One series of many: its profile, or what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.phases import TrafficProfile, profile

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["profile_or_reason"]


def profile_or_reason(series: RateSeries) -> TrafficProfile:
    """Return the profile of a series; if that fails, one of status ``no_data`` whose reason tells the failure."""
    try:
        return profile(series)
    except Exception as error:  # noqa: BLE001 - one series in 100,000 must not cost the others; its reason tells
        return TrafficProfile(
            status="no_data",
            reason=f"profiling failed with {type(error).__name__}: {error}; the fault is Offbeat's, please report it",
            host=series.host,
            device=series.device,
            port=series.port,
            direction=series.direction,
            layer=series.layer,
            fold_bps=np.zeros(0),
        )
