"""Where a comb of lines and the repetition of a series disagree: which of them to doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.period.evidence import MULTIPLES, weigh
from profiler.period.repetition import CONTRAST_ACCEPT, PART_BINS, Z_ACCEPT, is_repetition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.period.autocorrelation import Autocorrelation
    from profiler.period.comb import Comb
    from profiler.period.evidence import Evidence

__all__ = ["Z_STRONG", "is_beyond", "is_coarse_part", "is_texture"]

SAME_FRAC: Final = 0.1
"""Candidates this close to each other are one period, seen at several scales."""
TEXTURE_FRAC: Final = 0.5
"""What keeps less than this of the contrast of a longer period is texture within its bursts."""
TEXTURE_BINS: Final = 4.0
"""Bursts shorter than a bin fall into one or two of them in turn; some scale of at least this many shows them alike."""
Z_STRONG: Final = 40.0
BEYOND_FRAC: Final = 0.6
CLEARER: Final = 2.5
BEAT_CYCLES: Final = 6.5
"""More bursts than this in an iteration are hardly ever alike, but for a pause."""
LATTICE_EVIDENCE: Final = 20.0
PART_EVIDENCE: Final = 4.0
COARSEST_BINS: Final = 3.0
MAX_PART_ORDER: Final = 12.0


def is_texture(comb: Comb, repetition: Evidence | None, *, scales: Sequence[Autocorrelation], dt_s: float) -> bool:
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


def is_beyond(comb: Comb, repetition: Evidence, *, seen: Evidence | None, dt_s: float) -> bool:
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


def is_coarse_part(comb: Comb, repetition: Evidence | None, *, dt_s: float) -> bool:
    """Return whether a comb, and the repetition of some multiple near whole bins, show one period of a few bins."""
    if repetition is None or not is_repetition(repetition) or comb.evidence < PART_EVIDENCE:
        return False
    order = repetition.period_s / (comb.period_bins * dt_s)
    is_multiple = abs(order / round(order) - 1) < SAME_FRAC / order if order >= 1 else False
    return COARSEST_BINS < comb.period_bins < PART_BINS and order < MAX_PART_ORDER and is_multiple
