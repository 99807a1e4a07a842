"""`profile_events`: from collectives to the profile that counters give too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtr

from profiler.events.bursts import extract_bursts, iteration_bits
from profiler.events.cautions import cautions
from profiler.events.iterations import Iterations, Unclear, find_iterations
from profiler.phases.phase import Outlier
from profiler.phases.profile import TrafficProfile
from profiler.units import BITS_PER_BYTE, NS_PER_S, format_duration

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.period.status import Status

__all__ = ["profile_events"]

MIN_EVENTS: Final = 6
"""Collectives in repetitions: two iterations of three, or six of one; fewer may repeat by chance."""
MANY_EVENTS: Final = 64
"""Where so many collectives have no order that repeats, more would not either."""
MAX_ERROR_FRAC: Final = 0.02
"""A period whose standard error is larger is not known within the 2 % that every answer promises."""
DOUBT_PER_CYCLE: Final = 0.4
"""What is left of the doubt after each iteration that is as the one before."""
ONE_COLLECTIVE_CONFIDENCE: Final = 0.5
"""An iteration of one collective may be a layer of a longer one."""
NESTED_CONFIDENCE: Final = 0.7
"""Blocks with a long pause every so many may also be iterations with a checkpoint every so many."""
UNSEEN_FRAC: Final = 0.005
"""Standard error taken for a period of which one length was seen, so that nothing is known of its jitter."""
TINY_S: Final = 1e-12
OUTLIER_SIGMAS: Final = 6.0
OUTLIER_FRAC: Final = 0.3
"""An iteration longer by this fraction and by so many standard deviations is unlike the others, as for counters."""
MAX_OUTLIERS: Final = 100
METHOD: Final = "repeated sequence of collectives"


def profile_events(events: CollectiveEvents) -> TrafficProfile:
    """Return what a rank's collectives do in an iteration, or why that cannot be said.

    Parameters
    ----------
    events
        Collectives of one rank in one process group.

    Returns
    -------
    profile
        Its layer is ``collective``. Rates are message bytes over time, NaN where sizes are not known.

    Notes
    -----
    The order of collectives repeats exactly, so that two or three iterations are enough. The period is the median time
    between starts of the same collective in successive iterations.

    Examples
    --------
    >>> from profiler.collectives import CollectiveEvents
    >>> start_ns = [i * 200_000_000 + j * 10_000_000 for i in range(3) for j in range(3)]
    >>> job = CollectiveEvents(start_ns=start_ns, duration_ns=[4_000_000] * 9, bytes=[1e6] * 9, key=["a", "b", "c"] * 3)
    >>> found = profile_events(job)
    >>> found.status, found.period_s, found.phases[0].rate_bps
    ('periodic', 0.2, 2000000000.0)
    """
    if events.n_events < 2 or events.t_s[-1] == 0:
        return _too_few(events)
    iterations = find_iterations(events)
    if isinstance(iterations, Unclear):
        return _without_iterations(events, may_be_layers=iterations.may_be_layers)
    if iterations.n_cycles * iterations.block.length < MIN_EVENTS or iterations.period_s <= 0:
        reason = f"only {events.n_events} collectives, too few to tell an iteration from chance"
        return _abstained(events, "insufficient", reason, need_more_s=_until_six(iterations))
    if iterations.error_s > MAX_ERROR_FRAC * iterations.period_s:
        return _disagreeing(events, iterations)
    return _periodic(events, iterations)


def _periodic(events: CollectiveEvents, iterations: Iterations) -> TrafficProfile:
    period_s = iterations.period_s
    phases = extract_bursts(events, iterations)
    ups = [phase for phase in phases if phase.kind == "up"]
    low_s, high_s = _interval(iterations)
    lengths_s = np.diff(iterations.starts_s)
    bits = iteration_bits(events, iterations)
    return TrafficProfile(
        status="periodic",
        reason=f"{iterations.block.length} collectives repeat in order, {iterations.n_cycles:.3g} times; some ran for "
        f"{format_duration(events.busy_ns / NS_PER_S)} of {format_duration(events.span_s)}",
        host=events.host,
        device=events.device,
        port=events.port,
        direction=events.direction,
        layer="collective",
        period_s=period_s,
        period_low_s=low_s,
        period_high_s=high_s,
        period_error_s=iterations.error_s,
        p90_period_s=float(np.quantile(lengths_s, 0.9)),
        confidence=_confidence(iterations),
        n_cycles=iterations.n_cycles,
        jitter_frac=iterations.spread_s / period_s,
        mean_bps=None if math.isnan(bits) else bits / period_s,
        peak_bps=None if math.isnan(bits) else max(up.rate_bps for up in ups),
        duty_frac=min(1.0, sum(up.width_s for up in ups) / period_s),
        anchor_ns=int(events.start_ns[0]) + round(float(iterations.starts_s[-1]) * NS_PER_S),
        phases=phases,
        outliers=_outliers(events, iterations),
        warnings=(*events.notes, *cautions(events, iterations)),
        fold_bps=np.zeros(0),
        method=METHOD,
    )


def _interval(iterations: Iterations) -> tuple[float, float]:
    """Return the period's 95 % interval; where there are too few iterations for a spread, that of all that was seen."""
    again_s = iterations.again_s
    if iterations.n_cycles < 4:
        low_s, high_s = np.quantile(again_s, [0.025, 0.975])
        return float(low_s), float(high_s)
    return iterations.period_s - 1.96 * iterations.error_s, iterations.period_s + 1.96 * iterations.error_s


def _confidence(iterations: Iterations) -> float:
    """Return the chance that the block is the iteration, times that of a period within 2 % by Student's t."""
    period_s = iterations.period_s
    block_is_right = iterations.block.covered_frac * (1.0 - math.pow(DOUBT_PER_CYCLE, iterations.n_cycles))
    n_free = max(1, iterations.starts_s.size - 2)
    error_s = iterations.error_s if iterations.starts_s.size > 2 else max(iterations.error_s, UNSEEN_FRAC * period_s)
    within = 2 * float(stdtr(n_free, MAX_ERROR_FRAC * period_s / max(error_s, TINY_S))) - 1
    confidence = block_is_right * within
    if iterations.one_collective:
        return min(confidence, ONE_COLLECTIVE_CONFIDENCE)
    return min(confidence, NESTED_CONFIDENCE) if iterations.n_blocks > 1 else confidence


def _outliers(events: CollectiveEvents, iterations: Iterations) -> tuple[Outlier, ...]:
    """Return the iterations that took far longer than the typical one."""
    lengths_s = np.diff(iterations.starts_s)
    spread_s = OUTLIER_SIGMAS * iterations.spread_s
    long = np.flatnonzero(lengths_s > iterations.period_s + max(spread_s, OUTLIER_FRAC * iterations.period_s))
    starts_ns = events.start_ns[0] + np.rint(iterations.starts_s * NS_PER_S).astype(np.int64)
    return tuple(Outlier(t_ns=int(starts_ns[i]), duration_s=float(lengths_s[i])) for i in long[:MAX_OUTLIERS])


def _too_few(events: CollectiveEvents) -> TrafficProfile:
    if not events.n_events:
        return _abstained(events, "no_data", "no collective was completed")
    reason = "one collective only" if events.n_events == 1 else f"all {events.n_events} collectives start at one time"
    return _abstained(events, "insufficient", reason, need_more_s=2 * events.span_s or None)


def _without_iterations(events: CollectiveEvents, *, may_be_layers: bool) -> TrafficProfile:
    if may_be_layers:
        reason = "equal collectives with few long pauses: they may be layers of an iteration, or iterations"
        return _abstained(events, "insufficient", reason, need_more_s=events.span_s)
    if events.n_events >= MANY_EVENTS:
        return _abstained(events, "aperiodic", f"{events.n_events} collectives, and no order of them repeats in step")
    reason = f"the order of {events.n_events} collectives does not repeat in step, or not yet"
    return _abstained(events, "insufficient", reason, need_more_s=events.span_s)


def _disagreeing(events: CollectiveEvents, iterations: Iterations) -> TrafficProfile:
    low_s, high_s = float(iterations.again_s.min()), float(iterations.again_s.max())
    needed = (iterations.error_s / (MAX_ERROR_FRAC * iterations.period_s)) ** 2 * max(1.0, iterations.n_cycles - 1)
    reason = (
        f"the order of {iterations.block.length} collectives repeats {iterations.n_cycles:.3g} times, "
        f"but after {format_duration(low_s)} to {format_duration(high_s)}"
    )
    need_more_s = max(1.0, needed + 1 - iterations.n_cycles) * iterations.period_s
    return _abstained(events, "insufficient", reason, need_more_s=need_more_s)


def _until_six(iterations: Iterations) -> float | None:
    n_missing = MIN_EVENTS / iterations.block.length - iterations.n_cycles
    return max(1.0, n_missing) * iterations.period_s if iterations.period_s > 0 else None


def _abstained(
    events: CollectiveEvents, status: Status, reason: str, *, need_more_s: float | None = None
) -> TrafficProfile:
    total_bytes = float(events.bytes.sum()) if events.n_events else math.nan
    is_rate = events.span_s > 0 and not math.isnan(total_bytes)
    return TrafficProfile(
        status=status,
        reason=reason,
        host=events.host,
        device=events.device,
        port=events.port,
        direction=events.direction,
        layer="collective",
        mean_bps=total_bytes * BITS_PER_BYTE / events.span_s if is_rate else None,
        need_more_s=need_more_s,
        warnings=events.notes,
        fold_bps=np.zeros(0),
        method=METHOD,
    )
