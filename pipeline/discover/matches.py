"""`match`: how well ports do what a template does, at which lag, and how surely that is no chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from pipeline.discover.spectra import LINE_RATIO

if TYPE_CHECKING:
    from pipeline.discover.spectra import Spectra
    from pipeline.discover.templates import Template

__all__ = ["Matches", "agreement", "lags_near", "lags_of", "match", "stand_out"]

LAG_STEP_TICKS: Final = 0.25
"""A lag that is half of this off costs a line at half the sampling rate less than a tenth."""
MOST_LAGS: Final = 384
"""For long periods the steps grow: their lines are slow."""
NEAR_TICKS: Final = 2.0
"""Where no period is known ports are compared within this lag: clocks of counters differ by up to a tick."""
CLOCK_TICKS: Final = 1.0
"""Clocks of two counters differ by up to a tick."""
N_SHIFTS: Final = 64
"""Shifts of a template from which the spread of chance fits is taken, to within a tenth; the nearest, where the
noise is alike."""
MIN_SHIFT: Final = 8
"""Shifts by so many frequencies and more take a template's lines off the job's."""
SCREEN_Z: Final = 3.0
"""What noise alone would exceed once in 700 is looked at closely."""
STANDS_OUT: Final = 4.0
"""Power this many times the floor is hardly noise's: one frequency in fifty has so much."""
MIN_OUT_FRAC: Final = 0.2
"""A port of the job stands out of its noise at most of the job's lines; it is not looked at if at so few."""
CHUNK: Final = 256
"""Ports that are compared at a time, so that memory stays bounded."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matches:
    """Of each port compared, in the order given; arrays of shape (n_ports,).

    ``z`` is the fit in standard deviations of what the template finds in the same port when
    it is shifted in frequency, and ``log_chance`` the log of the chance of one so good at any of the lags tried up to
    the one found.
    """

    lag_s: NDArray[np.float64]
    z: NDArray[np.float64]
    log_chance: NDArray[np.float64]


def lags_of(period_s: float | None, *, dt_s: float) -> NDArray[np.float64]:
    """Return the lags at which a template is tried: half a period to each side, or a few ticks."""
    half_s = NEAR_TICKS * dt_s if period_s is None else 0.5 * period_s
    n_steps = int(min(MOST_LAGS // 2, max(1, np.ceil(half_s / (LAG_STEP_TICKS * dt_s)))))
    return np.linspace(-half_s, half_s, 2 * n_steps + 1)


def lags_near(lags_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return lags within the clocks' error of those given: what passes a job's own ports is carried at that time."""
    reach = np.arange(-CLOCK_TICKS, CLOCK_TICKS + 1e-9, LAG_STEP_TICKS)
    steps = np.round(lags_s[:, None] / (LAG_STEP_TICKS * dt_s)) * LAG_STEP_TICKS + reach
    near: NDArray[np.float64] = np.unique(np.round(steps / LAG_STEP_TICKS)) * LAG_STEP_TICKS * dt_s
    return near


def match(
    template: Template,
    spectra: Spectra,
    *,
    rows: NDArray[np.int64],
    lags_s: NDArray[np.float64] | None = None,
    limit: float = 0.0,
) -> Matches:
    """Compare a template with ports, at the lags given or at all.

    Chances whose log is more than ``limit`` may be told too small, but not as small as that.

    Notes
    -----
    With t the template's lines, u a port's spectrum there and f the frequencies, the fit at a lag d is
    Re sum conj(t) u exp(2 pi i f d). Noise alone has standard deviation sqrt(sum |t|^2 / 2); lines of other jobs make
    it more, which the null ensemble of shifted templates shows. Cost O(n_rows * n_lines * n_lags).
    """
    lags_s = lags_of(template.period_s, dt_s=spectra.ticks.dt_s) if lags_s is None else lags_s
    turn = np.exp(2j * np.pi * np.outer(spectra.ticks.freqs_hz[template.at], lags_s)).astype(np.complex64)
    parts = [
        _match_some(template, spectra, rows[i : i + CHUNK], lags_s=lags_s, turn=turn, limit=limit)
        for i in range(0, rows.size, CHUNK)
    ]
    lag_s, z = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else (np.zeros(0),) * 2
    return Matches(lag_s=lag_s, z=z, log_chance=_log_chance(z, lag_s, dt_s=spectra.ticks.dt_s))


def stand_out(template: Template, spectra: Spectra, *, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ports do something at a template's lines, whatever it is, shape (n_rows,).

    Notes
    -----
    Cost O(n_rows * n_lines): a hundredth of that of comparing them at every lag, which most ports of other jobs need
    not.
    """
    found = [
        np.mean(spectra.power[np.ix_(rows[i : i + CHUNK], template.at)] >= STANDS_OUT, axis=1)
        for i in range(0, rows.size, CHUNK)
    ]
    return np.concatenate([np.zeros(0), *found]) >= MIN_OUT_FRAC


def agreement(
    template: Template, spectra: Spectra, *, rows: NDArray[np.int64], lags_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the correlation of each port, at its lag, with a template where either has a line, shape (n_rows,).

    Every line counts alike, however strong. A job of the same period has its lines there too; but its jitter makes them
    broad in another way, so that it has some where the template has none.
    """
    is_own = np.isin(template.skirts_at, template.at)
    found = np.zeros(rows.size)
    for i, (row, lag_s) in enumerate(zip(rows, lags_s, strict=True)):
        used = is_own | (spectra.power[row, template.skirts_at] >= LINE_RATIO)
        at, own = template.skirts_at[used], template.skirts[used]
        its = spectra.white[row, at] * np.exp(2j * np.pi * spectra.ticks.freqs_hz[at] * lag_s)
        energy = np.sum(np.abs(own) ** 2) * np.sum(np.abs(its) ** 2)
        found[i] = np.sum(np.conj(own) * its).real / np.sqrt(max(float(energy), 1e-300))
    return found


def _log_chance(z: NDArray[np.float64], lag_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return the log of the chance of fits so good, at any of the lags up to those found."""
    log_chance: NDArray[np.float64] = np.minimum(0.0, np.log(_n_looks(lag_s, dt_s=dt_s)) + log_ndtr(-z))
    return log_chance


def _n_looks(lag_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return how many lags that tell apart were tried up to each: long ones need more evidence."""
    looks: NDArray[np.float64] = 1 + 2 * np.abs(lag_s) / dt_s
    return looks


def _match_some(
    template: Template,
    spectra: Spectra,
    rows: NDArray[np.int64],
    *,
    lags_s: NDArray[np.float64],
    turn: NDArray[np.complex64],
    limit: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    seen = spectra.white[np.ix_(rows, template.at)]
    fits = ((np.conj(template.white) * seen) @ turn).real.astype(np.float64)
    white_z = np.maximum(fits, 0.0) / np.sqrt(0.5 * max(template.energy, 1e-12))
    best = (0.5 * white_z**2 - np.log(_n_looks(lags_s, dt_s=spectra.ticks.dt_s))).argmax(axis=1)
    fit = fits[np.arange(rows.size), best]
    noise = np.full(rows.size, np.sqrt(0.5 * max(template.energy, 1e-12)))
    may_be = _log_chance(fit / noise, lags_s[best], dt_s=spectra.ticks.dt_s) <= limit
    close = np.flatnonzero((fit > SCREEN_Z * noise) & may_be)
    if close.size:
        noise[close] = np.maximum(noise[close], _chance_fits(template, spectra, rows[close]))
    return lags_s[best], fit / noise


def _chance_fits(template: Template, spectra: Spectra, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the root mean square of what the template finds in each port when shifted in frequency."""
    n_freqs = spectra.white.shape[1]
    each = np.arange(MIN_SHIFT, MIN_SHIFT + N_SHIFTS // 2)
    shifts = np.concatenate((-each, each)).tolist()
    power = np.zeros(rows.size)
    for shift in shifts:
        moved = spectra.white[np.ix_(rows, (template.at + shift) % n_freqs)]
        power += 0.5 * np.abs(moved @ np.conj(template.white)) ** 2
    rms: NDArray[np.float64] = np.sqrt(power / N_SHIFTS)
    return rms
