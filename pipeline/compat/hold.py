"""How long shifts last when nobody holds them: periods drift apart, and the jitter of every iteration adds up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.relations import relation_between
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.relations import Beat
    from pipeline.compat.timeline import Timeline

__all__ = ["PlacedJobs", "Slip", "drift_hold_s", "half_life_s", "hold_s", "slip_of", "window_hold_s"]

BEST_SHARE: Final = 0.01
"""Shifts that lose at most this share of the gain over chance serve as well as the best."""

ROUNDING: Final = 1e-12
"""Periods that are whole multiples drift by this much a second when their ratio is computed."""

N_HARMONICS: Final = 128
N_BISECTIONS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJobs:
    """Jobs at their shifts, with the timeline on which these are judged."""

    timeline: Timeline
    shifts_ns: Sequence[int]
    beats: Sequence[Beat]

    def curve(self, i_job: int) -> ShiftCurve:
        """Return the mean excess against the shift of one job, the others standing still."""
        others = [j for j in range(len(self.beats)) if j != i_job]
        return self.timeline.curve(i_job, shifts_ns=self.shifts_ns, beside=others)

    def others(self, i_job: int) -> list[Beat]:
        """Return the beats of all jobs but one."""
        return [beat for j, beat in enumerate(self.beats) if j != i_job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """How far the phase of one job against another's moves in an iteration of the slower, in seconds.

    ``drift_s`` is steady, from the difference of the periods; ``wander_s`` the standard deviation that jitter adds.
    """

    drift_s: float
    wander_s: float


def slip_of(beats: Sequence[Beat]) -> Slip:
    """Return the slip of the pair of jobs that drifts most, and of that which wanders most; 0 for one job."""
    pairs = list(combinations(beats, 2))
    return Slip(
        drift_s=max((_nominal_drift(a, b) * max(a.period_s, b.period_s) for a, b in pairs), default=0.0),
        wander_s=max(
            (math.sqrt((a.diffusion_s + b.diffusion_s) * max(a.period_s, b.period_s)) for a, b in pairs), default=0.0
        ),
    )


def drift_hold_s(jobs: PlacedJobs) -> float:
    """Return how long the relations of the periods are held: ``(|nu| + 2 u_nu) t <= a`` for every pair (DESIGN 5)."""
    times_s = [math.inf]
    for i, beat in enumerate(jobs.beats):
        drift = max(_drift(beat, other) for other in jobs.others(i))
        if drift:
            times_s.append(_slack_s(jobs.curve(i), jobs.shifts_ns[i]) / drift)
    return min(times_s)


def hold_s(jobs: PlacedJobs) -> float:
    """Return how long every job keeps, in expectation, half of what its shift gains over chance."""
    return _shortest_half_life_s(jobs, drift_of=_drift)


def window_hold_s(jobs: PlacedJobs, *, length_s: float) -> float:
    """Return the same for shifts chosen for a window, beyond which they are worth nothing in particular.

    The window has the drift of the periods in it, so only the errors of these move a phase unforeseen.
    """
    return min(length_s, _shortest_half_life_s(jobs, drift_of=_unforeseen_drift))


def half_life_s(curve: ShiftCurve, shift_ns: int, *, drift: float, diffusion_s: float) -> float:
    """Return when the expected gain of a shift over chance has fallen to half.

    Parameters
    ----------
    curve, shift_ns
        Mean excess against a job's shift, and its shift.
    drift
        How fast the relative phase moves steadily, in seconds a second; the worse direction counts.
    diffusion_s
        Variance that the relative phase gains, in s² a second: a random walk in which every iteration adds its jitter.

    Notes
    -----
    Harmonic m of the curve is damped by ``exp(-2 pi^2 m^2 diffusion t / g^2)`` and turned by ``2 pi m drift t / g``.
    """
    if (drift == 0 and diffusion_s == 0) or curve.mean_bps <= curve.minimum_bps:
        return math.inf
    period_s = curve.period_ns / NS_PER_S
    gain_after = _gain_after(curve, shift_ns, drift=drift / period_s, diffusion=diffusion_s / period_s**2)
    half_bps = gain_after(0.0) / 2
    early_s, late_s = 0.0, 1 / (64 * drift / period_s + 64**2 * diffusion_s / period_s**2)
    while gain_after(late_s) > half_bps:
        early_s, late_s = late_s, 2 * late_s
    for _ in range(N_BISECTIONS):
        middle_s = (early_s + late_s) / 2
        early_s, late_s = (middle_s, late_s) if gain_after(middle_s) > half_bps else (early_s, middle_s)
    return early_s


def _shortest_half_life_s(jobs: PlacedJobs, *, drift_of: Callable[[Beat, Beat], float]) -> float:
    times_s = [math.inf]
    for i, beat in enumerate(jobs.beats):
        drift = max(drift_of(beat, other) for other in jobs.others(i))
        diffusion_s = beat.diffusion_s + max(other.diffusion_s for other in jobs.others(i))
        if drift or diffusion_s:
            times_s.append(half_life_s(jobs.curve(i), jobs.shifts_ns[i], drift=drift, diffusion_s=diffusion_s))
    return min(times_s)


def _gain_after(curve: ShiftCurve, shift_ns: int, *, drift: float, diffusion: float) -> Callable[[float], float]:
    """Return the gain over chance as a function of time; drift in cycles a second, diffusion in cycles² a second."""
    n_samples = 2 * N_HARMONICS
    at_ns = shift_ns + np.rint(np.arange(n_samples) * (curve.period_ns / n_samples)).astype(np.int64)
    amplitude = 2 * np.fft.rfft(curve.at(at_ns))[1:-1] / n_samples
    harmonic = np.arange(1, N_HARMONICS)

    def gain_after(t_s: float) -> float:
        damped = amplitude * np.exp(-2 * (math.pi * harmonic) ** 2 * diffusion * t_s)
        turn = np.exp(2j * math.pi * harmonic * drift * t_s)
        return -float(max((damped * turn).sum().real, (damped / turn).sum().real))

    return gain_after


def _nominal_drift(beat: Beat, other: Beat) -> float:
    """Return how fast the phase of one job moves against another's if the periods are what they are said to be."""
    relation = relation_between(beat, other)
    drift = abs(relation.nu_hz) * beat.period_s / relation.p
    return drift if drift > ROUNDING else 0.0


def _drift(beat: Beat, other: Beat) -> float:
    """Return how fast the phase of one job may move against another's, in seconds a second."""
    if beat.is_exact and other.is_exact:
        return 0.0
    relation = relation_between(beat, other)
    return relation.fastest_hz * beat.period_s / relation.p


def _unforeseen_drift(beat: Beat, other: Beat) -> float:
    """Return how fast the phase may move by the errors of the periods alone, in seconds a second."""
    relation = relation_between(beat, other)
    return 2 * relation.error_hz * beat.period_s / relation.p


def _slack_s(curve: ShiftCurve, shift_ns: int) -> float:
    """Return how far a job may move, the others standing still, and serve as well."""
    within_bps = BEST_SHARE * max(0.0, curve.mean_bps - curve.minimum_bps)
    return curve.slack_ns(shift_ns, within_bps=within_bps) / NS_PER_S
