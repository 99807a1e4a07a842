"""How long shifts last when nobody holds them: periods drift apart, and the jitter of every iteration adds up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.drift import drifts_between
from pipeline.compat.standing import curves_at
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.kernel import ShiftCurve
    from pipeline.compat.relations import Beat
    from pipeline.compat.timeline import Timeline

__all__ = ["PlacedJobs", "Slip", "drift_hold_s", "half_life_s", "hold_s", "slip_of", "window_hold_s"]

BEST_SHARE: Final = 0.01
"""Shifts that lose at most this share of the gain over chance serve as well as the best."""

N_HARMONICS: Final = 128
N_BISECTIONS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJobs:
    """Jobs at their shifts, with the timeline on which these are judged."""

    timeline: Timeline
    shifts_ns: Sequence[int]
    beats: Sequence[Beat]

    def curves(self) -> Iterator[ShiftCurve]:
        """Yield the mean excess against the shift of each job, the others standing still."""
        return curves_at(self.timeline, self.shifts_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """How far the phase of one job against another's moves in an iteration of the slower, in seconds.

    ``drift_s`` is steady, from the difference of the periods; ``wander_s`` the standard deviation that jitter adds.
    """

    drift_s: float
    wander_s: float


def slip_of(beats: Sequence[Beat]) -> Slip:
    """Return the slip of the pair of jobs that drifts most, and of that which wanders most; 0 for one job."""
    if len(beats) < 2:
        return Slip(drift_s=0.0, wander_s=0.0)
    period_s = np.array([beat.period_s for beat in beats])
    slower_s = np.maximum(period_s[:, None], period_s[None, :])
    diffusion_s = np.array([beat.diffusion_s for beat in beats])
    variance_s2 = (diffusion_s[:, None] + diffusion_s[None, :]) * slower_s
    np.fill_diagonal(variance_s2, 0.0)
    return Slip(
        drift_s=float((drifts_between(beats).nominal * slower_s).max()), wander_s=math.sqrt(float(variance_s2.max()))
    )


def drift_hold_s(jobs: PlacedJobs) -> float:
    """Return how long the relations of the periods are held: ``(|nu| + 2 u_nu) t <= a`` for every pair (DESIGN 5)."""
    drift: list[float] = drifts_between(jobs.beats).fastest.max(axis=1).tolist()
    if not any(drift):
        return math.inf
    moves = zip(jobs.curves(), jobs.shifts_ns, drift, strict=True)
    return min(_slack_s(curve, shift_ns) / fast for curve, shift_ns, fast in moves if fast)


def hold_s(jobs: PlacedJobs) -> float:
    """Return how long every job keeps, in expectation, half of what its shift gains over chance."""
    return _shortest_half_life_s(jobs, drift=drifts_between(jobs.beats).fastest.max(axis=1))


def window_hold_s(jobs: PlacedJobs, *, length_s: float) -> float:
    """Return the same for shifts chosen for a window, beyond which they are worth nothing in particular.

    The window has the drift of the periods in it, so only the errors of these move a phase unforeseen.
    """
    return min(length_s, _shortest_half_life_s(jobs, drift=drifts_between(jobs.beats).unforeseen.max(axis=1)))


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


def _shortest_half_life_s(jobs: PlacedJobs, *, drift: NDArray[np.float64]) -> float:
    """Return the shortest half-life of all jobs, each with the fastest of its drifts."""
    diffusion_s = _diffusion(jobs.beats)
    if not (drift.any() or diffusion_s.any()):
        return math.inf
    moves = zip(jobs.curves(), jobs.shifts_ns, drift.tolist(), diffusion_s.tolist(), strict=True)
    return min(
        half_life_s(curve, shift_ns, drift=fast, diffusion_s=spread_s) for curve, shift_ns, fast, spread_s in moves
    )


def _diffusion(beats: Sequence[Beat]) -> NDArray[np.float64]:
    """Return each job's diffusion against the most unsteady of the others, in s² a second; shape (n_jobs,)."""
    own_s = np.array([beat.diffusion_s for beat in beats])
    both_s = own_s[:, None] + own_s[None, :]
    np.fill_diagonal(both_s, 0.0)
    most: NDArray[np.float64] = both_s.max(axis=1)
    return most


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


def _slack_s(curve: ShiftCurve, shift_ns: int) -> float:
    """Return how far a job may move, the others standing still, and serve as well."""
    within_bps = BEST_SHARE * max(0.0, curve.mean_bps - curve.minimum_bps)
    return curve.slack_ns(shift_ns, within_bps=within_bps) / NS_PER_S
