"""`detect_period`: from a rate series to its iteration period, or to the reason why there is none.

Candidates from every scale, one common evidence, the strongest wins; then the iterations are followed one by one, and
the period is the median of what was found, not the peak of a curve. Nothing is guessed: each way out has a status.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.autocorrelation import Autocorrelation, autocorrelate
from profiler.period.bursts import pooled, runs, threshold
from profiler.period.cycles import Cycles, track
from profiler.period.estimate import PeriodEstimate
from profiler.period.evidence import MULTIPLES, Evidence, propose, weigh
from profiler.period.groups import group_period
from profiler.period.length import robust_spread, typical_length
from profiler.period.onsets import find_onsets
from profiler.period.prepare import MIN_BINS, Prepared, prepare, scales
from profiler.period.spectrum import alias_periods, fast_line_hz, is_harmonic, line_spectrum
from profiler.period.stretch import stretches
from profiler.schema import Flag
from profiler.units import NS_PER_S, format_duration, format_rate

if TYPE_CHECKING:
    from profiler.period.status import Status
    from profiler.signals import RateSeries

__all__ = ["detect_period"]

METHOD: Final = "multi-scale autocorrelation, iterations followed by template, median of burst onsets"
STUCK_FRAC: Final = 0.5
IDLE_BPS: Final = 10e3
"""Keep-alives and link-layer chatter stay below this mean rate; no training job does."""
Z_ACCEPT: Final = 12.0
"""Evidence needed. Random traffic of `profiler.synth` reaches 11 once in some hundred traces."""
CONTRAST_ACCEPT: Final = 0.1
KEEPS_FRAC: Final = 0.85
MAX_PARTS: Final = 24
PART_BINS: Final = 8

SAME_FRAC: Final = 0.1
"""Candidates this close to each other are one period, seen at several scales."""
MIN_GOOD_CYCLES: Final = 4
MANY_CYCLES: Final = 8
"""With fewer iterations the evidence must be stronger: chance makes a few alike."""
MAX_ONSET_SPREAD: Final = 0.25
LOST: Final = 1.8
"""Starts further apart than this many periods have an iteration between them that was not found."""
PAUSE: Final = 3.5
"""Starts further apart than this many periods have a pause of the job between them."""
MAX_FOLLOWED_SPREAD: Final = 0.11
"""Iterations may begin anywhere within 0.3 of a period of where they are expected; evenly spread over that they
would have a spread of 0.17; two jobs on one counter come near it."""
CONSTANT_SPREAD: Final = 0.15
STEADY_SPREAD: Final = 1e-3
"""What varies less is steady without a further look: its only lines are those of rounding."""
GLANCE_BINS: Final = 100
CLEAR_LEVELS: Final = 4.0
"""Up must be this many times Down for bursts to be counted at all."""
MOSTLY_UP_FRAC: Final = 0.7
"""Traffic that is there most of the time has its bursts within, if any, at a finer scale than a glance shows."""
Z_SCALE: Final = 8.0


def detect_period(series: RateSeries) -> PeriodEstimate:
    """Return the iteration period of a series, with its interval, confidence and the iterations themselves.

    Parameters
    ----------
    series
        Traffic of one counter. At least four iterations, each of at least six windows, are needed.

    Returns
    -------
    PeriodEstimate
        Status ``periodic`` with all figures, or one of the other statuses with a reason; never a guess.

    Notes
    -----
    Cost O(n log n) in time and O(n) in memory for n windows, and bounded for long series (`prepare.MAX_BINS`).

    Examples
    --------
    >>> from profiler.synth import training_job
    >>> job = training_job(np.random.default_rng(7), period_s=0.25, duration_s=20.0, dt_s=0.001)
    >>> round(detect_period(job.series).period_s, 3)
    0.25
    """
    refused = _refuse(series)
    if refused is not None:
        return refused
    answers: list[PeriodEstimate] = []
    for first, part in stretches(series):
        answer = _refuse(part) or _detect(part)
        offset_s = float(series.edges_ns[first] - series.edges_ns[0]) / NS_PER_S
        answers.append(replace(answer, starts_s=answer.starts_s + offset_s))
        if answer.status == "periodic":
            return answers[-1]
    return answers[0]


def _detect(series: RateSeries) -> PeriodEstimate:
    rate_bps = series.rate_bps[series.known]
    if rate_bps.size and rate_bps.std() < STEADY_SPREAD * rate_bps.mean():
        return _constant(rate_bps)
    prepared = prepare(series)
    strongest = _strongest(prepared)
    best = strongest if strongest and strongest.z >= Z_ACCEPT and strongest.contrast >= CONTRAST_ACCEPT else None
    spectrum = line_spectrum(prepared)
    fast_hz = fast_line_hz(spectrum, dt_s=prepared.dt_s)
    if fast_hz and not (best and is_harmonic(fast_hz, of_period_s=best.period_s, spectrum=spectrum)):
        return _undersampled(fast_hz, dt_s=prepared.dt_s)
    return _followed(series, prepared, best=best) if best else _not_periodic(series, prepared, best=strongest)


def _constant(rate_bps: NDArray[np.float64]) -> PeriodEstimate:
    return _without("constant", f"a steady {format_rate(float(rate_bps.mean()))}, without Up and Down phases")


def _refuse(series: RateSeries) -> PeriodEstimate | None:
    """Return the answer for a series in which nothing can be looked for, else None."""
    if series.n_samples == 0:
        return _without("no_data", "no window of time between two reads")
    if np.mean((series.flags & np.uint16(Flag.SATURATED)) != 0) > STUCK_FRAC:
        return _without(
            "no_data", "the counter stands at its maximum, where 32-bit InfiniBand counters stick; reset it"
        )
    if series.mean_bps < IDLE_BPS:
        return _without("idle", f"mean rate {format_rate(series.mean_bps)} is no more than background chatter")
    n_bins = int(series.duration_s / series.dt_s)
    if n_bins < MIN_BINS:
        need_s = (MIN_BINS - n_bins) * series.dt_s
        reason = f"only {series.n_samples} samples, {MIN_BINS} are needed; record {format_duration(need_s)} more"
        return _without("insufficient", reason, need_more_s=need_s)
    return None


def _undersampled(freq_hz: float, *, dt_s: float) -> PeriodEstimate:
    aliases_s = alias_periods(freq_hz, dt_s=dt_s)
    reason = (
        f"a line at {format_duration(1 / freq_hz)} is too fast for samples every {format_duration(dt_s)}; "
        f"sample at least every {format_duration(1 / freq_hz / 6)}, or it cannot be told from its aliases"
    )
    return _without("undersampled", reason, alias_periods_s=aliases_s)


def _strongest(prepared: Prepared) -> Evidence | None:
    """Return the evidence for the shortest period that keeps nearly all of the best one's contrast.

    Multiples of a period have as much contrast as the period itself; the texture within bursts has less.
    """
    seen = [(autocorrelate(scale), scale.dt_s) for scale in scales(prepared)]
    found = [evidence for acf, bin_s in seen for evidence in propose(acf, bin_s=bin_s)]
    sound = [evidence for evidence in found if evidence.z >= Z_ACCEPT]
    if not sound:
        return max(found, key=lambda evidence: evidence.z, default=None)
    enough = KEEPS_FRAC * max(evidence.contrast for evidence in sound)
    shortest_s = min(evidence.period_s for evidence in sound if evidence.contrast >= enough)
    near = [evidence for evidence in sound if abs(evidence.period_s / shortest_s - 1) < SAME_FRAC]
    return _fundamental(max(near, key=lambda evidence: evidence.z), seen)


def _fundamental(best: Evidence, seen: list[tuple[Autocorrelation, float]]) -> Evidence:
    """Return the evidence for the shortest whole part of a period that repeats as clearly as the period does.

    Both are judged over the same stretch of lags: the texture of a burst repeats well, but only as far as the burst.
    """
    n_winner, winner = 1, best
    for n_parts in range(2, MAX_PARTS + 1):
        part_s = best.period_s / n_parts
        fit = [(acf, bin_s) for acf, bin_s in seen if part_s >= PART_BINS * bin_s]
        if not fit:
            break
        acf, bin_s = fit[-1]
        part = weigh(acf, part_s / bin_s, bin_s=bin_s, most=MULTIPLES * n_parts)
        rival = weigh(acf, winner.period_s / bin_s, bin_s=bin_s, most=MULTIPLES * n_winner)
        if part.z >= Z_ACCEPT and part.contrast >= KEEPS_FRAC * rival.contrast:
            n_winner, winner = n_parts, part
    return winner


def _not_periodic(series: RateSeries, prepared: Prepared, *, best: Evidence | None) -> PeriodEstimate:
    """Tell apart what is steady, what was seen too briefly, and what has no period."""
    rate_bps = series.rate_bps[series.known]
    if rate_bps.size and rate_bps.std() < CONSTANT_SPREAD * rate_bps.mean():
        return _constant(rate_bps)
    n_bursts = _count_bursts(rate_bps)
    if n_bursts is not None and n_bursts < MIN_GOOD_CYCLES:
        need_s = prepared.duration_s * (MIN_GOOD_CYCLES + 1 - n_bursts) / max(1, n_bursts)
        reason = f"only {n_bursts} bursts seen, at least {MIN_GOOD_CYCLES} iterations are needed; record longer"
        return _without("insufficient", reason, need_more_s=need_s)
    strongest = (
        "nothing repeats" if best is None else f"strongest repetition {format_duration(best.period_s)}, z {best.z:.1f}"
    )
    return _without("aperiodic", f"{strongest}; z of {Z_ACCEPT:.0f} is needed")


def _count_bursts(rate_bps: NDArray[np.float64]) -> int | None:
    """Return how many bursts a series shows at a glance (a hundred bins), or None if it has none that stand clear."""
    glance_bps = pooled(rate_bps, max(1, rate_bps.size // GLANCE_BINS))
    up = glance_bps > threshold(glance_bps)
    if not 0 < up.mean() < MOSTLY_UP_FRAC or glance_bps[up].mean() < CLEAR_LEVELS * glance_bps[~up].mean():
        return None
    return len(runs(up))


def _followed(series: RateSeries, prepared: Prepared, *, best: Evidence) -> PeriodEstimate:
    """Follow the iterations, and answer with their median."""
    cycles = track(prepared, best.period_s)
    period_s = group_period(prepared, cycles, period_s=best.period_s)
    if period_s > best.period_s:
        best = replace(best, period_s=period_s)
        cycles = track(prepared, period_s)
    onsets_s = find_onsets(series.resample(prepared.dt_s), cycles, period_s=best.period_s)
    if onsets_s is not None and _spread(_lengths(onsets_s, best.period_s, longest=PAUSE)) <= MAX_ONSET_SPREAD:
        return _answer(onsets_s, best, cycles=cycles, dt_s=prepared.dt_s, at_onsets=True)
    starts_s = cycles.starts_s[cycles.good]
    lengths_s = _lengths(starts_s, best.period_s)
    if lengths_s.size < MIN_GOOD_CYCLES - 1:
        need_s = max(best.period_s, (MIN_GOOD_CYCLES + 1) * best.period_s - prepared.duration_s)
        reason = (
            f"perhaps a period of {format_duration(best.period_s)}, but only {lengths_s.size} whole iterations seen"
        )
        return _without("insufficient", reason, need_more_s=need_s)
    if _spread(lengths_s) > MAX_FOLLOWED_SPREAD:
        reason = (
            f"repeats roughly every {format_duration(best.period_s)}, but not from one iteration to the next: "
            "several jobs may share this counter"
        )
        return _without("aperiodic", reason)
    return _answer(starts_s, best, cycles=cycles, dt_s=prepared.dt_s, at_onsets=False)


def _lengths(starts_s: NDArray[np.float64], period_s: float, *, longest: float = LOST) -> NDArray[np.float64]:
    """Return the lengths of iterations that follow one another, up to ``longest`` periods."""
    lengths_s = np.diff(starts_s)
    return lengths_s[lengths_s < longest * period_s]


def _spread(lengths_s: NDArray[np.float64]) -> float:
    return float(lengths_s.std() / lengths_s.mean()) if lengths_s.size else float("inf")


def _answer(
    starts_s: NDArray[np.float64], best: Evidence, *, cycles: Cycles, dt_s: float, at_onsets: bool
) -> PeriodEstimate:
    lengths_s = _lengths(starts_s, best.period_s)
    if lengths_s.size < MIN_GOOD_CYCLES - 1:
        need_s = best.period_s * (MIN_GOOD_CYCLES - lengths_s.size)
        return _without("insufficient", f"only {lengths_s.size} whole iterations seen", need_more_s=need_s)
    if best.z < Z_ACCEPT * (MANY_CYCLES / lengths_s.size) ** 2:
        reason = f"perhaps a period of {format_duration(best.period_s)}, seen {lengths_s.size} times; z {best.z:.1f}"
        need_s = best.period_s * max(1.0, MANY_CYCLES - lengths_s.size)
        return _without("insufficient", reason, need_more_s=need_s)
    length = typical_length(starts_s, lengths_s, dt_s=dt_s)
    return PeriodEstimate(
        status="periodic",
        reason=f"{lengths_s.size} iterations followed, z {best.z:.1f}",
        period_s=length.period_s,
        period_low_s=length.low_s,
        period_high_s=length.high_s,
        period_error_s=length.error_s,
        p90_period_s=float(np.quantile(lengths_s, 0.9)) if at_onsets else None,
        confidence=_confidence(best, float(cycles.good.mean())),
        z=best.z,
        n_cycles=float(lengths_s.size),
        jitter_frac=robust_spread(lengths_s) / length.period_s,
        starts_s=np.array(starts_s),
        at_onsets=at_onsets,
        method=METHOD,
    )


def _confidence(best: Evidence, good_frac: float) -> float:
    return float(np.clip((1 - 0.5 * np.exp(-(best.z - Z_ACCEPT) / Z_SCALE)) * min(1.0, 0.5 + good_frac), 0.0, 0.999))


def _without(
    status: Status, reason: str, *, need_more_s: float | None = None, alias_periods_s: Iterable[float] = ()
) -> PeriodEstimate:
    return PeriodEstimate(
        status=status,
        reason=reason,
        need_more_s=need_more_s,
        alias_periods_s=tuple(alias_periods_s),
        starts_s=np.zeros(0),
        method=METHOD,
    )
