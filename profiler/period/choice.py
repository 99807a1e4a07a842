"""Which period a series has: combs of lines and repetition, brought together.

Spectra alone pick harmonics, autocorrelation alone picks multiples; each is sure where the other is not. A comb tells
a period from its fractions and multiples by lines that are or are not there, as long as iterations keep time;
autocorrelation still sees a job whose iterations wander, and tells texture within bursts from the iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.autocorrelation import autocorrelations
from profiler.period.clock import clocked_starts
from profiler.period.comb import find_combs
from profiler.period.doubts import Z_STRONG, is_beyond, is_coarse_part, is_texture
from profiler.period.evidence import MULTIPLES
from profiler.period.folding import Fold
from profiler.period.prepare import MIN_BINS
from profiler.period.repetition import is_repetition, strongest, weigh_at
from profiler.period.rivals import settled

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from profiler.period.autocorrelation import Autocorrelation
    from profiler.period.comb import Comb
    from profiler.period.evidence import Evidence
    from profiler.period.prepare import Prepared
    from profiler.period.spectrum import Spectrum

__all__ = ["EVIDENCE_ACCEPT", "LINE_EVIDENCE", "Choice", "choice_of", "choose", "weighed"]

EVIDENCE_ACCEPT: Final = 3.0
"""Nats of a comb that are worth following; random traffic of `profiler.synth` reaches them once in ten traces."""
STRONG_EVIDENCE: Final = 5.5
"""Nats of a comb that count for more than a repetition elsewhere."""
LINE_EVIDENCE: Final = 2.0
"""A weak comb near a repetition is the more exact of the two."""
SAME_FRAC: Final = 0.1
"""Candidates this close to each other are one period, seen at several scales."""
SURE_EVIDENCE: Final = 25.0
SURE_MARGIN: Final = 1.5
N_COMBS: Final = 6
BENEATH_FRAC: Final = 0.3
SHUNNED_FRAC: Final = 0.02
EXPLAINS_FRAC: Final = 0.5
"""A comb at a period of the poller's is a job's if its folded iteration explains half as much as any other's does."""
MIN_PARTS: Final = 6
MAX_PARTS: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The period that a series most likely has, and what speaks for it.

    ``comb`` is the comb of lines at the period, None if there is none; ``evidence`` its nats; ``z`` and ``contrast``
    are those of the autocorrelation at the period, or of its strongest repetition if the period is too short.
    ``margin`` is the evidence over that of the next best comb, and ``rivals`` are the other combs. ``accepted`` if
    it is enough to look further, ``beyond_doubt`` if the comb is so clear that no repetition was looked for.
    """

    period_s: float
    comb: Comb | None
    z: float
    contrast: float
    margin: float
    accepted: bool
    beyond_doubt: bool = False
    rivals: tuple[Comb, ...] = ()

    @property
    def evidence(self) -> float:
        """Nats that the comb at the period has, 0 if there is none."""
        return self.comb.evidence if self.comb else 0.0


def choose(
    prepared: Prepared, spectrum: Spectrum, *, every: float = float("inf"), shunned_s: Collection[float] = ()
) -> Choice | None:
    """Return the most likely period of a series, None if nothing repeats at all.

    Parameters
    ----------
    prepared, spectrum
        The series and its spectrum.
    every
        A period that has a strong comb at less than one of so many parts of it is that of an event, not of iterations.
    shunned_s
        Periods in seconds at which the gaps between polls themselves repeat.
    """
    combs = _beneath(_unshunned(find_combs(spectrum, N_COMBS), prepared, shunned_s), every=every)
    if combs and combs[0].evidence >= EVIDENCE_ACCEPT:
        combs = settled(combs, prepared, disturbed=every < float("inf"))
    scales = autocorrelations(prepared, min_bins=MIN_BINS)
    seen = weigh_at(scales, combs[0].period_bins * prepared.dt_s, most=MULTIPLES) if combs else None
    if _is_beyond_doubt(combs, seen):
        return _of_comb(combs, seen, dt_s=prepared.dt_s, beyond_doubt=True)
    repetition = strongest(scales)
    if repetition is not None and not _outweighs(combs, seen, repetition, scales, dt_s=prepared.dt_s):
        return _repeating(repetition, combs, dt_s=prepared.dt_s)
    if not combs or combs[0].evidence < EVIDENCE_ACCEPT:
        return None
    return _of_comb(combs, seen or repetition, dt_s=prepared.dt_s)


def choice_of(comb: Comb, *, dt_s: float) -> Choice:
    """Return the choice of a comb that was found by itself."""
    return _of_comb([comb], None, dt_s=dt_s)


def weighed(comb: Comb, combs: Sequence[Comb], *, prepared: Prepared) -> Choice:
    """Return the choice of one of several combs, with the repetition at its period."""
    scales = autocorrelations(prepared, min_bins=MIN_BINS)
    seen = weigh_at(scales, comb.period_bins * prepared.dt_s, most=MULTIPLES)
    return _of_comb([comb, *(other for other in combs if other is not comb)], seen, dt_s=prepared.dt_s)


def _of_comb(combs: Sequence[Comb], seen: Evidence | None, *, dt_s: float, beyond_doubt: bool = False) -> Choice:
    return Choice(
        period_s=combs[0].period_bins * dt_s,
        comb=combs[0],
        z=seen.z if seen else 0.0,
        contrast=seen.contrast if seen else 0.0,
        margin=combs[0].evidence / combs[1].evidence if len(combs) > 1 else float("inf"),
        accepted=True,
        beyond_doubt=beyond_doubt,
        rivals=tuple(combs[1:]),
    )


def _is_beyond_doubt(combs: Sequence[Comb], seen: Evidence | None) -> bool:
    """Return whether the first comb is so clear that no other repetition needs to be looked for."""
    if len(combs) < 2 or combs[0].evidence < max(SURE_EVIDENCE, SURE_MARGIN * combs[1].evidence):
        return False
    return seen is None or seen.z >= Z_STRONG


def _outweighs(
    combs: Sequence[Comb],
    seen: Evidence | None,
    repetition: Evidence,
    scales: Sequence[Autocorrelation],
    *,
    dt_s: float,
) -> bool:
    """Return whether the first comb says more of the period than the strongest repetition does."""
    if not combs:
        return False
    comb = combs[0]
    enough = STRONG_EVIDENCE if repetition.z >= Z_STRONG else EVIDENCE_ACCEPT
    if comb.evidence < enough:
        return is_coarse_part(comb, repetition, dt_s=dt_s)
    if is_repetition(repetition) and is_texture(comb, repetition, scales=scales, dt_s=dt_s):
        return False
    return not is_beyond(comb, repetition, seen=seen, dt_s=dt_s)


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
        margin=max(1.0, near[0].evidence / others[0].evidence) if near and others else 1.0,
        accepted=is_repetition(repetition),
        rivals=tuple(others),
    )


def _beneath(combs: list[Comb], *, every: float) -> list[Comb]:
    """Return the combs with the best one whose period is below a part of the first one's in front, if it is strong.

    Those of events, longer than it by as much, are then left out.
    """
    for comb in combs[1:]:
        enough = max(EVIDENCE_ACCEPT, BENEATH_FRAC * combs[0].evidence)
        if comb.freq > every * combs[0].freq and comb.evidence >= enough:
            return [comb, *(other for other in combs if other is not comb and comb.freq <= every * other.freq)]
    return combs


def _unshunned(combs: list[Comb], prepared: Prepared, shunned_s: Collection[float]) -> list[Comb]:
    """Return the combs without those of the poller: windows that are not known come back at periods of its own.

    A job may have such a period too: its folded iteration then explains what is known of the series.
    """
    if not shunned_s or prepared.weight.all():
        return combs
    shunned = [
        any(abs(comb.period_bins * prepared.dt_s / period_s - 1) < SHUNNED_FRAC for period_s in shunned_s)
        for comb in combs
    ]
    if not any(shunned):
        return combs
    explained = [_explained(comb, prepared) for comb in combs]
    enough = EXPLAINS_FRAC * max(explained)
    return [comb for comb, no, part in zip(combs, shunned, explained, strict=True) if not no or part >= enough]


def _explained(comb: Comb, prepared: Prepared) -> float:
    """Return the part of the known variance that the folded iteration of a comb explains."""
    period_s = comb.period_bins * prepared.dt_s
    times_s = (np.arange(prepared.n_bins, dtype=np.float64) + 0.5) * prepared.dt_s
    n_parts = int(np.clip(comb.period_bins, MIN_PARTS, MAX_PARTS))
    fold = Fold.of(clocked_starts(prepared, period_s), times_s, period_s=period_s, n_parts=n_parts)
    means = fold.means(prepared.x, prepared.weight)
    return float(np.dot(fold.counts(prepared.weight), means**2) / np.dot(prepared.x, prepared.x))
