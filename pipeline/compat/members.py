"""Who is on a link: jobs with a beat, which can be shifted, and traffic without one, which only takes capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.compat.demand import demand_of

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from profiler.phases import TrafficProfile

__all__ = ["Members", "members_of"]

KNOWN_STATUSES: Final = frozenset({"idle", "constant"})
"""Not periodic, but what they take is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The jobs of one link.

    Parameters
    ----------
    profiles, demands
        Of the periodic jobs, in order of their names.
    background_bps, background_peak_bps
        Mean and peak of all other traffic together; the peak is infinite where it is not known.
    unknown
        Jobs whose traffic has no period and is not constant either.
    unseen
        Those of them of which no counter could be read.
    """

    profiles: Mapping[str, TrafficProfile]
    demands: Mapping[str, Demand]
    background_bps: float = 0.0
    background_peak_bps: float = 0.0
    unknown: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def mean_bps(self) -> float:
        """Mean demand of everything on the link."""
        return self.background_bps + sum(demand.mean_bps for demand in self.demands.values())

    @property
    def peak_bps(self) -> float:
        """Demand if all peaks meet."""
        return self.background_peak_bps + sum(demand.peak_bps for demand in self.demands.values())

    @property
    def is_exact(self) -> bool:
        """Whether every period is given without an uncertainty."""
        return all(profile.period_error_s is None for profile in self.profiles.values())


def members_of(profiles: Mapping[str, TrafficProfile]) -> Members:
    """Sort the profiles of a link into those that can be shifted and those that only take capacity."""
    periodic = {name: profiles[name] for name in sorted(profiles) if profiles[name].status == "periodic"}
    others = {name: profiles[name] for name in sorted(profiles) if name not in periodic}
    return Members(
        profiles=periodic,
        demands={name: demand_of(profile, name=name) for name, profile in periodic.items()},
        background_bps=sum(profile.mean_bps or 0.0 for profile in others.values()),
        background_peak_bps=sum(_peak_bps(profile) for profile in others.values()),
        unknown=tuple(name for name, profile in others.items() if profile.status not in KNOWN_STATUSES),
        unseen=tuple(name for name, profile in others.items() if profile.status == "no_data"),
    )


def _peak_bps(profile: TrafficProfile) -> float:
    """Return the most that traffic without a period takes: its mean if that is all it ever does, else what is known."""
    if profile.status in KNOWN_STATUSES:
        return profile.peak_bps or profile.mean_bps or 0.0
    return math.inf if profile.peak_bps is None else profile.peak_bps
