"""Jobs as they stand: whether they already keep out of each other's way, and slots that keep their present periods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from pipeline.compat.members import members_of
from pipeline.compat.pacing import SlotPlan
from pipeline.compat.relations import beat_of, relation_between
from pipeline.simulation.job import jitter_of
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.affinity import SolvedLink
    from profiler.phases import TrafficProfile

__all__ = ["is_interleaved", "present_slots"]

MAX_JITTER_FRAC: Final = 0.015
"""Iterations that collide now and then, or that nobody holds, spread by more."""

MAX_SCORE_LOSS: Final = 0.01


def is_interleaved(link: SolvedLink) -> bool:
    """Return whether measured jobs have one period within its errors, little jitter, and now as good as the best score.

    A plan for such jobs must not be another one: each slot is longer than the period it is for, so that following
    advice on what already follows advice would make them slower every time.
    """
    found = link.compatibility
    if found.score_now is None or found.score_best is None or found.score_now < found.score_best - MAX_SCORE_LOSS:
        return False
    profiles = list(members_of(link.demands).profiles.values())
    return all(_is_steady(profile) for profile in profiles) and _have_one_period(profiles)


def present_slots(profiles: Mapping[str, TrafficProfile]) -> SlotPlan | None:
    """Return slots that slow nobody: exact periods as they are, or else the one period that all measured ones share.

    None where measured periods differ: then no slot keeps the jobs as they are.
    """
    period_s = {job: profile.period_s or 0.0 for job, profile in profiles.items()}
    longest_s = math.ceil(max(period_s.values()) * NS_PER_S) / NS_PER_S
    if all(profile.period_error_s is None for profile in profiles.values()):
        slot_s = period_s
    elif _have_one_period(list(profiles.values())):
        slot_s = dict.fromkeys(profiles, longest_s)
    else:
        return None
    stretch_frac = {job: slot_s[job] / period_s[job] - 1 for job in profiles}
    return SlotPlan(period_s=longest_s, slot_s=slot_s, stretch_frac=stretch_frac)


def _is_steady(profile: TrafficProfile) -> bool:
    return profile.period_error_s is not None and jitter_of(profile) <= MAX_JITTER_FRAC


def _have_one_period(profiles: Sequence[TrafficProfile]) -> bool:
    beats = [beat_of(profile, jitter_frac=jitter_of(profile)) for profile in profiles]
    relations = [relation_between(a, b) for a, b in combinations(beats, 2)]
    return all((one.p, one.q) == (1, 1) and one.is_plausible for one in relations)
