"""Our detector beside two plain ones, on the same generated traces: who is right, who invents, and how fast.

Run with ``make bench``. Times are compared as a ratio in one run, since machines are shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from profiler.period import detect_period
from profiler.signals import RateSeries
from profiler.synth import NON_PERIODIC, Burst, Labelled, training_job, with_noise

SEEDS = range(500, 520)
RATE_BPS = 400e6
RIGHT_FRAC = 0.02

Method = Callable[[RateSeries], float | None]


def _ours(series: RateSeries) -> float | None:
    return detect_period(series).period_s


def _fft_argmax(series: RateSeries) -> float | None:
    rate = series.rate_bps - series.rate_bps.mean()
    power = np.abs(np.fft.rfft(rate)) ** 2
    return float(series.dt_s * rate.size / (1 + int(np.argmax(power[1:]))))


def _highest_acf_peak(series: RateSeries) -> float | None:
    rate = series.rate_bps - series.rate_bps.mean()
    spectrum = np.abs(np.fft.rfft(rate, 2 * rate.size)) ** 2
    r = np.fft.irfft(spectrum)[: rate.size // 3]
    peaks = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] >= r[2:])) + 1
    return series.dt_s * float(peaks[np.argmax(r[peaks])]) if peaks.size else None


METHODS: dict[str, Method] = {"FFT argmax": _fft_argmax, "highest ACF peak": _highest_acf_peak, "ours": _ours}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a method made of all traces."""

    right_frac: float
    n_invented: int
    ms_per_10k: float


def _periodic() -> list[Labelled]:
    traces = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        period_s = float(np.exp(rng.uniform(np.log(0.02), np.log(100))))
        sampling = {"duration_s": 40 * period_s, "dt_s": period_s / 150}
        one = [Burst(0.4, rng.uniform(0.1, 0.6), RATE_BPS)]
        several = [Burst(0.05 + 0.3 * i, 0.08, RATE_BPS * rate) for i, rate in enumerate((1.0, 0.5, 0.7))]
        nested = [Burst(0.1 + 0.05 * i, 0.02, RATE_BPS) for i in range(10)]
        for bursts, jitter_frac in ((one, 0.01), (one, 0.07), (several, 0.01), (nested, 0.01)):
            traces.append(training_job(rng, period_s=period_s, bursts=bursts, jitter_frac=jitter_frac, **sampling))
        traces.append(with_noise(rng, traces[-4], noise_bps=0.8 * RATE_BPS))
    return traces


def _non_periodic() -> list[Labelled]:
    return [
        make(np.random.default_rng(seed), duration_s=6.0, dt_s=0.001)
        for seed in SEEDS
        for make in NON_PERIODIC.values()
    ]


def _score(method: Method, periodic: list[Labelled], non_periodic: list[Labelled]) -> Score:
    start_s = time.process_time()
    found = [method(trace.series) for trace in periodic]
    invented = [method(trace.series) for trace in non_periodic]
    spent_s = time.process_time() - start_s
    n_samples = sum(trace.series.n_samples for trace in [*periodic, *non_periodic])
    right = [
        period_s is not None and abs(period_s / (trace.period_s or 1.0) - 1) < RIGHT_FRAC
        for period_s, trace in zip(found, periodic, strict=True)
    ]
    return Score(
        right_frac=float(np.mean(right)),
        n_invented=sum(period_s is not None for period_s in invented),
        ms_per_10k=1e3 * spent_s / n_samples * 1e4,
    )


@pytest.fixture(scope="module")
def scores() -> dict[str, Score]:
    periodic, non_periodic = _periodic(), _non_periodic()
    _score(_ours, periodic[:3], non_periodic[:3])
    scores = {name: _score(method, periodic, non_periodic) for name, method in METHODS.items()}
    print(f"\n{'method':<18}{'right':>8}{f'invented of {len(non_periodic)}':>18}{'ms per 10^4':>13}")  # noqa: T201
    for name, score in scores.items():
        print(f"{name:<18}{score.right_frac:>8.1%}{score.n_invented:>18}{score.ms_per_10k:>13.2f}")  # noqa: T201
    return scores


def test_we_are_right_more_often_than_plain_methods_and_invent_nothing(scores: dict[str, Score]) -> None:
    ours = scores["ours"]
    assert ours.right_frac >= 0.95
    assert ours.right_frac > max(score.right_frac for name, score in scores.items() if name != "ours")
    assert ours.n_invented == 0
