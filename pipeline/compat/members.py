"""Who is on a link: jobs with a beat, which can be shifted, and traffic without one, which only takes capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.demand import demand_of
from pipeline.compat.evidence import ROUNDING_FRAC
from pipeline.compat.levels import Levels, independent_levels
from profiler.errors import UsageError

if TYPE_CHECKING:
    from pipeline.compat.demand import Demand
    from profiler.phases import TrafficProfile

__all__ = ["Members", "members_of"]

KNOWN_STATUSES: Final = frozenset({"idle", "constant"})
"""Not periodic, but what they take is known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """The jobs of one link.

    Parameters
    ----------
    profiles, demands
        Of the periodic jobs, in order of their names.
    background
        How much all other traffic together takes for how much of the time: the distributions of its rates where they
        are known, else its means.
    bursts
        The same if traffic of which only the mean is known came at its peak or not at all; None where there is none
        such, or where its peak is not known.
    background_peak_bps
        Most that all other traffic takes; infinite where it is not known.
    unknown
        Jobs whose traffic has no period and is not constant either.
    flattened
        Those of them of which only the mean rate is known.
    unseen
        Those of them of which no counter could be read, or not even the mean rate is known: with one of these on a
        link no score can be said.
    """

    profiles: Mapping[str, TrafficProfile]
    demands: Mapping[str, Demand]
    background: Levels = field(default_factory=lambda: Levels.certain(0.0))
    bursts: Levels | None = None
    background_peak_bps: float = 0.0
    unknown: tuple[str, ...] = ()
    flattened: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def background_bps(self) -> float:
        """Mean rate of all traffic that cannot be shifted."""
        return self.background.mean_bps

    @property
    def mean_bps(self) -> float:
        """Mean demand of everything on the link."""
        return self.background_bps + sum(demand.mean_bps for demand in self.demands.values())

    @property
    def peak_bps(self) -> float:
        """Demand if all peaks meet."""
        return self.background_peak_bps + sum(demand.peak_bps for demand in self.demands.values())

    @property
    def n_sending(self) -> int:
        """Number of periodic jobs that send anything at all."""
        return sum(demand.peak_bps > 0 for demand in self.demands.values())

    def exceeds(self, capacity_bps: float) -> bool:
        """Return whether the mean demand is more than a capacity, by more than the rounding of a sum."""
        return self.mean_bps > capacity_bps * (1 + ROUNDING_FRAC)

    def fits(self, capacity_bps: float) -> bool:
        """Return whether all peaks together find room in a capacity, but for the rounding of a sum."""
        return self.peak_bps <= capacity_bps * (1 + ROUNDING_FRAC)

    @property
    def is_exact(self) -> bool:
        """Whether every period is given without an uncertainty."""
        return all(profile.period_error_s is None for profile in self.profiles.values())


def members_of(profiles: Mapping[str, TrafficProfile]) -> Members:
    """Sort the profiles of a link into those that can be shifted and those that only take capacity.

    Raises
    ------
    UsageError
        If a profile's phases make no sense, or a mean or peak rate is negative or not finite.
    """
    periodic = {name: profiles[name] for name in sorted(profiles) if profiles[name].status == "periodic"}
    others = {name: profiles[name] for name in sorted(profiles) if name not in periodic}
    for name, profile in others.items():
        _check(name, profile)
    unknown = tuple(name for name, profile in others.items() if profile.status not in KNOWN_STATUSES)
    unseen = tuple(name for name in unknown if not _is_seen(others[name]))
    flattened = tuple(name for name in unknown if name not in unseen and not others[name].levels_bps)
    return Members(
        profiles=periodic,
        demands={name: demand_of(profile, name=f"job {name}") for name, profile in periodic.items()},
        background=independent_levels(map(_levels, others.values())),
        bursts=_bursts(others, flattened),
        background_peak_bps=sum(map(_peak_bps, others.values())),
        unknown=unknown,
        flattened=flattened,
        unseen=unseen,
    )


def _is_seen(profile: TrafficProfile) -> bool:
    """Return whether anything is known of how much it sends."""
    return profile.status != "no_data" and (profile.mean_bps is not None or bool(profile.levels_bps))


def _check(name: str, profile: TrafficProfile) -> None:
    for what, rate_bps in (("mean_bps", profile.mean_bps), ("peak_bps", profile.peak_bps)):
        if rate_bps is not None and not 0 <= rate_bps < math.inf:
            raise UsageError(f"job {name}: {what} {rate_bps!r}: must be finite and not negative, or left out")


def _levels(profile: TrafficProfile) -> Levels:
    """Return how much of the time traffic without a period spends at which rate, as far as it is known."""
    if not profile.levels_bps:
        return Levels.certain(profile.mean_bps or 0.0)
    rate_bps, count = np.unique(np.array(profile.levels_bps, dtype=np.float64), return_counts=True)
    return Levels(rate_bps=rate_bps, weight=count / count.sum())


def _bursts(others: Mapping[str, TrafficProfile], flattened: tuple[str, ...]) -> Levels | None:
    """Return the levels of all others with the flattened ones on or off: no traffic of their mean and peak is worse."""
    if not flattened or not all(math.isfinite(_peak_bps(others[name])) for name in flattened):
        return None
    return independent_levels(
        _on_off(profile) if name in flattened else _levels(profile) for name, profile in others.items()
    )


def _on_off(profile: TrafficProfile) -> Levels:
    mean_bps, peak_bps = profile.mean_bps or 0.0, _peak_bps(profile)
    if mean_bps >= peak_bps:
        return Levels.certain(mean_bps)
    duty_frac = mean_bps / peak_bps
    return Levels(rate_bps=np.array([0.0, peak_bps]), weight=np.array([1 - duty_frac, duty_frac]))


def _peak_bps(profile: TrafficProfile) -> float:
    """Return the most that traffic without a period takes: its mean if that is all it ever does, else what is known."""
    if profile.status in KNOWN_STATUSES:
        return profile.peak_bps or profile.mean_bps or 0.0
    if profile.peak_bps is None and not profile.levels_bps:
        return math.inf
    return max(profile.peak_bps or 0.0, *profile.levels_bps, profile.mean_bps or 0.0)
