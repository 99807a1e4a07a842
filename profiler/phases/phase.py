"""`Phase` and `Outlier`: what an iteration is made of, and the iterations unlike the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, isnan
from typing import TYPE_CHECKING, Final, Literal

from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Outlier", "Phase", "check_phases", "with_downs"]

OVERLAP_SLACK_S: Final = 1e-9
"""Phases may overlap by this much: rounding of times given in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One Up (communicating) or Down (computing) stretch of an iteration.

    ``width_s`` is the median over iterations, ``width_low_s`` and ``width_high_s`` the quartiles; ``rate_bps`` the
    mean rate in the phase, NaN (null in JSON) where its bytes are not known; ``peak_bps`` the rate it reaches in the
    iterations in which nothing hinders it.
    """

    kind: Literal["up", "down"]
    start_s: float
    width_s: float
    rate_bps: float
    width_low_s: float | None = None
    width_high_s: float | None = None
    peak_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """An iteration unlike the others: when it began, how long it took and what it moved.

    ``long`` ones only took longer (a stall); ``large`` ones moved far more bytes (a checkpoint), whatever they took.
    """

    t_ns: int
    duration_s: float
    moved_bytes: float | None = None
    kind: Literal["long", "large"] = "long"


def with_downs(ups: Sequence[Phase], *, period_s: float, rate_bps: float = 0.0) -> tuple[Phase, ...]:
    """Return the Up phases with a Down phase in every gap between them, the last one cyclic."""
    phases: list[Phase] = []
    for i, up in enumerate(ups):
        phases.append(up)
        next_start_s = ups[i + 1].start_s if i + 1 < len(ups) else ups[0].start_s + period_s
        gap_s = next_start_s - (up.start_s + up.width_s)
        if gap_s > OVERLAP_SLACK_S:
            down_start_s = (up.start_s + up.width_s) % period_s
            phases.append(Phase(kind="down", start_s=down_start_s, width_s=gap_s, rate_bps=rate_bps, peak_bps=rate_bps))
    return tuple(phases)


def check_phases(phases: Sequence[Phase], period_s: float | None) -> None:
    """Refuse phases that cannot be those of one iteration.

    Raises
    ------
    UsageError
        If a phase is empty, negative or infinite, starts or ends outside the period, or overlaps another; a rate that
        is not known (NaN) is none of that.
    """
    for phase in phases:
        if not (phase.width_s > 0 and phase.start_s >= 0 and (0 <= phase.rate_bps < inf or isnan(phase.rate_bps))):
            raise UsageError(
                f"phase at {phase.start_s} s, {phase.width_s} s long, at {phase.rate_bps} bit/s: "
                "width must be positive, start and rate not negative, all finite"
            )
        if period_s is not None and phase.width_s > period_s + OVERLAP_SLACK_S:
            raise UsageError(f"phase at {phase.start_s} s: {phase.width_s} s long, longer than its period {period_s} s")
        if period_s is not None and phase.start_s >= period_s:
            raise UsageError(f"phase at {phase.start_s} s: starts after its period {period_s} s ends")
    for before, after in pairwise(sorted(phases, key=lambda phase: phase.start_s)):
        if before.start_s + before.width_s > after.start_s + OVERLAP_SLACK_S:
            raise UsageError(
                f"phases at {before.start_s} s and {after.start_s} s overlap; merge them or shorten the first"
            )
    if phases and period_s is not None:
        first = min(phases, key=lambda phase: phase.start_s)
        last = max(phases, key=lambda phase: phase.start_s)
        if last.start_s + last.width_s - period_s > first.start_s + OVERLAP_SLACK_S:
            raise UsageError(f"phase at {last.start_s} s: runs past its period into the phase at {first.start_s} s")
