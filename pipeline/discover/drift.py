"""`locks`: whether a port keeps its place in a template's beat, or drifts through it as another job of one period does.

Two jobs of one period have the same lines, and over a while the same phase. But each has jitter of its own, and their
periods differ a little: one's lag behind the other wanders, while ports of one job keep theirs to a part of a tick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy.stats import rankdata

if TYPE_CHECKING:
    from pipeline.discover.spectra import Spectra
    from pipeline.discover.templates import Template

__all__ = ["Locks", "locks"]

BLOCK_CYCLES: Final = 4.0
"""A stretch of so many cycles tells a lag."""
N_BLOCKS: Final = (6, 32)
N_LAGS: Final = 64
"""Lags tried in each stretch, before the best is refined by a parabola."""
NEAR_TICKS: Final = 4.0
"""Where no period is known, lags are sought so far to each side."""
MAX_SPREAD_FRAC: Final = 0.05
"""Lags of a port that keeps its place spread less, in cycles: on real ports by 0.02."""
MAX_DRIFT_TICKS: Final = 0.3
"""Less than this is the clocks' and the folded harmonics', whatever the period."""
DRIFT_Z: Final = 2.3
"""Lags that wander come in order: by chance so much so once in a hundred."""
MIN_ENERGY_FRAC: Final = 0.25
"""Stretches in which the template does less than this part of the usual tell no lag."""
MAD_SIGMA: Final = 1.4826
"""Standard deviation over median absolute deviation, of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Locks:
    """Of each port, shape (n_ports,): how far its lag spreads, in seconds, and whether it keeps its place."""

    spread_s: NDArray[np.float64]
    is_locked: NDArray[np.bool_]


def locks(template: Template, spectra: Spectra, *, rows: NDArray[np.int64], lags_s: NDArray[np.float64]) -> Locks:
    """Return whether ports keep the lag behind a template that they have on the whole.

    Parameters
    ----------
    template
        What a job does.
    spectra
        Of all ports.
    rows
        The ports, shape (n_rows,).
    lags_s
        Their lags on the whole, shape (n_rows,).

    Notes
    -----
    The recording is cut into stretches; in each, the lag at which port and template agree best is found. Their robust
    spread must be small against the period. Whether they wander is told by the ratio of squared successive differences
    to squared deviations, of their ranks, so that a stretch that went wrong counts little [1]_: 2 for lags that
    scatter, and less for those that drift.

    References
    ----------
    .. [1] R. Bartels, "The rank version of von Neumann's ratio test for randomness", Journal of the American
       Statistical Association 77 (1982).
    """
    dt_s, n_ticks = spectra.ticks.dt_s, spectra.ticks.n_ticks
    scale_s = template.period_s if template.period_s is not None else 2 * NEAR_TICKS * dt_s
    n_blocks = int(np.clip(n_ticks * dt_s / (BLOCK_CYCLES * scale_s), *N_BLOCKS))
    tried_s = (np.arange(N_LAGS) - N_LAGS // 2) / N_LAGS * scale_s
    at = template.skirts_at
    own = _blocks(spectra, at, template.skirts, n_blocks=n_blocks)
    freqs_hz = scipy.fft.rfftfreq(n_ticks // n_blocks, dt_s)
    turn = np.exp(2j * np.pi * np.outer(freqs_hz, tried_s))
    energy = np.sum(np.abs(own) ** 2, axis=1)
    tells = energy >= MIN_ENERGY_FRAC * np.median(energy)
    spread_s, is_locked = np.zeros(rows.size), np.zeros(rows.size, dtype=np.bool_)
    for i, (row, lag_s) in enumerate(zip(rows, lags_s, strict=True)):
        ramp = np.exp(2j * np.pi * spectra.ticks.freqs_hz[at] * lag_s)
        its = _blocks(spectra, at, spectra.white[row, at] * ramp, n_blocks=n_blocks)
        late_s = _best(((np.conj(own) * its) @ turn).real[tells], tried_s)
        spread_s[i], is_locked[i] = _judge(late_s, period_s=scale_s, dt_s=dt_s)
    return Locks(spread_s=spread_s, is_locked=is_locked)


def _blocks(
    spectra: Spectra, at: NDArray[np.int64], white: NDArray[np.complexfloating], *, n_blocks: int
) -> NDArray[np.complex128]:
    """Return the spectrum of each stretch of what has these lines, shape (n_blocks, n_freqs)."""
    n_ticks = spectra.ticks.n_ticks
    whole = np.zeros(n_ticks // 2 + 1, dtype=np.complex128)
    whole[at + 1] = white
    wave = scipy.fft.irfft(whole, n_ticks)
    length = n_ticks // n_blocks
    blocks: NDArray[np.complex128] = scipy.fft.rfft(wave[: n_blocks * length].reshape(n_blocks, length), axis=1)
    return blocks


def _best(fits: NDArray[np.float64], tried_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lag of the best fit of each stretch, between those tried; they go around."""
    rows, best = np.arange(len(fits)), fits.argmax(axis=1)
    before, here, after = fits[rows, best - 1], fits[rows, best], fits[rows, (best + 1) % tried_s.size]
    bend = before - 2 * here + after
    shift = np.where(bend < 0, 0.5 * (before - after) / np.where(bend < 0, bend, 1.0), 0.0)
    late_s: NDArray[np.float64] = tried_s[best] + shift * (tried_s[1] - tried_s[0])
    return late_s


def _judge(late_s: NDArray[np.float64], *, period_s: float, dt_s: float) -> tuple[float, bool]:
    """Return the spread of lags about their middle, and whether they keep to it."""
    middle_s = np.angle(np.exp(2j * np.pi * late_s / period_s).mean()) * period_s / (2 * np.pi)
    off_s = np.mod(late_s - middle_s + period_s / 2, period_s) - period_s / 2
    spread_s = MAD_SIGMA * float(np.median(np.abs(off_s - np.median(off_s))))
    if spread_s > max(MAX_SPREAD_FRAC * period_s, MAX_DRIFT_TICKS * dt_s):
        return spread_s, False
    return spread_s, spread_s <= MAX_DRIFT_TICKS * dt_s or _order_z(off_s) <= DRIFT_Z


def _order_z(values: NDArray[np.float64]) -> float:
    """Return in standard deviations how much nearer values are to the next than in random order; by their ranks."""
    n = values.size
    ranks = rankdata(values)
    ratio = float(np.sum(np.diff(ranks) ** 2) / max(np.sum((ranks - ranks.mean()) ** 2), 1e-300))
    variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return float((2 - ratio) / np.sqrt(variance))
