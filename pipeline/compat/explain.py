"""`explain`: where the excess of a link comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.compat.solve import solve

if TYPE_CHECKING:
    from pipeline.compat.explanation.result import Explanation
    from profiler.phases import TrafficProfile

__all__ = ["explain"]


def explain(
    profiles: Mapping[str, TrafficProfile],
    *,
    capacity_bps: float,
    link: str | None = None,
    direction: str | None = None,
    horizon_s: float | None = None,
    budget_s: float | None = None,
) -> Explanation:
    """Say which bursts of which jobs overlap on a link, for how long and by how many bytes, before advice and after.

    Before is as the jobs' phases were observed, or any phases where clocks do not tell; after is as `solve` advises.

    Parameters
    ----------
    profiles, capacity_bps, link, direction, horizon_s, budget_s
        As for `solve`.

    Raises
    ------
    UsageError
        As `solve`.

    Examples
    --------
    >>> from profiler.phases import TrafficProfile
    >>> vgg = TrafficProfile.from_phases(period_s=0.25, phases=[(0.0, 0.1, 400e6)])
    >>> told = explain({"A": vgg, "B": vgg}, capacity_bps=400e6)
    >>> told
    Explanation(-: compatible, 2 MB over in 250 ms -> 0 B over in 250 ms, 1 overlaps)
    >>> told.overlaps[0].label, round(told.overlaps[0].before_s, 9), told.overlaps[0].after_s
    ('A up 1 + B up 1', 0.04, 0.0)
    """
    answer = solve(
        profiles,
        capacity_bps=capacity_bps,
        link=link,
        direction=direction,
        horizon_s=horizon_s,
        budget_s=budget_s,
    )
    return answer.explain()
