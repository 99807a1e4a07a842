"""`detect_period`: from a rate series to its iteration period, or to the reason why there is none.

Combs of spectral lines and the autocorrelation choose a period together; then the iterations are followed one by one,
and the period is what was found there, not the peak of a curve. Nothing is guessed: each way out has a status.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.period.alias import CLOSE_BINS, are_irregular, rule_out_aliases
from profiler.period.bursts import pooled, runs, threshold
from profiler.period.choice import choose
from profiler.period.confidence import CONFIDENCE_ACCEPT, EVIDENCE_ALONE, Z_ALONE, is_enough
from profiler.period.events import LEAST_EVERY, find_events
from profiler.period.filling import filled_by_fold
from profiler.period.follow import MIN_FOLLOWED, follow
from profiler.period.prepare import MIN_BINS, prepare, uniform_rate
from profiler.period.sharing import parted
from profiler.period.spectrum import N_LINES, line_spectrum
from profiler.period.stretch import stretches
from profiler.period.verdict import FEW_CYCLES, constant, doubtful, moot, undersampled, without
from profiler.schema import Flag
from profiler.units import NS_PER_S, format_duration, format_rate

if TYPE_CHECKING:
    from profiler.period.choice import Choice
    from profiler.period.estimate import PeriodEstimate
    from profiler.period.spectrum import Spectrum
    from profiler.signals import RateSeries, UniformRate

__all__ = ["detect_period"]

MUCH_LONGER: Final = 1.5
FILLED_FRAC: Final = 0.65
NEAR_WHOLE: Final = 0.03
"""A period beyond doubt gives way only to one that it holds a whole number of times, a delay of each aside."""
FAST_BINS: Final = 6.0
"""Repetition tells nothing of a line that is faster: any multiple that falls near whole bins repeats."""
SURE_LINES: Final = 1.5
"""A line this many times as high, on a log scale, as noise may ever make one."""
MAX_WHOLE_BINS: Final = 16.0
WHOLE_SLACK: Final = 0.005
FLAGGED_BINS: Final = 4.0
"""Shorter periods are given with the aliases that had to be ruled out."""
STUCK_FRAC: Final = 0.5
IDLE_BPS: Final = 10e3
"""Keep-alives and link-layer chatter stay below this mean rate; no training job does."""
CONSTANT_SPREAD: Final = 0.15
STEADY_SPREAD: Final = 1e-3
"""What varies less is steady without a further look: its only lines are those of rounding."""
GLANCE_BINS: Final = 100
CLEAR_LEVELS: Final = 4.0
"""Up must be this many times Down for bursts to be counted at all."""
MOSTLY_UP_FRAC: Final = 0.7
"""Traffic that is there most of the time has its bursts within, if any, at a finer scale than a glance shows."""


def detect_period(series: RateSeries) -> PeriodEstimate:
    """Return the iteration period of a series, with its interval, confidence and the iterations themselves.

    Parameters
    ----------
    series
        Traffic of one counter. At least four iterations are needed.

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
        answer = (_refuse(part) if part is not series else None) or _detect(part)
        offset_s = float(series.edges_ns[first] - series.edges_ns[0]) / NS_PER_S
        answers.append(_later(answer, offset_s))
        if answer.status == "periodic":
            return answers[-1]
    if series.refresh_s is None or not series.is_refresh_moot:
        return answers[0]
    return moot(answers[0], refresh_s=series.refresh_s)


def _later(answer: PeriodEstimate, offset_s: float) -> PeriodEstimate:
    """Return an answer with its starts counted from so much earlier."""
    others = tuple(_later(other, offset_s) for other in answer.others)
    return replace(answer, starts_s=answer.starts_s + offset_s, others=others)


def _detect(series: RateSeries) -> PeriodEstimate:
    rate_bps = series.rate_bps[series.known]
    if rate_bps.size and rate_bps.std() < STEADY_SPREAD * rate_bps.mean():
        return constant(float(rate_bps.mean()))
    uniform = uniform_rate(series)
    cut_bps = threshold(uniform.rate_bps[uniform.known])
    prepared = prepare(uniform, cut_bps=cut_bps)
    spectrum = line_spectrum(prepared, filled=filled_by_fold(prepared))
    choice = choose(prepared, spectrum, shunned_s=series.poll_periods_s)
    events = find_events(uniform.rate_bps, cut_bps=cut_bps)
    if events is not None:
        undisturbed = prepare(uniform, cut_bps=cut_bps, masked=events.mask)
        beneath = line_spectrum(undisturbed)
        other = choose(undisturbed, beneath, every=LEAST_EVERY - 0.5, shunned_s=series.poll_periods_s)
        if _is_beat_beneath(other, choice, n_bursts_each=events.n_bursts_each):
            prepared, choice, spectrum = undisturbed, other, beneath
    fast = _fast_line(choice, spectrum)
    if fast is not None:
        return undersampled(fast * uniform.dt_s, dt_s=uniform.dt_s)
    if choice is None or not choice.accepted or not is_enough(choice):
        return _not_periodic(rate_bps, choice, duration_s=prepared.duration_s)
    alone = follow(uniform, prepared, choice=choice)
    answer = parted(alone, uniform=uniform, prepared=prepared, choice=choice, shunned_s=series.poll_periods_s)
    if answer.confidence is not None and answer.confidence < CONFIDENCE_ACCEPT:
        return doubtful(answer)
    return _unaliased(answer, uniform, edges_ns=series.edges_ns)


def _fast_line(choice: Choice | None, spectrum: Spectrum) -> float | None:
    """Return the period in bins of a strongest line that is too fast to be told, None if there is none.

    Beside a comb that has the line, it is only if the comb's period is a whole number of bins: windows then come back
    exactly, whatever part of it the job's own period is.
    """
    lines = spectrum.lines(N_LINES)
    strongest = spectrum.strongest(lines)
    freq = strongest / spectrum.n_fft
    is_sure = spectrum.log_ratio[strongest] >= SURE_LINES * spectrum.chance_log_ratio
    if choice is None or choice.comb is None:
        return 1 / freq if freq >= 1 / FAST_BINS and is_sure else None
    bins = choice.comb.period_bins
    comes_back = bins < MAX_WHOLE_BINS and abs(bins - round(bins)) < WHOLE_SLACK
    return 1 / freq if comes_back and freq > 1 / FLAGGED_BINS and freq * bins > MUCH_LONGER else None


def _unaliased(answer: PeriodEstimate, uniform: UniformRate, *, edges_ns: NDArray[np.int64]) -> PeriodEstimate:
    """Return the answer with its aliases named if it is short, or the refusal to tell it from them."""
    if answer.period_s is None or answer.period_s >= CLOSE_BINS * uniform.dt_s or answer.others:
        return answer
    test = rule_out_aliases(uniform, answer.starts_s, period_s=answer.period_s)
    if not test.ruled_out and not are_irregular(edges_ns, dt_s=uniform.dt_s):
        return undersampled(answer.period_s, dt_s=uniform.dt_s)
    if answer.period_s < FLAGGED_BINS * uniform.dt_s:
        return replace(answer, alias_periods_s=test.alias_periods_s)
    return answer


def _is_beat_beneath(undisturbed: Choice | None, choice: Choice | None, *, n_bursts_each: float) -> bool:
    """Return whether rare events hid a job's beat, or stood for it: a checkpoint every tenth iteration.

    Between two such events there is about a burst for each beat; many small bursts beside a large one are an iteration.
    """
    if undisturbed is None or not undisturbed.accepted:
        return False
    if choice is None or not choice.accepted:
        return True
    order = choice.period_s / undisturbed.period_s
    if choice.beyond_doubt:
        is_whole = order > LEAST_EVERY - 0.5 and abs(order / round(order) - 1) < NEAR_WHOLE
        return is_whole and n_bursts_each > FILLED_FRAC * order and undisturbed.comb is not None
    return order > MUCH_LONGER


def _refuse(series: RateSeries) -> PeriodEstimate | None:
    """Return the answer for a series in which nothing can be looked for, else None."""
    if series.n_samples == 0:
        return without("no_data", "no window of time between two reads")
    if np.mean((series.flags & np.uint16(Flag.SATURATED)) != 0) > STUCK_FRAC:
        return without("no_data", "the counter stands at its maximum, where 32-bit InfiniBand counters stick; reset it")
    if not series.known.any():
        said = f": {series.notes[0]}" if series.notes else ""
        return without("no_data", f"of no window is it known how its bytes moved{said}")
    if series.mean_bps < IDLE_BPS:
        return without("idle", f"mean rate {format_rate(series.mean_bps)} is no more than background chatter")
    dt_s = series.dt_s
    n_bins = int(series.duration_s / dt_s)
    if n_bins < MIN_BINS:
        need_s = (MIN_BINS - n_bins) * dt_s
        reason = f"only {series.n_samples} samples, {MIN_BINS} are needed; record {format_duration(need_s)} more"
        return without("insufficient", reason, need_more_s=need_s)
    return None


def _not_periodic(rate_bps: NDArray[np.float64], choice: Choice | None, *, duration_s: float) -> PeriodEstimate:
    """Tell apart what is steady, what was seen too briefly, and what has no period."""
    if rate_bps.size and rate_bps.std() < CONSTANT_SPREAD * rate_bps.mean():
        return constant(float(rate_bps.mean()))
    n_bursts = _count_bursts(rate_bps)
    if n_bursts is not None and n_bursts < MIN_FOLLOWED:
        need_s = duration_s * (MIN_FOLLOWED + 1 - n_bursts) / max(1, n_bursts)
        reason = f"only {n_bursts} bursts seen, at least {MIN_FOLLOWED} iterations are needed; record longer"
        return without("insufficient", reason, need_more_s=need_s)
    if choice is None:
        return without("aperiodic", "nothing repeats")
    strongest = (
        f"strongest repetition {format_duration(choice.period_s)}, z {choice.z:.1f} and a comb of "
        f"{choice.evidence:.1f} nats; a z of {Z_ALONE:.0f} or {EVIDENCE_ALONE:.0f} nats, or part of each, is needed"
    )
    n_seen = duration_s / choice.period_s
    if choice.accepted and n_seen < FEW_CYCLES:
        need_s = (FEW_CYCLES - n_seen) * choice.period_s
        return without("insufficient", f"{strongest}; record {format_duration(need_s)} more", need_more_s=need_s)
    return without("aperiodic", strongest)


def _count_bursts(rate_bps: NDArray[np.float64]) -> int | None:
    """Return how many bursts a series shows at a glance (a hundred bins), or None if it has none that stand clear."""
    glance_bps = pooled(rate_bps, max(1, rate_bps.size // GLANCE_BINS))
    up = glance_bps > threshold(glance_bps)
    if not 0 < up.mean() < MOSTLY_UP_FRAC or glance_bps[up].mean() < CLEAR_LEVELS * glance_bps[~up].mean():
        return None
    return len(runs(up))
