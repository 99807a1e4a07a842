"""`extract_phases`: from a rate series and its period to the Up and Down phases of an iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.period.detect import detect_period
from profiler.phases.bounds import BurstWidths, measure_bursts, up_intervals
from profiler.phases.cautions import bounded_confidence, cautions
from profiler.phases.fold import cycle_bounds, fold_cycles
from profiler.phases.profile import Outlier, Phase, TrafficProfile, with_downs
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.period.estimate import PeriodEstimate
    from profiler.signals import RateSeries, UniformRate

__all__ = ["extract_phases", "profile"]

PEAK_QUANTILE: Final = 0.9
"""The rate that a burst reaches in its fastest tenth of iterations: what it does when nothing hinders it."""
OUTLIER_SIGMAS: Final = 6.0
OUTLIER_FRAC: Final = 0.3
MAX_OUTLIERS: Final = 100


def profile(series: RateSeries) -> TrafficProfile:
    """Return what a traffic series does in an iteration, or why that cannot be said.

    Examples
    --------
    >>> from profiler.synth import Burst, training_job
    >>> job = training_job(
    ...     np.random.default_rng(7), period_s=0.25, bursts=[Burst(0.5, 0.4, 400e6)], duration_s=20.0, dt_s=0.001
    ... )
    >>> found = profile(job.series)
    >>> found.status, round(found.period_s, 3), round(found.up_s, 3)
    ('periodic', 0.25, 0.1)
    """
    return extract_phases(series, detect_period(series))


def extract_phases(series: RateSeries, estimate: PeriodEstimate) -> TrafficProfile:
    """Return the profile of a series whose period was looked for.

    Parameters
    ----------
    series
        The series that the estimate was made from.
    estimate
        Its period and iterations. If it is not periodic the profile says so, and has no phases.

    Raises
    ------
    UsageError
        If the series is empty but the estimate has a period.
    """
    if estimate.period_s is None:
        return _described(series, estimate, phases=(), fold_bps=np.zeros(0))
    if series.n_samples == 0:
        raise UsageError("extract_phases: the series is empty; give the one that the period was estimated from")
    rate, bounds_s = _followed_part(series, estimate, period_s=estimate.period_s)
    fold_bps = fold_cycles(rate, bounds_s, period_s=estimate.period_s)
    up_s = up_intervals(fold_bps, period_s=estimate.period_s)
    if not up_s:
        return _described(series, estimate, phases=(_whole(fold_bps, estimate.period_s),), fold_bps=fold_bps)
    down_bps = _down_rate(fold_bps, up_s, period_s=estimate.period_s)
    ups = (
        _measured(measure_bursts(rate, bounds_s, up_s=up_s, down_bps=down_bps))
        if estimate.at_onsets
        else _folded(fold_bps, up_s, period_s=estimate.period_s)
    )
    turned = _from_first_up(ups, period_s=estimate.period_s)
    turn_bins = round(up_s[0][0] / estimate.period_s * fold_bps.size)
    return _described(
        series,
        estimate,
        phases=with_downs(turned, period_s=estimate.period_s, rate_bps=down_bps),
        fold_bps=np.roll(fold_bps, -turn_bins),
        anchor_s=float(estimate.starts_s[-1]) + ups[0].start_s,
    )


def _followed_part(
    series: RateSeries, estimate: PeriodEstimate, *, period_s: float
) -> tuple[UniformRate, NDArray[np.float64]]:
    """Return the rate while iterations were followed, and their bounds in seconds after it begins."""
    edges_s = (series.edges_ns - series.edges_ns[0]) / NS_PER_S
    first = max(0, int(np.searchsorted(edges_s, estimate.starts_s[0] - period_s)) - 1)
    end = min(series.n_samples, int(np.searchsorted(edges_s, estimate.starts_s[-1] + 2 * period_s)))
    return series.between(first, end).resample(series.dt_s), cycle_bounds(estimate) - edges_s[first]


def _measured(bursts: list[BurstWidths]) -> list[Phase]:
    """Return a phase for each burst: medians over iterations; the rate is such that width times rate is the volume."""
    phases = []
    for burst in bursts:
        width_s = float(np.median(burst.width_s))
        low_s, high_s = np.quantile(burst.width_s, [0.25, 0.75])
        phases.append(
            Phase(
                kind="up",
                start_s=float(np.median(burst.start_s)),
                width_s=width_s,
                rate_bps=float(np.median(burst.bits)) / width_s,
                width_low_s=float(low_s),
                width_high_s=float(high_s),
                peak_bps=float(np.quantile(burst.bits / burst.width_s, PEAK_QUANTILE)),
            )
        )
    return phases


def _folded(fold_bps: NDArray[np.float64], up_s: list[tuple[float, float]], *, period_s: float) -> list[Phase]:
    """Return a phase for each Up stretch of the folded iteration, where single bursts cannot be told from the rest."""
    phases = []
    for start_s, end_s in up_s:
        rate_bps = float(fold_bps[_bins(start_s, end_s, bin_s=period_s / fold_bps.size) % fold_bps.size].mean())
        phases.append(Phase(kind="up", start_s=start_s, width_s=end_s - start_s, rate_bps=rate_bps))
    return phases


def _whole(fold_bps: NDArray[np.float64], period_s: float) -> Phase:
    return Phase(kind="up", start_s=0.0, width_s=period_s, rate_bps=float(fold_bps.mean()))


def _from_first_up(ups: list[Phase], *, period_s: float) -> list[Phase]:
    """Return the Up phases counted from the first one's start, cut where they would run into the next."""
    starts_s = [up.start_s - ups[0].start_s for up in ups]
    ends_s = [*starts_s[1:], period_s]
    return [
        Phase(
            kind="up",
            start_s=start_s,
            width_s=min(up.width_s, end_s - start_s),
            rate_bps=up.rate_bps,
            width_low_s=up.width_low_s,
            width_high_s=up.width_high_s,
            peak_bps=up.peak_bps,
        )
        for up, start_s, end_s in zip(ups, starts_s, ends_s, strict=True)
    ]


def _down_rate(fold_bps: NDArray[np.float64], up_s: list[tuple[float, float]], *, period_s: float) -> float:
    up = np.zeros(fold_bps.size, dtype=bool)
    for start_s, end_s in up_s:
        up[_bins(start_s, end_s, bin_s=period_s / fold_bps.size) % fold_bps.size] = True
    return float(np.median(fold_bps[~up])) if not up.all() else 0.0


def _bins(start_s: float, end_s: float, *, bin_s: float) -> NDArray[np.int64]:
    """Return the bins of a stretch, which may lie across the ends of the fold."""
    return np.arange(round(start_s / bin_s), round(end_s / bin_s), dtype=np.int64)


def _outliers(series: RateSeries, estimate: PeriodEstimate) -> tuple[Outlier, ...]:
    """Return the iterations that took far longer than the median one."""
    if estimate.period_s is None or not estimate.at_onsets:
        return ()
    lengths_s = np.diff(estimate.starts_s)
    spread_s = OUTLIER_SIGMAS * (estimate.jitter_frac or 0.0) * estimate.period_s
    long = np.flatnonzero(lengths_s > estimate.period_s + max(spread_s, OUTLIER_FRAC * estimate.period_s))
    return tuple(
        Outlier(t_ns=_at(series, float(estimate.starts_s[i])), duration_s=float(lengths_s[i]))
        for i in long[:MAX_OUTLIERS]
    )


def _at(series: RateSeries, t_s: float) -> int:
    return int(series.edges_ns[0]) + round(t_s * NS_PER_S)


def _described(
    series: RateSeries,
    estimate: PeriodEstimate,
    *,
    phases: tuple[Phase, ...],
    fold_bps: NDArray[np.float64],
    anchor_s: float | None = None,
) -> TrafficProfile:
    ups = [phase for phase in phases if phase.kind == "up"]
    duty_frac = sum(up.width_s for up in ups) / estimate.period_s if estimate.period_s else None
    return TrafficProfile(
        status=estimate.status,
        reason=estimate.reason,
        host=series.host,
        device=series.device,
        port=series.port,
        direction=series.direction,
        layer=series.layer,
        period_s=estimate.period_s,
        period_low_s=estimate.period_low_s,
        period_high_s=estimate.period_high_s,
        period_error_s=estimate.period_error_s,
        p90_period_s=estimate.p90_period_s,
        confidence=bounded_confidence(series, estimate, duty_frac=duty_frac),
        n_cycles=estimate.n_cycles,
        jitter_frac=estimate.jitter_frac,
        alias_periods_s=estimate.alias_periods_s,
        need_more_s=estimate.need_more_s,
        mean_bps=series.mean_bps,
        peak_bps=max((up.rate_bps for up in ups), default=_peak(series)),
        duty_frac=duty_frac,
        anchor_ns=_at(series, anchor_s) if anchor_s is not None else None,
        phases=phases,
        outliers=_outliers(series, estimate),
        warnings=(*estimate.warnings, *cautions(series, estimate, duty_frac=duty_frac)),
        fold_bps=fold_bps,
        method=estimate.method,
    )


def _peak(series: RateSeries) -> float | None:
    return float(np.quantile(series.rate_bps, 0.99)) if series.n_samples else None
