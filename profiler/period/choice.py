"""Which period a series has: combs of lines and repetition, brought together.

Spectra alone pick harmonics, autocorrelation alone picks multiples; each is sure where the other is not. A comb tells
a period from its fractions and multiples by lines that are or are not there, as long as iterations keep time;
autocorrelation still sees a job whose iterations wander, and tells texture within bursts from the iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from profiler.period.autocorrelation import autocorrelations
from profiler.period.comb import find_combs
from profiler.period.evidence import MULTIPLES, propose, weigh
from profiler.period.prepare import MIN_BINS
from profiler.period.rivals import settled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.period.autocorrelation import Autocorrelation
    from profiler.period.comb import Comb
    from profiler.period.evidence import Evidence
    from profiler.period.prepare import Prepared
    from profiler.period.spectrum import Spectrum

__all__ = ["EVIDENCE_ACCEPT", "LINE_EVIDENCE", "Z_ACCEPT", "Choice", "choice_of", "choose"]

EVIDENCE_ACCEPT: Final = 3.0
"""Nats of a comb that are worth following; random traffic of `profiler.synth` reaches them once in ten traces."""
STRONG_EVIDENCE: Final = 5.5
"""Nats of a comb that count for more than a repetition elsewhere."""
Z_STRONG: Final = 40.0
BEYOND_FRAC: Final = 0.6
CLEARER: Final = 2.5
BEAT_CYCLES: Final = 6.5
"""More bursts than this in an iteration are hardly ever alike, but for a pause."""
LATTICE_EVIDENCE: Final = 20.0
Z_ACCEPT: Final = 8.0
"""Repetition that is worth following. Random traffic of `profiler.synth` reaches it once in ten traces."""
CONTRAST_ACCEPT: Final = 0.1
KEEPS_FRAC: Final = 0.85
"""A period keeps nearly all the contrast of its multiples; the texture within bursts does not."""
TEXTURE_FRAC: Final = 0.5
"""What keeps less than this of the contrast of a longer period is texture within its bursts."""
TEXTURE_BINS: Final = 4.0
"""Bursts shorter than a bin fall into one or two of them in turn; some scale of at least this many shows them alike."""
MAX_PARTS: Final = 24
PART_BINS: Final = 8
SAME_FRAC: Final = 0.1
"""Candidates this close to each other are one period, seen at several scales."""
SURE_EVIDENCE: Final = 25.0
SURE_MARGIN: Final = 1.5
N_COMBS: Final = 6
BENEATH_FRAC: Final = 0.4
LINE_EVIDENCE: Final = 2.0
"""A weak comb near a repetition is the more exact of the two."""
PART_EVIDENCE: Final = 4.0
COARSEST_BINS: Final = 3.0
MAX_PART_ORDER: Final = 12.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The period that a series most likely has, and what speaks for it.

    ``comb`` is the comb of lines at the period, None if there is none; ``evidence`` its nats; ``z`` and ``contrast``
    are those of the autocorrelation, at the period if ``repeats``, else of its strongest repetition. ``margin`` is the
    evidence over that of the next best comb. ``accepted`` if it is enough to look further, ``beyond_doubt`` if the comb
    is so clear that no repetition was looked for.
    """

    period_s: float
    comb: Comb | None
    z: float
    contrast: float
    repeats: bool
    margin: float
    accepted: bool
    beyond_doubt: bool = False

    @property
    def evidence(self) -> float:
        """Nats that the comb at the period has, 0 if there is none."""
        return self.comb.evidence if self.comb else 0.0


def choose(prepared: Prepared, spectrum: Spectrum, *, every: float = float("inf")) -> Choice | None:
    """Return the most likely period of a series, None if nothing repeats at all.

    Parameters
    ----------
    prepared, spectrum
        The series and its spectrum.
    every
        A period that has a strong comb at less than one of so many parts of it is that of an event, not of iterations.
    """
    combs = find_combs(spectrum, N_COMBS)
    combs = _beneath(combs, every=every)
    if combs and combs[0].evidence >= EVIDENCE_ACCEPT:
        combs = settled(combs, prepared, disturbed=every < float("inf"))
    scales = autocorrelations(prepared, min_bins=MIN_BINS)
    if combs and _is_beyond_doubt(combs, scales, dt_s=prepared.dt_s):
        margin = combs[0].evidence / combs[1].evidence
        return replace(choice_of(combs[0], dt_s=prepared.dt_s), margin=margin, beyond_doubt=True)
    repetition = _strongest(scales)
    enough = STRONG_EVIDENCE if repetition is not None and repetition.z >= Z_STRONG else EVIDENCE_ACCEPT
    comb = combs[0] if combs and combs[0].evidence >= enough else None
    if comb is None and combs and _is_coarse_part(combs[0], repetition, dt_s=prepared.dt_s):
        comb = combs[0]
    repeats = _is_enough(repetition)
    if comb is None or (repeats and _is_texture(comb, repetition, scales, dt_s=prepared.dt_s)):
        return _repeating(repetition, combs, dt_s=prepared.dt_s) if repetition else None
    period_s = comb.period_bins * prepared.dt_s
    seen = _weigh_at(scales, period_s, most=MULTIPLES)
    if repetition is not None and _is_beyond(comb, seen, repetition, dt_s=prepared.dt_s):
        return _repeating(repetition, combs, dt_s=prepared.dt_s)
    at_period = seen is not None and _is_enough(seen)
    strength = seen or repetition
    return Choice(
        period_s=period_s,
        comb=comb,
        z=strength.z if strength else 0.0,
        contrast=strength.contrast if strength else 0.0,
        repeats=at_period,
        margin=comb.evidence / combs[1].evidence if len(combs) > 1 else float("inf"),
        accepted=True,
    )


def choice_of(comb: Comb, *, dt_s: float) -> Choice:
    """Return the choice of a comb that was found by itself."""
    period_s = comb.period_bins * dt_s
    return Choice(period_s=period_s, comb=comb, z=0.0, contrast=0.0, repeats=False, margin=1.0, accepted=True)


def _is_beyond_doubt(combs: Sequence[Comb], scales: Sequence[Autocorrelation], *, dt_s: float) -> bool:
    """Return whether the first comb is so clear that no other repetition needs to be looked for."""
    if len(combs) < 2 or combs[0].evidence < max(SURE_EVIDENCE, SURE_MARGIN * combs[1].evidence):
        return False
    seen = _weigh_at(scales, combs[0].period_bins * dt_s, most=MULTIPLES)
    return seen is None or seen.z >= Z_STRONG


def _repeating(repetition: Evidence, combs: Sequence[Comb], *, dt_s: float) -> Choice:
    """Return the choice of the autocorrelation, with the comb at its period if there is one."""
    near = [comb for comb in combs if abs(comb.period_bins * dt_s / repetition.period_s - 1) < SAME_FRAC]
    others = [comb for comb in combs if comb not in near]
    is_line = bool(near) and near[0].evidence >= LINE_EVIDENCE
    return Choice(
        period_s=near[0].period_bins * dt_s if is_line else repetition.period_s,
        comb=near[0] if near else None,
        z=repetition.z,
        contrast=repetition.contrast,
        repeats=True,
        margin=max(1.0, near[0].evidence / others[0].evidence) if near and others else 1.0,
        accepted=_is_enough(repetition),
    )


def _beneath(combs: list[Comb], *, every: float) -> list[Comb]:
    """Return the combs with the best one whose period is below a part of the first one's in front, if it is strong."""
    for comb in combs[1:]:
        if comb.freq > every * combs[0].freq and comb.evidence >= max(
            EVIDENCE_ACCEPT, BENEATH_FRAC * combs[0].evidence
        ):
            return [comb, *(other for other in combs if other is not comb)]
    return combs


def _is_coarse_part(comb: Comb, repetition: Evidence | None, *, dt_s: float) -> bool:
    """Return whether a comb, and the repetition of some multiple near whole bins, show one period of a few bins."""
    if repetition is None or not _is_enough(repetition) or comb.evidence < PART_EVIDENCE:
        return False
    order = repetition.period_s / (comb.period_bins * dt_s)
    is_multiple = abs(order / round(order) - 1) < SAME_FRAC / order if order >= 1 else False
    return COARSEST_BINS < comb.period_bins < PART_BINS and order < MAX_PART_ORDER and is_multiple


def _is_enough(evidence: Evidence | None) -> bool:
    return evidence is not None and evidence.z >= Z_ACCEPT and evidence.contrast >= CONTRAST_ACCEPT


def _is_texture(comb: Comb, repetition: Evidence | None, scales: Sequence[Autocorrelation], *, dt_s: float) -> bool:
    """Return whether a comb is that of the fine structure within the bursts of a longer repetition."""
    period_s = comb.period_bins * dt_s
    if repetition is None or repetition.period_s < (1 + SAME_FRAC) * period_s:
        return False
    n_parts = max(1, round(repetition.period_s / period_s))
    kept = [
        weigh(acf, period_s / acf.bin_s, most=MULTIPLES * n_parts).contrast
        / max(weigh(acf, repetition.period_s / acf.bin_s).contrast, CONTRAST_ACCEPT)
        for acf in scales
        if period_s >= TEXTURE_BINS * acf.bin_s
    ]
    return bool(kept) and max(kept) < TEXTURE_FRAC


def _is_beyond(comb: Comb, seen: Evidence | None, repetition: Evidence, *, dt_s: float) -> bool:
    """Return whether a comb's period is longer than what the series clearly repeats after.

    Iterations of a few fixed lengths in no order have lines where all the lengths agree, and iterations that another
    job slows now and then have lines at the beat of the two; after such a period the series repeats hardly better, or
    not at all.
    """
    if seen is None or repetition.z < Z_STRONG or repetition.period_s > BEYOND_FRAC * comb.period_bins * dt_s:
        return False
    not_at_all = seen.z < Z_ACCEPT and comb.evidence < LATTICE_EVIDENCE
    is_beat = repetition.period_s * BEAT_CYCLES < comb.period_bins * dt_s and repetition.z > CLEARER * max(seen.z, 0.0)
    return not_at_all or is_beat


def _weigh_at(scales: Sequence[Autocorrelation], period_s: float, *, most: int) -> Evidence | None:
    """Return the evidence for a period at the coarsest scale that still resolves it, None if none does."""
    fit = [acf for acf in scales if period_s >= PART_BINS * acf.bin_s] or [
        acf for acf in scales[:1] if period_s >= 0.5 * PART_BINS * acf.bin_s
    ]
    return weigh(fit[-1], period_s / fit[-1].bin_s, most=most) if fit else None


def _strongest(scales: Sequence[Autocorrelation]) -> Evidence | None:
    """Return the evidence for the shortest period that keeps nearly all of the best one's contrast.

    Multiples of a period have as much contrast as the period itself; the texture within bursts has less.
    """
    found = [evidence for acf in scales for evidence in propose(acf)]
    sound = [evidence for evidence in found if evidence.z >= Z_ACCEPT]
    if not sound:
        return max(found, key=lambda evidence: evidence.z, default=None)
    enough = KEEPS_FRAC * max(evidence.contrast for evidence in sound)
    shortest_s = min(evidence.period_s for evidence in sound if evidence.contrast >= enough)
    near = [evidence for evidence in sound if abs(evidence.period_s / shortest_s - 1) < SAME_FRAC]
    return _fundamental(max(near, key=lambda evidence: evidence.z), scales)


def _fundamental(best: Evidence, scales: Sequence[Autocorrelation]) -> Evidence:
    """Return the evidence for the shortest whole part of a period that repeats as clearly as the period does.

    Both are judged over the same stretch of lags: the texture of a burst repeats well, but only as far as the burst.
    """
    n_winner, winner = 1, best
    for n_parts in range(2, MAX_PARTS + 1):
        part_s = best.period_s / n_parts
        fit = [acf for acf in scales if part_s >= PART_BINS * acf.bin_s]
        if not fit:
            break
        part = weigh(fit[-1], part_s / fit[-1].bin_s, most=MULTIPLES * n_parts)
        rival = weigh(fit[-1], winner.period_s / fit[-1].bin_s, most=MULTIPLES * n_winner)
        if part.z >= Z_ACCEPT and part.contrast >= KEEPS_FRAC * rival.contrast:
            n_winner, winner = n_parts, part
    return winner
