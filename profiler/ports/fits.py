"""How surely a spectrum holds a template: what is left of it, its noise, and fits that chance would make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from scipy.ndimage import uniform_filter1d

from profiler.period.floor import noise_floor

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["N_FREE", "fit_z", "in_phase", "left_of", "lines_only", "noise_under", "steadiness"]

N_SHIFTS: Final = 100
"""Shifts from which the spread of chance fits is taken, to within a twentieth; the nearest, of like noise."""
MIN_SHIFT: Final = 8
"""Shifts of a template's spectrum by so many frequencies and more take its lines off the job's, and leave the noise's
floor as it is."""
N_FREE: Final = 60
"""Degrees of freedom of a spread that is taken from a hundred shifts, of which a line's width ties three together, each
with a real and an imaginary part."""
N_PARTS: Final = 8
"""Parts of the recording that must agree on a share: fewer than one in a hundred do by chance."""
LINE_RATIO: Final = 8.0
"""Power this many times a template's floor is its job's: one frequency in 3,000 of noise has so much."""
STANDS_OUT: Final = 4.0
"""Power this many times the floor is hardly noise's: one frequency in fifty has so much."""
SKIRT_CELLS: Final = 2
"""A line that wanders, or is tapered, stands in so many frequencies to each side."""
SINGULAR: Final = 1e-9
"""Templates more alike than this are one to least squares."""


def lines_only(template: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return a template's spectrum where it stands clear of its own floor, 0 elsewhere.

    Counters that are polled together share the noise of the polls' times, but not the lines of their jobs.
    """
    power = np.abs(template) ** 2
    lines: NDArray[np.complex128] = np.where(power >= LINE_RATIO * noise_floor(power), template, 0.0)
    return lines


def noise_under(rest: NDArray[np.complex128], *, drawn: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the noise at each frequency: the floor, and more where something stands out that is no template's.

    A line of a job that has no template would else be matched with the templates' own noise there, and its skirt with a
    template's line beside it: there the template explains all, and nothing is left to tell.
    """
    power = np.abs(rest) ** 2
    floor = noise_floor(power)
    beside = uniform_filter1d(power, 2 * SKIRT_CELLS + 1)
    noise: NDArray[np.float64] = np.where(drawn, np.inf, np.maximum(floor, beside / STANDS_OUT))
    return noise


def left_of(templates: NDArray[np.complex128], i_job: int, *, noise: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return what is left of a template once the others are taken out of it."""
    others = np.delete(templates, i_job, axis=0)
    if not len(others):
        alone: NDArray[np.complex128] = templates[i_job]
        return alone
    gram = (np.conj(others) / noise @ others.T).real
    match = (np.conj(others) / noise @ templates[i_job]).real
    shares = np.linalg.lstsq(gram, match, rcond=SINGULAR)[0]
    left: NDArray[np.complex128] = templates[i_job] - shares @ others
    return left


def fit_z(
    own: NDArray[np.complex128], rest: NDArray[np.complex128], *, share: float, noise: NDArray[np.float64]
) -> float:
    """Return how far a template's fit stands above those of the same template shifted in frequency."""
    scale = np.sqrt(noise)
    white, left = own / scale, rest / scale
    power = float(np.sum(np.abs(white) ** 2))
    # The fit at every shift at once. Other lengths transform several times as slowly, so the rest is continued: what
    # is shifted past one end comes back at the other.
    reach = MIN_SHIFT + N_SHIFTS // 2
    around = np.take(left, np.arange(-reach, left.size + reach), mode="wrap")
    n_cells = scipy.fft.next_fast_len(around.size)
    fits = scipy.fft.ifft(scipy.fft.fft(around, n_cells) * np.conj(scipy.fft.fft(white, n_cells)))
    # The imaginary part is the fit of a copy turned by a quarter: one as good as the other. Frequencies keep their
    # neighbours: those of a tapered line, and of tapered noise, go together.
    moved = np.concatenate((fits[1 : reach - MIN_SHIFT + 1], fits[reach + MIN_SHIFT : 2 * reach]))
    chance = 0.5 * np.abs(moved) ** 2
    return share * power / float(np.sqrt(max(np.mean(chance), np.finfo(np.float64).tiny)))


def in_phase(own: NDArray[np.complex128], port: NDArray[np.complex128], *, noise: NDArray[np.float64]) -> float:
    """Return how many times better a template fits at the best shift in time, however long, than where it stands."""
    fits = scipy.fft.irfft(np.append(0, np.conj(own) * port / noise))
    return float(fits.max() / max(fits[0], np.finfo(np.float64).tiny))


def steadiness(own: NDArray[np.complex128], port: NDArray[np.complex128], *, noise: NDArray[np.float64]) -> float:
    """Return the share over its standard error, both from how far parts of the recording agree on it.

    A line of another job near one of the template's agrees with it for a while, and then no more.
    """
    scale = np.sqrt(noise)
    white, whole = scipy.fft.irfft(np.append(0, own / scale)), scipy.fft.irfft(np.append(0, port / scale))
    energy = np.array([part.sum() for part in np.array_split(white**2, N_PARTS)])
    match = np.array([part.sum() for part in np.array_split(white * whole, N_PARTS)])
    share = match.sum() / max(energy.sum(), np.finfo(np.float64).tiny)
    spread = np.sum(energy * (match / np.maximum(energy, np.finfo(np.float64).tiny) - share) ** 2) / (N_PARTS - 1)
    return float(share / np.sqrt(max(spread / energy.sum(), np.finfo(np.float64).tiny)))
