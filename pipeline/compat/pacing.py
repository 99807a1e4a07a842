"""Slots: the period to hold the jobs of a link to, and what their profiles look like when held."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.simulation.job import from_beginning, jitter_of
from profiler.errors import UsageError
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["SlotPlan", "held_profile", "lead_of", "plan_slots", "stretch_of"]

JITTER_AT: Final = (0.03, 0.08)
STRETCH_AT: Final = (0.02, 0.045)
"""DESIGN section 5: a slot 1.02 times the longest natural period is enough at 3 % jitter, 1.045 at 8 %."""

MEASURED_STRETCH_FRAC: Final = 0.04
"""Least for a measured job: its jitter is that of ordinary iterations, and stray ones come on top. 266 over 255 ms held
two real jobs whose iterations had a robust spread of 2 % and a standard deviation of 5 %."""

MAX_STRETCH_FRAC: Final = 0.12

SLOT_FRACTIONS: Final = (1, 2, 3, 4, 6, 12, 24, 48)
"""A fast job's slot may be the link's slot over one of these; each divides the last, so all slots stay whole ns."""

HARMONIC_SLACK_FRAC: Final = 0.02
"""The common slot may be longer by this much, so that a fast job gets a smaller part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotPlan:
    """Slot period of each job; all divide ``period_s``, the longest."""

    period_s: float
    slot_s: Mapping[str, float]
    stretch_frac: Mapping[str, float]


def stretch_of(profile: TrafficProfile) -> float:
    """Return how much longer than the job's own period its slot must be, so that lateness is recovered.

    Linear through the two points of DESIGN, but not below the first, nor below 4 % for a job that was measured.
    """
    least = STRETCH_AT[0] if profile.period_error_s is None else MEASURED_STRETCH_FRAC
    slope = (STRETCH_AT[1] - STRETCH_AT[0]) / (JITTER_AT[1] - JITTER_AT[0])
    stretch = STRETCH_AT[0] + slope * (jitter_of(profile) - JITTER_AT[0])
    return float(np.clip(stretch, least, MAX_STRETCH_FRAC))


def plan_slots(profiles: Mapping[str, TrafficProfile]) -> SlotPlan:
    """Choose slots for jobs that share a link.

    The longest job's slot is its period and a little more; every other job gets the smallest whole fraction of that
    slot which holds it, so that all slots repeat together. Where a little more still lets a fraction hold a fast job,
    all get that.
    """
    needed_s = {name: _period_s(name, profile) * (1 + stretch_of(profile)) for name, profile in profiles.items()}
    longest_s = max(needed_s.values())
    parts = {name: _parts(longest_s * (1 + HARMONIC_SLACK_FRAC) / need_s) for name, need_s in needed_s.items()}
    common_s = max(parts[name] * need_s for name, need_s in needed_s.items())
    period_ns = math.ceil(common_s * NS_PER_S / SLOT_FRACTIONS[-1]) * SLOT_FRACTIONS[-1]
    slot_s = {name: period_ns // parts[name] / NS_PER_S for name in profiles}
    stretch = {name: slot_s[name] / _period_s(name, profile) - 1 for name, profile in profiles.items()}
    return SlotPlan(period_s=period_ns / NS_PER_S, slot_s=slot_s, stretch_frac=stretch)


def _parts(ratio: float) -> int:
    """Return the largest slot fraction that a ratio of slot to need allows."""
    return max(parts for parts in SLOT_FRACTIONS if parts == 1 or parts <= ratio)


def held_profile(profile: TrafficProfile, *, slot_s: float) -> TrafficProfile:
    """Return the profile of a job held to a slot: its phases unchanged, the wait before its first Up phase longer.

    Raises
    ------
    UsageError
        If the slot is shorter than the job's own period: such a schedule collapses.
    """
    period_s = _period_s("profile", profile)
    if slot_s < period_s:
        raise UsageError(
            f"slot {slot_s} s: shorter than the job's own period {period_s} s; lateness would never recover"
        )
    phases = from_beginning(profile.phases)
    if phases[-1].kind == "down":
        phases[-1] = replace(phases[-1], width_s=phases[-1].width_s + slot_s - period_s)
    first_s = phases[0].start_s
    held = [replace(phase, start_s=(first_s + (phase.start_s - first_s) % period_s) % slot_s) for phase in phases]
    return replace(profile, period_s=slot_s, period_error_s=None, phases=tuple(held), fold_bps=np.zeros(0))


def lead_of(profile: TrafficProfile) -> float:
    """Return the time from a periodic profile's time zero to the beginning of its communication, in seconds."""
    return from_beginning(profile.phases)[0].start_s


def _period_s(name: str, profile: TrafficProfile) -> float:
    if profile.period_s is None:
        raise UsageError(f"{name}: status {profile.status}, so there is no period to hold; give a periodic profile")
    return profile.period_s
