"""One series of many: its profile, or what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profiler.phases import TrafficProfile, profile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiler.signals import RateSeries

__all__ = ["Unfit", "profile_or_reason", "profiles_or_reasons"]


class Unfit(NamedTuple):
    """Stands for what was given in place of a series: the name of its type."""

    kind: str
    n_samples: int = 0


def profile_or_reason(series: RateSeries | Unfit) -> TrafficProfile:
    """Return the profile of a series; if that fails, one of status ``no_data`` whose reason tells the failure.

    Raises
    ------
    MemoryError
        If memory runs out, which says nothing of the series.
    """
    if isinstance(series, Unfit):
        reason = f"given a {series.kind} in place of a RateSeries; make one with RateSeries.from_counter or from_deltas"
        return TrafficProfile(status="no_data", reason=reason, fold_bps=np.zeros(0))
    try:
        return profile(series)
    except MemoryError:
        raise
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


def profiles_or_reasons(chunk: Iterable[RateSeries | Unfit]) -> list[TrafficProfile]:
    """Return `profile_or_reason` of each series, in their order."""
    return [profile_or_reason(series) for series in chunk]
