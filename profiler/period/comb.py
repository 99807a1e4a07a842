"""Combs of spectral lines: how strongly a spectrum speaks for a period and all its harmonics.

The evidence of a comb is the sum over its harmonics of the log of power over floor, capped, so that no single line
decides, minus a price a harmonic, so that lines which are not there count against it. A multiple of the period has
the same lines and pays for the ones between; a fraction misses lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from profiler.period.peaks import vertex
from profiler.period.spectrum import N_LINES

if TYPE_CHECKING:
    from profiler.period.spectrum import Spectrum

__all__ = ["Comb", "find_combs"]

MAX_HARMONICS: Final = 40
CAP_NATS: Final = 5.3
"""A line 200 times its floor says all that one line can say."""
PRICE_NATS: Final = 1.7
"""What noise gives a harmonic's window on average, and as much again."""
LINE_GAIN: Final = 0.6
"""A harmonic that gains more than this is a line: it counts, and refines the fundamental."""
REACH: Final = 0.75
"""Half-width of a harmonic's window, in cycles over the whole series; half of a Hann window's main lobe."""
REACH_SEARCH: Final = 0.5
REACH_REFINE: Final = 0.15
REACH_FINAL: Final = 0.06
"""How much wider it is for each further harmonic: before, while and after the fundamental is refined."""
MAX_WIDENED: Final = 6
FOLDED_BINS: Final = 6.0
"""Only periods shorter than this have harmonics enough past half the sampling rate to be looked for there: with more,
chance finds a line for each of them."""
MAX_FOLDED: Final = 2.0
"""Harmonics are looked for up to this frequency, in cycles a bin: averaging over a bin leaves nothing beyond."""
FOLDED_MARGIN: Final = 1.5
"""A line past half the sampling rate is weaker than the strongest one by what averaging over a bin takes of it, but for
so many nats."""
MAX_STRONGEST: Final = 0.7
"""The strongest line is a harmonic below this frequency, in cycles a bin: averaging over a bin weakens others."""
NOT_STRONGEST_FRAC: Final = 0.3
"""What is left of the evidence of a comb that does not have the series' strongest line."""
MAX_ORDER: Final = 24
"""A line is tried as the first to the 24th harmonic."""
MAX_FOLDED_ORDER: Final = 8
CELLS_PER_CYCLE: Final = 6
"""Candidates this fraction of a cycle over the whole series apart are one: refinement brings them together."""
FIRST_HARMONICS: Final = 16.5
N_REFINED: Final = 24
"""So many candidates are refined, those with most evidence in their first sixteen harmonics."""
MIN_PERIOD_BINS: Final = 2.05
MIN_CYCLES: Final = 2.8
SAME_FRAC: Final = 0.01
COARSE_BINS: Final = 16.0
"""Only periods shorter than this have enough power past half the sampling rate for it to matter."""
PART_FRAC: Final = 0.3
KEEPS_FRAC: Final = 0.85
"""A part of a period is taken for the period if, without and with folded harmonics, it has these parts of the evidence.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comb:
    """A comb of lines with a fundamental of ``freq`` cycles a bin.

    ``evidence`` is in nats; ``n_lines`` of the harmonics up to ``n_harmonics`` have a line.
    """

    freq: float
    evidence: float
    n_lines: int
    n_harmonics: int

    @property
    def period_bins(self) -> float:
        """The period in bins."""
        return 1 / self.freq


def find_combs(spectrum: Spectrum, n_combs: int) -> list[Comb]:
    """Return the combs with most evidence, most first, each at least 1 % from the others; at most ``n_combs``.

    Notes
    -----
    Candidates are the strongest lines as first, second, … harmonic, and for short periods as harmonics that folded
    back at the sampling rate. Each is refined by weighted regression of line frequency on harmonic number. The
    evidence is that of the best first so many harmonics. Cost O(n_candidates * MAX_HARMONICS).
    """
    lines = spectrum.lines(N_LINES)
    freqs = _candidates(lines / spectrum.n_fft, n_bins=spectrum.n_bins)
    if not freqs.size:
        return []
    strongest = spectrum.strongest(lines)
    levels = _levels(spectrum, strongest)
    found = _weigh_all(levels, spectrum.n_fft, spectrum.n_bins, strongest, freqs)
    combs: list[Comb] = []
    for i in np.argsort(-found[:, 0], kind="stable"):
        evidence, freq, n_lines, n_harmonics = found[i].tolist()
        if evidence <= 0 or len(combs) == n_combs:
            break
        if all(abs(freq / comb.freq - 1) > SAME_FRAC for comb in combs):
            combs.append(Comb(freq=freq, evidence=evidence, n_lines=int(n_lines), n_harmonics=int(n_harmonics)))
    return _shortest_first(combs, spectrum, levels=levels, strongest=strongest)


def _levels(spectrum: Spectrum, strongest: int) -> NDArray[np.float64]:
    """Return log power over the floor, and over the strongest line; shape (2, n_freqs)."""
    tiny = float(np.finfo(np.float64).tiny)
    log_power = np.log(np.maximum(spectrum.power, tiny))
    return np.stack([spectrum.log_ratio, log_power - log_power[strongest]])


def _shortest_first(
    combs: list[Comb], spectrum: Spectrum, *, levels: NDArray[np.float64], strongest: int
) -> list[Comb]:
    """Return the combs with a fraction of the best one's period in its place, if folded harmonics make up for it.

    A period of 11.4 bins falls near whole bins five at a time, and its harmonics past half the sampling rate fold back
    to where the missing harmonics of 57 bins would be.
    """
    for comb in sorted(combs[1:], key=lambda comb: comb.freq, reverse=True):
        order = comb.freq / combs[0].freq
        is_part = round(order) > 1 and comb.period_bins < COARSE_BINS and abs(order / round(order) - 1) < SAME_FRAC
        if not is_part or comb.evidence < PART_FRAC * combs[0].evidence:
            continue
        freq = round(order) * combs[0].freq
        lines = _harmonic_lines(levels, spectrum.n_fft, spectrum.n_bins, freq, (REACH_FINAL, MAX_FOLDED))
        evidence, freq, n_lines, n_harmonics = _weigh(lines, freq, strongest).tolist()
        if evidence >= KEEPS_FRAC * combs[0].evidence:
            part = Comb(freq=freq, evidence=evidence, n_lines=int(n_lines), n_harmonics=int(n_harmonics))
            return [part, *(other for other in combs if other is not comb)]
    return combs


def _candidates(lines: NDArray[np.float64], *, n_bins: int) -> NDArray[np.float64]:
    """Return fundamentals to try, in cycles a bin."""
    direct = (lines[:, None] / np.arange(1, MAX_ORDER + 1)).ravel()
    unfolded = np.concatenate([fold + sign * lines for fold in (1.0, 2.0) for sign in (-1.0, 1.0)])
    folded = (unfolded[:, None] / np.arange(2, MAX_FOLDED_ORDER + 1)).ravel()
    freqs = np.sort(np.concatenate([direct, folded[folded > 1 / FOLDED_BINS]]))
    freqs = freqs[(freqs >= MIN_CYCLES / n_bins) & (freqs <= 1 / MIN_PERIOD_BINS)]
    return freqs[np.diff(freqs, prepend=0.0) > 1 / (CELLS_PER_CYCLE * n_bins)]


@njit(cache=True, nogil=True)
def _weigh_all(
    levels: NDArray[np.float64], n_fft: int, n_bins: int, strongest: int, freqs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return evidence, refined fundamental, lines and harmonics of the best candidates, shape (n_refined, 4)."""
    first = np.zeros(freqs.size)
    for i in range(freqs.size):
        highest = min(_highest(freqs[i]), FIRST_HARMONICS * freqs[i])
        lines = _harmonic_lines(levels, n_fft, n_bins, freqs[i], (REACH_SEARCH, highest))
        first[i] = _weigh(lines, freqs[i], strongest)[0]
    best = np.argsort(-first)[:N_REFINED]
    found = np.zeros((best.size, 4))
    for i in range(best.size):
        freq = freqs[best[i]]
        for widening in (REACH_SEARCH, REACH_REFINE, REACH_FINAL):
            lines = _harmonic_lines(levels, n_fft, n_bins, freq, (widening, _highest(freq)))
            found[i] = _weigh(lines, freq, strongest)
            if abs(found[i, 1] / freq - 1) < 0.05 and widening != REACH_FINAL:
                freq = found[i, 1]
        found[i, 1] = freq
    return found


@njit(cache=True, nogil=True)
def _highest(freq: float) -> float:
    """Return the frequency up to which a comb's harmonics are looked for, in cycles a bin."""
    return MAX_FOLDED if freq > 1 / FOLDED_BINS else 0.5


@njit(cache=True, nogil=True)
def _harmonic_lines(
    levels: NDArray[np.float64], n_fft: int, n_bins: int, freq: float, limits: tuple[float, float]
) -> NDArray[np.float64]:
    """Return for each harmonic: gain in nats, index of its line, the line's own frequency unfolded; shape (n, 3).

    Levels are log power over the floor, and over the strongest line; shape (2, n_freqs). Limits are how much wider a
    window is for each further harmonic, and the highest frequency to look at.
    """
    widening, highest = limits
    log_ratio, log_power = levels
    n_harmonics = min(MAX_HARMONICS, int(highest / freq))
    lines = np.zeros((n_harmonics, 3))
    for h in range(1, n_harmonics + 1):
        reach = (REACH + widening * min(h, MAX_WIDENED)) / n_bins
        whole = np.floor(h * freq + 0.5)
        part = h * freq - whole
        first = max(1, int(np.ceil((abs(part) - reach) * n_fft)))
        end = min(log_ratio.size, int(np.floor((abs(part) + reach) * n_fft)) + 1)
        if end <= first:
            continue
        i = first + int(np.argmax(log_ratio[first:end]))
        is_plausible = h * freq <= 0.5 or log_power[i] <= FOLDED_MARGIN + 2 * np.log(max(abs(np.sinc(h * freq)), 1e-3))
        gain = (min(log_ratio[i], CAP_NATS) if is_plausible else 0.0) - PRICE_NATS
        if gain > 0:
            gain *= max(0.0, 1 - 2 * reach / freq)
        lines[h - 1, 0] = gain
        lines[h - 1, 1] = i
        lines[h - 1, 2] = whole + (1.0 if part >= 0 else -1.0) * vertex(log_ratio, i) / n_fft
    return lines


@njit(cache=True, nogil=True)
def _weigh(lines: NDArray[np.float64], freq: float, strongest: int) -> NDArray[np.float64]:
    """Return evidence, refined fundamental, lines and harmonics of the best first so many harmonics, shape (4,)."""
    best = np.array([0.0, freq, 0.0, 0.0])
    total, n_lines, moment, moment_2, has_strongest = 0.0, 0, 0.0, 0.0, False
    for h in range(1, lines.shape[0] + 1):
        gain = lines[h - 1, 0]
        total += gain
        has_strongest |= abs(lines[h - 1, 1] - strongest) <= 1 and h * freq <= MAX_STRONGEST
        if gain > LINE_GAIN:
            n_lines += 1
            moment += gain * h * lines[h - 1, 2]
            moment_2 += gain * h * h
        evidence = total if has_strongest else NOT_STRONGEST_FRAC * total
        if gain > 0 and evidence > best[0]:
            best[0] = evidence
            best[1] = moment / moment_2 if moment_2 > 0 else freq
            best[2] = n_lines
            best[3] = h
    return best
