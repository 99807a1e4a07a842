"""`own_profile`: what a job would do alone, from a profile measured while it shared a full link.

Under contention an Up phase carries the same volume more slowly, so it is longer and lower than the job's own, and
the period is longer by the same time. A scheduler that takes it at face value pads the wrong job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.simulation.job import from_beginning
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from profiler.phases import Phase, TrafficProfile

__all__ = ["cautions", "hindered_jobs", "is_hindered", "own_profile"]

HINDERED_RATIO: Final = 1.05
"""A phase that in its fastest tenth of iterations exceeds its usual rate by this factor is slowed down in the others;
alone, two real jobs stayed below 1.01, sharing a full link they reached 1.13."""

SAME_VOLUME: Final = 1.05
SAME_SILENCE: Final = 1.15
"""Bursts that differ by no more than these factors in bytes, and in the silence after them, are of one kind: two real
jobs of 255 and 170 ms that locked 2 to 3 stayed below 1.01 and 1.05."""

SPREAD_RATIO: Final = 1.1
"""So is one whose upper and lower quartile of width differ by this factor: 1.02 alone, 1.3 on the shared link."""


def hindered_jobs(profiles: Mapping[str, TrafficProfile], *, capacity_bps: float) -> tuple[str, ...]:
    """Return the jobs whose profiles look as if they had been measured while others filled the link.

    Parameters
    ----------
    profiles
        Of the jobs of a link.
    capacity_bps
        Of the link: where the peaks of all jobs fit nobody was hindered.
    """
    peaks_bps = [max((_peak_bps(phase) for phase in profile.phases), default=0.0) for profile in profiles.values()]
    if sum(peaks_bps) <= capacity_bps:
        return ()
    return tuple(name for name, profile in profiles.items() if any(map(is_hindered, profile.phases)))


def cautions(profiles: Mapping[str, TrafficProfile], *, capacity_bps: float) -> tuple[str, ...]:
    """Return a warning for each of the hindered jobs of a link; see `hindered_jobs`."""
    return tuple(
        _caution(name, next(filter(is_hindered, profiles[name].phases)))
        for name in hindered_jobs(profiles, capacity_bps=capacity_bps)
    )


def is_hindered(phase: Phase) -> bool:
    """Return whether an Up phase is usually slower than it can be, and its width varies as if by others' doing."""
    if phase.kind != "up" or phase.peak_bps is None or phase.peak_bps <= HINDERED_RATIO * phase.rate_bps:
        return False
    if phase.width_low_s is None or phase.width_high_s is None:
        return True
    return phase.width_high_s >= SPREAD_RATIO * phase.width_low_s


def _caution(name: str, phase: Phase) -> str:
    return (
        f"job {name}: its Up phase of {format_duration(phase.width_s)} at {format_rate(phase.rate_bps)} reaches "
        f"{format_rate(phase.peak_bps)} when nothing hinders it, so it was probably measured while the link was full "
        "and is longer and lower than the job's own: profile the job alone, or correct it (own_profile)"
    )


def _peak_bps(phase: Phase) -> float:
    return max(phase.rate_bps, phase.peak_bps or 0.0)


def own_profile(
    profile: TrafficProfile, *, capacity_bps: float, contended: bool, alone_bps: float | None = None
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
    alone_bps
        The rate that its Up phases have alone if that is known otherwise; the rate that was seen counts if it is more.

    Notes
    -----
    Own width = volume / unhindered rate; own period = period less what the phases got shorter. Jitter measured under
    contention is mostly the other job's doing, so it becomes unknown. Phases without ``peak_bps`` stay as they are.
    """
    if not contended or profile.period_s is None:
        return profile, ()
    measured_s = profile.period_s
    n_bursts = _n_alike(profile)
    if n_bursts > 1:
        profile = _one_of(profile, n_bursts)
    phases: list[Phase] = []
    saved_s = 0.0
    for phase in sorted(profile.phases, key=lambda phase: phase.start_s):
        own = _unhindered(phase, capacity_bps=capacity_bps, alone_bps=alone_bps or 0.0)
        phases.append(replace(own, start_s=max(0.0, phase.start_s - saved_s)))
        saved_s += phase.width_s - own.width_s
    if saved_s == 0 and n_bursts == 1:
        return profile, ()
    period_s = measured_s / n_bursts - saved_s
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
    bursts = f" of {n_bursts} like bursts, each an iteration," if n_bursts > 1 else ""
    warning = (
        f"{profile.label or 'profile'}: measured while sharing a full link; its period {measured_s * 1e3:.4g} ms"
        f"{bursts} was corrected to {period_s * 1e3:.4g} ms, what it would be alone"
    )
    return corrected, (warning,)


def _n_alike(profile: TrafficProfile) -> int:
    """Return how many iterations a period holds: of bursts that move the same bytes after the same time, each is one.

    Two jobs whose periods are as 2 to 3 lock to a common pattern on a full link, in which one iteration is hindered
    more than the next; only the pattern repeats exactly.
    """
    phases = from_beginning(profile.phases)
    ups, downs = phases[::2], phases[1::2]
    is_even = (
        len(ups) == len(downs) and all(up.kind == "up" for up in ups) and all(down.kind == "down" for down in downs)
    )
    if len(ups) < 2 or not is_even:
        return 1
    volumes_bits = [up.width_s * up.rate_bps for up in ups]
    silences_s = [down.width_s for down in downs]
    alike = max(volumes_bits) <= SAME_VOLUME * min(volumes_bits) and max(silences_s) <= SAME_SILENCE * min(silences_s)
    return len(ups) if alike else 1


def _one_of(profile: TrafficProfile, n_bursts: int) -> TrafficProfile:
    """Return the mean of the iterations that a period holds; the rate that the freest of them reached counts."""
    phases = from_beginning(profile.phases)
    ups, downs = phases[::2], phases[1::2]
    width_s = sum(up.width_s for up in ups) / n_bursts
    rate_bps = sum(up.width_s * up.rate_bps for up in ups) / (n_bursts * width_s)
    up = replace(
        ups[0],
        width_s=width_s,
        rate_bps=rate_bps,
        peak_bps=max(map(_peak_bps, ups)),
        width_low_s=None,
        width_high_s=None,
    )
    silence_s = sum(down.width_s for down in downs) / n_bursts
    down = replace(downs[0], start_s=up.start_s + width_s, width_s=silence_s)
    return replace(profile, period_s=(profile.period_s or 0.0) / n_bursts, phases=(up, down))


def _unhindered(phase: Phase, *, capacity_bps: float, alone_bps: float) -> Phase:
    """Return an Up phase at the rate it reaches when nothing hinders it, with the same volume."""
    if phase.kind != "up" or phase.peak_bps is None:
        return phase
    rate_bps = min(max(phase.peak_bps, alone_bps), capacity_bps)
    if rate_bps <= phase.rate_bps:
        return phase
    width_s = phase.width_s * phase.rate_bps / rate_bps
    return replace(phase, width_s=width_s, rate_bps=rate_bps, width_low_s=None, width_high_s=None)
