"""Jobs as they stand: whether they already keep out of each other's way, and slots that keep their present periods."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.compat import interleaved
from pipeline.compat.members import members_of
from pipeline.compat.pacing import SlotPlan
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.affinity import SolvedLink
    from profiler.phases import TrafficProfile

__all__ = ["is_interleaved", "present_slots"]


def is_interleaved(link: SolvedLink) -> bool:
    """Return whether the jobs of a link need no other plan than to stay as they are, by the rule that `solve` has."""
    found = link.compatibility
    profiles = list(members_of(link.demands).profiles.values())
    return interleaved.is_interleaved(profiles, score_now=found.score_now, score_best=found.score_best)


def present_slots(profiles: Mapping[str, TrafficProfile]) -> SlotPlan | None:
    """Return slots that slow nobody: exact periods as they are, or else the one period that all measured ones share.

    None where measured periods differ: then no slot keeps the jobs as they are.
    """
    period_s = {job: profile.period_s or 0.0 for job, profile in profiles.items()}
    longest_s = math.ceil(max(period_s.values()) * NS_PER_S) / NS_PER_S
    if all(profile.period_error_s is None for profile in profiles.values()):
        slot_s = period_s
    elif interleaved.have_one_period(list(profiles.values())):
        slot_s = dict.fromkeys(profiles, longest_s)
    else:
        return None
    stretch_frac = {job: slot_s[job] / period_s[job] - 1 for job in profiles}
    return SlotPlan(period_s=longest_s, slot_s=slot_s, stretch_frac=stretch_frac)
