"""`find_meetings`: the links on which jobs meet, and what each job asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any, Final

import numpy as np

from pipeline.analysis import were_apart
from pipeline.bottleneck import behind
from pipeline.compat import own_profile
from profiler.phases import TrafficProfile

__all__ = ["Meeting", "demand_on", "find_meetings", "job_profiles", "own_profiles"]

FULL_FRAC: Final = 0.95
"""A link at this much of its capacity is full: headers, pauses and the counters' own clocks take the rest."""

NOISE_FRAC: Final = 0.05
"""What two jobs are seen to send and what their common Up time holds may differ by this: both have blurred edges."""

MOSTLY_SHARED: Final = 0.75
"""A job that shares a link for more of its Up time has no tenth of iterations that nothing hinders."""

MATERIAL_FRAC: Final = 1e-3
"""Of a period: a peak is a quantile over iterations, so that it lies a little above the mean of any job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Two or more jobs on one direction of a link.

    ``load_frac`` maps a job to its demand on the link, as a fraction of the rate that its profile tells;
    ``shared_frac`` is the part of the recording in which two or more were Up, None if they were not seen at one time.
    """

    link: str
    direction: str
    capacity_bps: float
    load_frac: Mapping[str, float]
    shared_frac: float | None = None

    def is_contended(self, peaks_bps: Mapping[str, float]) -> bool:
        """Return whether the peaks of all jobs fill the link: of jobs that always share it they come to no more."""
        peak_bps = sum(peaks_bps[job] * load_frac for job, load_frac in self.load_frac.items())
        return peak_bps > FULL_FRAC * self.capacity_bps

    def was_kept_apart(self, profiles: Mapping[str, TrafficProfile]) -> bool:
        """Return whether the bursts of the jobs were seen all but never at one time."""
        return were_apart(self.shared_frac, [profiles[job] for job in self.load_frac]) is True

    def alone_bps(self, job: str, profiles: Mapping[str, TrafficProfile]) -> float:
        """Return the rate that a job has while Up alone, if it meets one other most of that time; else 0, not known.

        Nearly every iteration meets the other job then, so that the fastest tenth of them is hindered too.

        Notes
        -----
        While both are Up the link is full, however they share it; what is left of their traffic went while one of them
        was Up alone: ``alone = (sum of means - shared * capacity) / (sum of duties - 2 * shared)``. Where all is shared
        nothing is seen of a job alone: the answer is infinite, and the path's capacity the only bound. Where more is
        left than the link can carry, it was not what hindered them, and nothing is known.
        """
        duties = {each: profiles[each].duty_frac or 0.0 for each in self.load_frac}
        means_bps = [(profiles[each].mean_bps or 0.0) * load_frac for each, load_frac in self.load_frac.items()]
        is_mostly_shared = self.shared_frac is not None and self.shared_frac >= MOSTLY_SHARED * duties.get(job, inf)
        if self.shared_frac is None or not is_mostly_shared or len(duties) != 2 or min(duties.values()) <= 0:
            return 0.0
        alone_frac = sum(duties.values()) - 2 * self.shared_frac
        left_bps = sum(means_bps) - self.shared_frac * self.capacity_bps
        if left_bps > alone_frac * self.capacity_bps + NOISE_FRAC * sum(means_bps):
            return 0.0
        return left_bps / alone_frac / self.load_frac[job] if alone_frac > 0 else inf


def find_meetings(rows: Sequence[Mapping[str, Any]], *, overlaps: Sequence[Mapping[str, Any]] = ()) -> list[Meeting]:
    """Group jobs by link and direction.

    Parameters
    ----------
    rows
        Rows of query ``jobs_by_link``, in its order. A job without a profile has load 1 of what is not known.
    overlaps
        Rows of query ``contention_by_link``; what they tell of some jobs of a link says nothing of all.
    """
    shared_fracs = {
        (row["link_id"], row["direction"]): row["shared_frac"] for row in overlaps if row["uncounted_jobs"] is None
    }
    return [
        Meeting(
            link=link,
            direction=direction,
            capacity_bps=capacity_bps,
            load_frac={row["job_id"]: 1.0 if row["load_frac"] is None else row["load_frac"] for row in jobs},
            shared_frac=shared_fracs.get((link, direction)),
        )
        for (link, direction, capacity_bps), jobs in groupby(rows, itemgetter("link_id", "direction", "capacity_bps"))
    ]


def job_profiles(
    rows: Sequence[Mapping[str, Any]], profiles: Mapping[int, TrafficProfile]
) -> dict[str, TrafficProfile]:
    """Return the measured profile of each job; one without data, and why, for a job that has no series.

    Parameters
    ----------
    rows
        Rows of query ``profiles_by_job``.
    profiles
        By series id.
    """
    return {
        row["job_id"]: profiles[row["series_id"]]
        if row["series_id"] is not None
        else TrafficProfile(status="no_data", reason=row["reason"], fold_bps=np.zeros(0))
        for row in rows
    }


def own_profiles(
    profiles: Mapping[str, TrafficProfile],
    meetings: Sequence[Meeting],
    *,
    bottlenecks_bps: Mapping[str, float | None],
) -> dict[str, TrafficProfile]:
    """Return each job's profile as it would be alone on its path; one that was corrected says so in a warning.

    Parameters
    ----------
    profiles
        As measured, by job.
    meetings
        Where jobs meet: a job on a contended link was hindered, unless its bursts were seen to keep clear of the
        others', and is corrected by `own_profile`.
    bottlenecks_bps
        The rate at which the slowest link of each job's path carries it; what it sends faster waits in a queue.
    """
    peaks_bps = {job: min(_peak_bps(profile), bottlenecks_bps[job] or inf) for job, profile in profiles.items()}
    contended = [
        meeting for meeting in meetings if meeting.is_contended(peaks_bps) and not meeting.was_kept_apart(profiles)
    ]
    hindered = {job for meeting in contended for job in meeting.load_frac}
    own: dict[str, TrafficProfile] = {}
    for job, profile in profiles.items():
        bottleneck_bps = bottlenecks_bps[job]
        if bottleneck_bps is None:
            own[job] = profile
            continue
        alone_bps = max((meeting.alone_bps(job, profiles) for meeting in contended), default=0.0)
        corrected, warnings = own_profile(
            profile, capacity_bps=bottleneck_bps, contended=job in hindered, alone_bps=alone_bps
        )
        if _is_noise(profile, corrected):
            corrected, warnings = profile, ()
        alone = behind(corrected, capacity_bps=bottleneck_bps)
        own[job] = replace(alone, warnings=(*alone.warnings, *warnings))
    return own


def demand_on(meeting: Meeting, profiles: Mapping[str, TrafficProfile]) -> dict[str, TrafficProfile]:
    """Return what each job of a meeting asks of the link: its own profile times its load there."""
    return {job: _times(profiles[job], load_frac) for job, load_frac in meeting.load_frac.items()}


def _is_noise(measured: TrafficProfile, corrected: TrafficProfile) -> bool:
    """Return whether a correction is too small to mean anything; a job's own jitter is then worth more."""
    if measured.period_s is None or corrected.period_s is None:
        return False
    return abs(measured.period_s - corrected.period_s) <= MATERIAL_FRAC * measured.period_s


def _peak_bps(profile: TrafficProfile) -> float:
    """Return the rate that a job reaches where nothing hinders it."""
    phases_bps = [phase.peak_bps or phase.rate_bps for phase in profile.phases]
    return max([profile.peak_bps or 0.0, *phases_bps])


def _times(profile: TrafficProfile, load_frac: float) -> TrafficProfile:
    if load_frac == 1.0:
        return profile
    phases = tuple(
        replace(phase, rate_bps=phase.rate_bps * load_frac, peak_bps=_scaled(phase.peak_bps, load_frac))
        for phase in profile.phases
    )
    return replace(
        profile,
        phases=phases,
        mean_bps=_scaled(profile.mean_bps, load_frac),
        peak_bps=_scaled(profile.peak_bps, load_frac),
        levels_bps=tuple(level_bps * load_frac for level_bps in profile.levels_bps),
        fold_bps=profile.fold_bps * load_frac,
    )


def _scaled(rate_bps: float | None, load_frac: float) -> float | None:
    return None if rate_bps is None else rate_bps * load_frac
