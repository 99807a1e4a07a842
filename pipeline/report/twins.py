"""`group_twins`: the directions of a link that tell the same story, so that it is told once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.analysis import LinkAnalysis

__all__ = ["group_twins"]


def group_twins(links: Sequence[LinkAnalysis]) -> list[list[LinkAnalysis]]:
    """Group the directions of a link that have the same jobs and verdict; groups and members keep their order."""
    groups: dict[tuple[str, frozenset[str], str, bool], list[LinkAnalysis]] = {}
    for link in links:
        story = (link.link, frozenset(link.demands), link.compatibility.verdict, link.is_interleaved)
        groups.setdefault(story, []).append(link)
    return list(groups.values())
