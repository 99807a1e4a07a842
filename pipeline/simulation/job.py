"""`SimulatedJob`: a training job as the simulator sees it, a cycle of computing and communicating."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

from profiler.errors import UsageError

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["Pace", "SimulatedJob", "Step"]

MAX_JITTER_FRAC: Final = 0.5
"""A measured jitter above this is not the spread of one iteration time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Compute for ``down_s``, then move ``volume_bits`` at no more than ``max_bps``."""

    down_s: float
    volume_bits: float
    max_bps: float

    def __post_init__(self) -> None:
        if not (self.down_s >= 0 and self.volume_bits > 0 and 0 < self.max_bps < float("inf")):
            raise UsageError(f"step {self}: down_s must not be negative, volume and rate positive and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The slots that a pacer holds a job to (DESIGN section 5); times in seconds, the shift after the common anchor."""

    period_s: float
    shift_s: float = 0.0
    tolerance_frac: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.period_s < float("inf"):
            raise UsageError(f"pace period_s {self.period_s!r}: must be positive and finite")


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
        The links that the job's traffic crosses; empty means every link.
    weight
        Share of a contended link against a job of weight 1.
    """

    name: str
    steps: tuple[Step, ...]
    start_s: float = 0.0
    jitter_frac: float = 0.0
    pace: Pace | None = None
    links: tuple[str, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.steps:
            raise UsageError(f"job {self.name}: no steps; give at least one Down and Up")
        if not (0 <= self.jitter_frac < 1 and 0 < self.weight < float("inf")):
            raise UsageError(
                f"job {self.name}: jitter {self.jitter_frac} must lie in [0, 1), weight {self.weight} above 0"
            )

    @property
    def natural_s(self) -> float:
        """Iteration time without jitter when nothing hinders the job."""
        return sum(step.down_s + step.volume_bits / step.max_bps for step in self.steps)

    @classmethod
    def from_profile(
        cls,
        profile: TrafficProfile,
        *,
        name: str,
        start_s: float = 0.0,
        pace: Pace | None = None,
        links: tuple[str, ...] = (),
    ) -> Self:
        """Make a job from a periodic profile: its Up phases become steps, what lies between them Down time.

        Raises
        ------
        UsageError
            If the profile has no period or no Up phase with traffic.
        """
        ups = sorted(
            (phase for phase in profile.phases if phase.kind == "up" and phase.rate_bps > 0), key=lambda p: p.start_s
        )
        if profile.period_s is None or not ups:
            raise UsageError(f"job {name}: status {profile.status}, no Up phase to simulate; give a periodic profile")
        ends_s = [ups[-1].start_s + ups[-1].width_s - profile.period_s]
        ends_s += [before.start_s + before.width_s for before, _ in pairwise(ups)]
        steps = tuple(
            Step(
                down_s=max(0.0, up.start_s - end_s),
                volume_bits=up.width_s * up.rate_bps,
                max_bps=up.rate_bps,
            )
            for up, end_s in zip(ups, ends_s, strict=True)
        )
        return cls(
            name=name,
            steps=steps,
            start_s=start_s,
            jitter_frac=min(profile.jitter_frac or 0.0, MAX_JITTER_FRAC),
            pace=pace,
            links=links,
        )
