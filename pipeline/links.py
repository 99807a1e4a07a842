"""`solve_links`: compatibility of the jobs of every link on which they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.analysis import LinkAnalysis
from pipeline.compat import Compatibility, solve
from pipeline.meetings import Meeting, demand_on

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["solve_links"]


def solve_links(meetings: Sequence[Meeting], own: Mapping[str, TrafficProfile]) -> tuple[LinkAnalysis, ...]:
    """Solve every meeting; one that equals another but for its place, as the two directions of a ring do, only once.

    Parameters
    ----------
    meetings
        The links on which jobs meet.
    own
        What each job would send alone.
    """
    solved: dict[tuple[float, tuple[tuple[str, float], ...]], Compatibility] = {}
    links = []
    for meeting in meetings:
        demands = demand_on(meeting, own)
        problem = (meeting.capacity_bps, tuple(sorted(meeting.load_frac.items())))
        if problem not in solved:
            solved[problem] = solve(demands, capacity_bps=meeting.capacity_bps)
        links.append(
            LinkAnalysis(
                link=meeting.link,
                direction=meeting.direction,
                capacity_bps=meeting.capacity_bps,
                demands=demands,
                compatibility=replace(solved[problem], link=meeting.link, direction=meeting.direction),
            )
        )
    return tuple(links)
