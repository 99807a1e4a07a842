"""Which comb of harmonics explains the lines that ports have together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaincc, gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.ports.spectra import PooledSpectrum

__all__ = ["LINE_NATS", "MAX_HARMONICS", "Comb", "best_comb", "comb_nats", "some_nats", "sum_nats"]

MAX_HARMONICS: Final = 8
"""A burst of a fifth of its period has little left past the first four; one of a tenth, past the first nine."""
CAP_NATS: Final = 60.0
"""What one line can add: a giant alone must not outweigh a comb."""
LINE_NATS: Final = 14.0
"""From here on a line stands by itself: one in 10^6 by chance, at any of some thousand frequencies in a thousand."""
KEEPS_FRAC: Final = 0.94
"""Of combs that keep this part of the best one's evidence, that with most power at low harmonics wins: where every
tooth is capped, a part of the period, or a comb that folds onto the same lines, has as much evidence, but the strongest
lines are not there, or not where a burst has them."""
N_FOLDED: Final = 2 * MAX_HARMONICS
"""Harmonics of a shorter period that may fold onto the teeth of a longer one."""
MIN_SHARE: Final = 0.02
"""Teeth with less power than this part of the strongest are trifles: skirts of other lines, not what makes a period."""
DOUBT_NATS: Final = 5.0
"""Teeth that hold this much, once in 150 by chance, but are no lines, leave a doubt."""
ALL_ORDERS: Final = np.arange(1, MAX_HARMONICS + 1)
APART_CELLS: Final = 4
"""Harmonics that fold onto one another within this many cells are one line, seen once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comb:
    """A fundamental and what speaks for it.

    ``log_chance`` is the natural log of the chance that noise alone has such a comb anywhere in the spectrum;
    ``n_harmonics`` is how many harmonics were counted; ``margin_nats`` how much better it is than the best comb at a
    multiple or a part of its period, and ``between_nats`` is the evidence half-way between its teeth.
    """

    freq_hz: float
    n_harmonics: int
    nats: float
    log_chance: float
    margin_nats: float
    between_nats: float


def best_comb(spectrum: PooledSpectrum) -> Comb:
    """Return the comb with the least chance, after parsimony.

    Notes
    -----
    The nats of noise have an exponential distribution, so their sum over H harmonics has a Gamma distribution of shape
    H: every harmonic pays for itself. Harmonics past Nyquist fold back. Of combs whose teeth lie within one another the
    longer period needs a line of its own, one that the shorter one has not.
    """
    freqs_hz = np.arange(spectrum.first_hz, spectrum.nyquist_hz - spectrum.step_hz, spectrum.step_hz / 2)
    nats, _ = _sums(_teeth(np.minimum(spectrum.nats, CAP_NATS), freqs_hz, spectrum=spectrum))
    as_good = np.flatnonzero(nats >= KEEPS_FRAC * nats.max())
    low = _low_power(spectrum, freqs_hz[as_good])
    freq_hz = _parsimonious(float(freqs_hz[as_good[int(np.argmax(low))]]), spectrum)
    best, n_harmonics = comb_nats(spectrum, freq_hz)
    n_looks = freqs_hz.size * MAX_HARMONICS
    return Comb(
        freq_hz=freq_hz,
        n_harmonics=n_harmonics,
        nats=best,
        log_chance=min(0.0, float(np.log(n_looks)) - best),
        margin_nats=_margin(spectrum, freq_hz, best=best, n_harmonics=n_harmonics),
        between_nats=_between(spectrum, freq_hz, n_harmonics=n_harmonics),
    )


def some_nats(spectrum: PooledSpectrum, freq_hz: float, *, orders: NDArray[np.int64]) -> float:
    """Return minus the log chance of some teeth of a comb."""
    teeth = _teeth(np.minimum(spectrum.nats, CAP_NATS), np.array([freq_hz]), spectrum=spectrum)[orders - 1]
    return float(_gamma_nats(teeth.sum(axis=0), orders.size)[0])


def comb_nats(
    spectrum: PooledSpectrum, freq_hz: float, *, nats: NDArray[np.float64] | None = None, n_harmonics: int | None = None
) -> tuple[float, int]:
    """Return minus the log chance of a comb at one fundamental, and how many harmonics make it least.

    ``nats`` are those of one port, if not of all; with ``n_harmonics`` given, so many are counted.
    """
    capped = np.minimum(spectrum.nats if nats is None else nats, CAP_NATS)
    teeth = _teeth(capped, np.array([freq_hz]), spectrum=spectrum)
    if n_harmonics is not None:
        return float(_gamma_nats(teeth[:n_harmonics].sum(axis=0), n_harmonics)[0]), n_harmonics
    best, counts = _sums(teeth)
    return float(best[0]), int(counts[0])


def sum_nats(total: float, n_terms: int) -> float:
    """Return minus the log chance that the nats of ``n_terms`` looks at noise add up to ``total``."""
    return float(_gamma_nats(np.array([total]), n_terms)[0])


def _margin(spectrum: PooledSpectrum, freq_hz: float, *, best: float, n_harmonics: int) -> float:
    """Return what the comb has over those of a part or a multiple of its period.

    A part leaves teeth out: the chance that those are noise tells. A multiple adds teeth: if they hold nothing, it adds
    nothing.
    """
    orders = np.arange(1, n_harmonics + 1)
    margins = [some_nats(spectrum, freq_hz, orders=orders[orders % n_parts != 0]) for n_parts in (2, 3)]
    for n_cycles in (2, 3):
        if freq_hz / n_cycles < spectrum.first_hz:
            continue
        added = ALL_ORDERS[ALL_ORDERS % n_cycles != 0]
        nats = some_nats(spectrum, freq_hz / n_cycles, orders=added)
        is_doubt = nats >= DOUBT_NATS and _has_share(spectrum, freq_hz / n_cycles, orders=added)
        margins.append(best - (comb_nats(spectrum, freq_hz / n_cycles)[0] if is_doubt else nats))
    return min(margins)


def _between(spectrum: PooledSpectrum, freq_hz: float, *, n_harmonics: int) -> float:
    """Return the evidence that stands half-way between the teeth, where a comb has none but a hump has as much."""
    at = spectrum.index(freq_hz * np.arange(0.5, n_harmonics, dtype=np.float64))
    nats = np.minimum(spectrum.nats[at[at >= 0]], CAP_NATS)
    return sum_nats(float(nats.sum()), nats.size) if nats.size else 0.0


def _low_power(spectrum: PooledSpectrum, freqs_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power at each comb's teeth, each over its order, as a burst's falls off."""
    low: NDArray[np.float64] = (_teeth(spectrum.power, freqs_hz, spectrum=spectrum) / ALL_ORDERS[:, None]).sum(axis=0)
    return low


def _has_share(spectrum: PooledSpectrum, freq_hz: float, *, orders: NDArray[np.int64]) -> bool:
    """Return whether some teeth hold more than a trifle of what the strongest tooth holds."""
    power = _teeth(spectrum.power, np.array([freq_hz]), spectrum=spectrum)[:, 0]
    return bool(power[orders - 1].max() >= MIN_SHARE * power.max())


def _teeth(
    values: NDArray[np.float64], freqs_hz: NDArray[np.float64], *, spectrum: PooledSpectrum
) -> NDArray[np.float64]:
    """Return the values of a spectrum at each harmonic of each fundamental, shape (MAX_HARMONICS, n_fundamentals).

    A harmonic that cannot be seen, or not apart from an earlier one, has what noise has on average: 1.
    """
    teeth = np.ones((MAX_HARMONICS, freqs_hz.size))
    at = np.array([spectrum.index(order * freqs_hz) for order in range(1, MAX_HARMONICS + 1)])
    for row in range(MAX_HARMONICS):
        seen = at[row] >= 0
        for earlier in range(row):
            seen &= np.abs(at[row] - at[earlier]) > APART_CELLS
        teeth[row, seen] = values[at[row, seen]]
    return teeth


def _sums(teeth: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the largest evidence over the number of harmonics counted, and that number, of each fundamental."""
    sums = np.cumsum(teeth, axis=0)
    nats = np.array([_gamma_nats(sums[row], row + 1) for row in range(len(teeth))])
    return nats.max(axis=0), np.argmax(nats, axis=0) + 1


def _gamma_nats(total: NDArray[np.float64], shape: int) -> NDArray[np.float64]:
    """Return minus the log of the chance that ``shape`` exponentials add up to ``total``; exact, and safe far out."""
    with np.errstate(divide="ignore"):
        near = -np.log(gammaincc(shape, total))
    # For whole shapes the tail is exp(-x) * sum x^k / k!.
    orders = np.arange(shape)[:, None]
    terms = orders * np.log(np.maximum(total, 1e-300)) - gammaln(orders + 1)
    far = total - np.logaddexp.reduce(terms, axis=0)
    nats: NDArray[np.float64] = np.where(total < CAP_NATS, near, far)
    return nats


def _parsimonious(freq_hz: float, spectrum: PooledSpectrum) -> float:
    """Return the highest multiple of a fundamental that leaves out no line of its comb, but for trifles.

    A line that a harmonic of the multiple folds onto is not left out; but its strongest must be at low harmonics.
    """
    nats = _teeth(spectrum.nats, np.array([freq_hz]), spectrum=spectrum)[:, 0]
    lines = [order for order in ALL_ORDERS if nats[order - 1] >= LINE_NATS]
    lines = [order for order in lines if _has_share(spectrum, freq_hz, orders=np.array([order]))]
    at = spectrum.index(freq_hz * np.array(lines, dtype=np.float64))
    for n_parts in range(MAX_HARMONICS, 1, -1):
        part_hz = float(spectrum.folded(np.array([n_parts * freq_hz]))[0])
        if not lines or part_hz < spectrum.first_hz:
            continue
        of_part = spectrum.index(part_hz * np.arange(1.0, N_FOLDED + 1))
        is_whole = (np.abs(at[:, None] - of_part).min(axis=1) <= APART_CELLS).all()
        low, low_of_part = _low_power(spectrum, np.array([freq_hz, part_hz]))
        if is_whole and low_of_part >= low:
            return part_hz
    return freq_hz
