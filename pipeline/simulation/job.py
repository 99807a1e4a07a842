"""`SimulatedJob`: a training job as the simulator sees it, a cycle of computing and communicating."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.phases import Phase, TrafficProfile

__all__ = ["MAX_JITTER_FRAC", "Pace", "SimulatedJob", "Step", "from_beginning", "jitter_of"]

MAX_JITTER_FRAC: Final = 0.5
"""A measured jitter above this is not the spread of one iteration time."""

DEFAULT_JITTER_FRAC: Final = 0.06
"""Of a measured job whose own jitter is not known."""

SHORTEST_SLOT_S: Final = 1e-6
"""No clock of hosts agrees on shorter ones."""

TOUCHING_S: Final = 1e-9
"""Phases this close follow each other at once: what lies between them is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Compute for ``down_s``, then move ``volume_bits`` at no more than ``max_bps``."""

    down_s: float
    volume_bits: float
    max_bps: float

    def __post_init__(self) -> None:
        if not (0 <= self.down_s < math.inf and 0 <= self.volume_bits < math.inf and 0 < self.max_bps < math.inf):
            raise UsageError(f"step {self}: down_s and volume must not be negative, the rate positive, all finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The slots that a pacer holds a job to (DESIGN section 5); times in seconds, the shift after the common anchor."""

    period_s: float
    shift_s: float = 0.0
    tolerance_frac: float = 0.15

    def __post_init__(self) -> None:
        if not SHORTEST_SLOT_S <= self.period_s < math.inf:
            raise UsageError(f"pace period_s {self.period_s!r}: must be finite, and {SHORTEST_SLOT_S} s or more")
        if not (math.isfinite(self.shift_s) and 0 <= self.tolerance_frac < 1):
            raise UsageError(f"pace {self}: shift_s must be finite, tolerance_frac lie in [0, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    """One job.

    Parameters
    ----------
    name
        The job's name in the answer.
    steps
        What an iteration does: at least one Down and Up.
    start_s
        When the first Up phase is due.
    jitter_frac
        Standard deviation of the iteration time when the job runs alone, as a fraction of it.
    pace
        Slots to hold; None runs free.
    links
        The links that the job's traffic crosses, each with the fraction of the job's rate that it carries, or their
        names alone where each carries all of it; empty means every link.
    weight
        Share of a contended link against a job of weight 1.
    lead_s
        Time from the moment that a shift counts from, the profile's time zero, to the first Up phase.
    """

    name: str
    steps: tuple[Step, ...]
    start_s: float = 0.0
    jitter_frac: float = 0.0
    pace: Pace | None = None
    links: tuple[str, ...] | Mapping[str, float] = ()
    weight: float = 1.0
    lead_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.steps or not 0 < self.natural_s < math.inf:
            raise UsageError(f"job {self.name}: an iteration takes no time; give at least one Down and Up")
        if not (0 <= self.jitter_frac < 1 and 0 < self.weight < math.inf):
            raise UsageError(
                f"job {self.name}: jitter {self.jitter_frac} must lie in [0, 1), weight {self.weight} above 0"
            )
        if not (math.isfinite(self.start_s) and math.isfinite(self.lead_s)):
            raise UsageError(f"job {self.name}: start_s {self.start_s} and lead_s {self.lead_s} must be finite")
        for link, load_frac in self.loads.items():
            if not 0 < load_frac < math.inf:
                raise UsageError(f"job {self.name}: link {link} carries {load_frac!r} of its rate; must be above 0")

    @property
    def natural_s(self) -> float:
        """Iteration time without jitter when nothing hinders the job."""
        return sum(step.down_s + step.volume_bits / step.max_bps for step in self.steps)

    @property
    def loads(self) -> Mapping[str, float]:
        """Fraction of the job's rate that each link carries; empty means every link carries all."""
        return self.links if isinstance(self.links, Mapping) else dict.fromkeys(self.links, 1.0)

    @classmethod
    def from_profile(
        cls,
        profile: TrafficProfile,
        *,
        name: str,
        start_s: float = 0.0,
        pace: Pace | None = None,
        links: tuple[str, ...] | Mapping[str, float] = (),
    ) -> Self:
        """Make a job from a periodic profile: its Up phases become steps, what lies between them Down time.

        Raises
        ------
        UsageError
            If the profile has no period or no Up phase with traffic, or the rate of one is not known.
        """
        ups = _ups(profile, name=name)
        ends_s = [ups[-1].start_s + ups[-1].width_s - (profile.period_s or 0.0)]
        ends_s += [before.start_s + before.width_s for before, _ in pairwise(ups)]
        steps = tuple(
            Step(
                down_s=up.start_s - end_s if up.start_s - end_s > TOUCHING_S else 0.0,
                volume_bits=up.width_s * up.rate_bps,
                max_bps=up.rate_bps,
            )
            for up, end_s in zip(ups, ends_s, strict=True)
        )
        return cls(
            name=name,
            steps=steps,
            start_s=start_s,
            jitter_frac=min(jitter_of(profile), MAX_JITTER_FRAC),
            pace=pace,
            links=links,
            lead_s=ups[0].start_s,
        )


def jitter_of(profile: TrafficProfile) -> float:
    """Return the standard deviation of an iteration as a fraction of it; 0 for an exact profile that names none."""
    if profile.jitter_frac is None:
        return 0.0 if profile.period_error_s is None else DEFAULT_JITTER_FRAC
    return profile.jitter_frac


def from_beginning(phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases of an iteration in order of time, from the one with which its communication begins.

    That is the first one with traffic after one without: a burst through time zero stands there in two parts, between
    which nothing waits. A job that is never silent begins where its rate rises most. Starts stay as they are.
    """
    phases = sorted(phases, key=lambda phase: phase.start_s)
    rates_bps = [phase.rate_bps if phase.kind == "up" else 0.0 for phase in phases]
    after_silence = (i for i, rate_bps in enumerate(rates_bps) if rate_bps != 0 and rates_bps[i - 1] == 0)
    first = next(after_silence, None)
    if first is None:
        first = max(range(len(phases)), key=lambda i: rates_bps[i] - rates_bps[i - 1], default=0)
    return phases[first:] + phases[:first]


def _ups(profile: TrafficProfile, *, name: str) -> list[Phase]:
    """Return the Up phases with traffic in order of time, from the one with which an iteration communicates."""
    ups = [phase for phase in from_beginning(profile.phases) if phase.kind == "up" and phase.rate_bps != 0]
    if any(math.isnan(phase.rate_bps) for phase in ups):
        raise UsageError(f"job {name}: the rate of its Up phases is not known; profile a counter of its bytes")
    period_s = profile.period_s
    if period_s is None or not ups:
        raise UsageError(f"job {name}: status {profile.status}, no Up phase to simulate; give a periodic profile")
    first_s = ups[0].start_s
    return [up if up.start_s >= first_s else replace(up, start_s=up.start_s + period_s) for up in ups]
