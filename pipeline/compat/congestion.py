"""`own_profile`: what a job would do alone, from a profile measured while it shared a full link.

Under contention an Up phase carries the same volume more slowly, so it is longer and lower than the job's own, and
the period is longer by the same time. A scheduler that takes it at face value pads the wrong job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from profiler.phases import Phase, TrafficProfile

__all__ = ["own_profile"]


def own_profile(
    profile: TrafficProfile, *, capacity_bps: float, contended: bool
) -> tuple[TrafficProfile, tuple[str, ...]]:
    """Return the profile with the other jobs' hindrance taken out, and a warning that says so if anything changed.

    Parameters
    ----------
    profile
        As measured. Each Up phase has a volume, rate times width, and an unhindered rate, its ``peak_bps``.
    capacity_bps
        Of the link that was shared; no phase sends faster.
    contended
        Whether another job shared the link while the profile was measured.

    Notes
    -----
    Own width = volume / unhindered rate; own period = period less what the phases got shorter. Jitter measured under
    contention is mostly the other job's doing, so it becomes unknown. Phases without ``peak_bps`` stay as they are.
    """
    if not contended or profile.period_s is None:
        return profile, ()
    phases: list[Phase] = []
    saved_s = 0.0
    for phase in sorted(profile.phases, key=lambda phase: phase.start_s):
        own = _unhindered(phase, capacity_bps=capacity_bps)
        phases.append(replace(own, start_s=max(0.0, phase.start_s - saved_s)))
        saved_s += phase.width_s - own.width_s
    if saved_s == 0:
        return profile, ()
    period_s = profile.period_s - saved_s
    corrected = replace(
        profile,
        period_s=period_s,
        phases=tuple(phases),
        jitter_frac=None,
        duty_frac=sum(phase.width_s for phase in phases if phase.kind == "up") / period_s,
        mean_bps=sum(phase.width_s * phase.rate_bps for phase in phases) / period_s,
        fold_bps=np.zeros(0),
        period_low_s=None,
        period_high_s=None,
    )
    warning = (
        f"{profile.label or 'profile'}: measured while sharing a full link; its period {profile.period_s * 1e3:.4g} ms "
        f"was corrected to {period_s * 1e3:.4g} ms, what it would be alone"
    )
    return corrected, (warning,)


def _unhindered(phase: Phase, *, capacity_bps: float) -> Phase:
    """Return an Up phase at the rate it reaches when nothing hinders it, with the same volume."""
    if phase.kind != "up" or phase.peak_bps is None:
        return phase
    rate_bps = min(phase.peak_bps, capacity_bps)
    if rate_bps <= phase.rate_bps:
        return phase
    width_s = phase.width_s * phase.rate_bps / rate_bps
    return replace(phase, width_s=width_s, rate_bps=rate_bps, width_low_s=None, width_high_s=None)
