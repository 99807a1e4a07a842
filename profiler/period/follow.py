"""From a chosen period to the iterations themselves, and from them to the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.choice import LINE_EVIDENCE
from profiler.period.clock import clocked_starts, coherence
from profiler.period.confidence import confidence
from profiler.period.cycles import MIN_TRACKED_BINS, track
from profiler.period.estimate import PeriodEstimate
from profiler.period.groups import group_order
from profiler.period.length import Z95, typical_length
from profiler.period.medians import median, robust_spread
from profiler.period.onsets import find_onsets
from profiler.period.verdict import METHOD, insufficient, without
from profiler.units import format_duration

if TYPE_CHECKING:
    from profiler.period.choice import Choice
    from profiler.period.cycles import Cycles
    from profiler.period.prepare import Prepared
    from profiler.signals import UniformRate

__all__ = ["MIN_FOLLOWED", "follow"]

MIN_FOLLOWED: Final = 4
MANY_CYCLES: Final = 8
FEW_EVIDENCE: Final = 4.0
FEW_Z: Final = 40.0
"""With fewer iterations the repetition must be stronger than this, or a comb be there: chance makes a few alike."""
MAX_ONSET_SPREAD: Final = 0.25
MAX_PACE_FRAC: Final = 0.15
"""Onsets further off the chosen pace are those of something else: bursts hidden by a base load that rose."""
LOST: Final = 1.8
"""Starts further apart than this many periods have an iteration between them that was not found."""
PAUSE: Final = 3.5
"""Starts further apart than this many periods have a pause of the job between them."""
MAX_FOLLOWED_SPREAD: Final = 0.11
"""Iterations may begin anywhere within 0.3 of a period of where they are expected; evenly spread over that they
would have a spread of 0.17; two jobs on one counter come near it."""
CLOCKED_ERROR: Final = 0.3
"""Error of a fundamental, in cycles over the whole series."""
CLOCK_EVIDENCE: Final = 15.0
CLOCK_Z: Final = 40.0
"""Iterations that cannot be followed keep time only if a comb of this evidence, or a repetition of this z, says so."""
MIN_COHERENCE: Final = 0.7
CLOCK_FRAC: Final = 0.01
"""A comb of this evidence has its period closer than this: what was followed at another pace is a mixture."""
CLOCK_CELLS: Final = 0.5
"""Nor is it off by more than half a cycle over the whole series."""


def follow(uniform: UniformRate, prepared: Prepared, *, choice: Choice, is_shared: bool = False) -> PeriodEstimate:
    """Return the answer for a period that was chosen, from iterations that were followed.

    Iterations are followed by the onset of their first burst where bursts stand clear, else by the match of the whole
    iteration, else, where lines say that they keep time, by the clock.
    """
    if choice.period_s < MIN_TRACKED_BINS * prepared.dt_s:
        return _clocked(prepared, choice)
    cycles = track(prepared, choice.period_s)
    if choice.comb is None:
        choice, cycles = _grouped(prepared, choice, cycles)
    answer = _followed(uniform, prepared, choice, cycles)
    if choice.evidence >= LINE_EVIDENCE and _keeps_other_time(answer, prepared, choice, is_shared=is_shared):
        return _clocked(prepared, choice)
    return answer


def _keeps_other_time(answer: PeriodEstimate, prepared: Prepared, choice: Choice, *, is_shared: bool) -> bool:
    """Return whether iterations could not be followed, or not at the pace that a strong comb shows: a second job."""
    if answer.period_s is None:
        return answer.status == "aperiodic" and (is_shared or _keeps_time(prepared, choice))
    if answer.at_onsets and not is_shared:
        return False
    apart = abs(answer.period_s / choice.period_s - 1)
    return choice.evidence >= CLOCK_EVIDENCE and apart > max(CLOCK_FRAC, CLOCK_CELLS / (answer.n_cycles or 1.0))


def _keeps_time(prepared: Prepared, choice: Choice) -> bool:
    """Return whether a comb, a repetition or the phase itself says that iterations keep time."""
    if choice.evidence >= CLOCK_EVIDENCE or choice.z >= CLOCK_Z:
        return True
    return coherence(prepared, choice.period_s) >= MIN_COHERENCE


def _followed(uniform: UniformRate, prepared: Prepared, choice: Choice, cycles: Cycles) -> PeriodEstimate:
    onsets_s = find_onsets(uniform, cycles, period_s=choice.period_s)
    if onsets_s is not None and _are_iterations(onsets_s, choice.period_s):
        return _answer(onsets_s, choice, dt_s=prepared.dt_s, at_onsets=True)
    starts_s = cycles.starts_s[cycles.good]
    lengths_s = _lengths(starts_s, choice.period_s)
    if lengths_s.size >= MIN_FOLLOWED - 1 and _spread(lengths_s) <= MAX_FOLLOWED_SPREAD:
        return _answer(starts_s, choice, dt_s=prepared.dt_s, at_onsets=False)
    if lengths_s.size < MIN_FOLLOWED - 1:
        return insufficient(choice.period_s, n_seen=lengths_s.size, n_needed=MIN_FOLLOWED)
    reason = (
        f"repeats roughly every {format_duration(choice.period_s)}, but not from one iteration to the next: "
        "several jobs may share this counter"
    )
    return without("aperiodic", reason)


def _are_iterations(onsets_s: NDArray[np.float64], period_s: float) -> bool:
    """Return whether onsets follow one another about as far apart as was chosen, and evenly enough."""
    lengths_s = _lengths(onsets_s, period_s, longest=PAUSE)
    if _spread(lengths_s) > MAX_ONSET_SPREAD:
        return False
    usual_s = _lengths(onsets_s, period_s)
    return usual_s.size > 0 and abs(median(usual_s) / period_s - 1) < MAX_PACE_FRAC


def _grouped(prepared: Prepared, choice: Choice, cycles: Cycles) -> tuple[Choice, Cycles]:
    """Return the choice and the cycles of the group that repeats, where cycles differ in turn."""
    group = group_order(prepared, cycles, period_s=choice.period_s)
    if group.order == 1:
        return choice, cycles
    return replace(choice, period_s=group.period_s), track(prepared, group.period_s)


def _clocked(prepared: Prepared, choice: Choice) -> PeriodEstimate:
    """Return the answer for iterations that keep time, but cannot be told one by one."""
    starts_s = clocked_starts(prepared, choice.period_s)
    n_cycles = float(np.count_nonzero(np.diff(starts_s) > 0))
    error_s = CLOCKED_ERROR * choice.period_s**2 / prepared.duration_s
    return PeriodEstimate(
        status="periodic",
        reason=f"a comb of {choice.comb.n_lines if choice.comb else 0} lines, {choice.evidence:.1f} nats",
        period_s=choice.period_s,
        period_low_s=choice.period_s - Z95 * error_s,
        period_high_s=choice.period_s + Z95 * error_s,
        period_error_s=error_s,
        confidence=confidence(choice, clocked=True),
        z=choice.z,
        margin=choice.margin,
        n_cycles=n_cycles,
        starts_s=starts_s,
        method=METHOD,
    )


def _lengths(starts_s: NDArray[np.float64], period_s: float, *, longest: float = LOST) -> NDArray[np.float64]:
    """Return the lengths of iterations that follow one another, up to ``longest`` periods."""
    lengths_s = np.diff(starts_s)
    return lengths_s[lengths_s < longest * period_s]


def _spread(lengths_s: NDArray[np.float64]) -> float:
    return float(lengths_s.std() / lengths_s.mean()) if lengths_s.size else float("inf")


def _answer(starts_s: NDArray[np.float64], choice: Choice, *, dt_s: float, at_onsets: bool) -> PeriodEstimate:
    lengths_s = _lengths(starts_s, choice.period_s)
    if lengths_s.size < MIN_FOLLOWED - 1:
        return insufficient(choice.period_s, n_seen=lengths_s.size, n_needed=MIN_FOLLOWED)
    if lengths_s.size < MANY_CYCLES and choice.z < FEW_Z and choice.evidence < FEW_EVIDENCE:
        return insufficient(choice.period_s, n_seen=lengths_s.size, n_needed=MANY_CYCLES)
    length = typical_length(starts_s, lengths_s, dt_s=dt_s)
    jitter_frac = robust_spread(lengths_s) / length.period_s
    return PeriodEstimate(
        status="periodic",
        reason=f"{lengths_s.size} iterations followed, z {choice.z:.1f}, comb of {choice.evidence:.1f} nats",
        period_s=length.period_s,
        period_low_s=length.low_s,
        period_high_s=length.high_s,
        period_error_s=length.error_s,
        p90_period_s=float(np.quantile(lengths_s, 0.9)) if at_onsets else None,
        confidence=confidence(choice, clocked=False),
        z=choice.z,
        margin=choice.margin,
        n_cycles=float(lengths_s.size),
        jitter_frac=jitter_frac,
        starts_s=np.array(starts_s),
        at_onsets=at_onsets,
        method=METHOD,
    )
