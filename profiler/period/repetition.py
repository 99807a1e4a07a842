"""What the autocorrelation says: the repetition that a series shows most clearly, at whatever scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.period.evidence import MULTIPLES, propose, weigh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.period.autocorrelation import Autocorrelation
    from profiler.period.evidence import Evidence

__all__ = ["CONTRAST_ACCEPT", "PART_BINS", "Z_ACCEPT", "is_repetition", "strongest", "weigh_at"]

Z_ACCEPT: Final = 8.0
"""Repetition that is worth following. Random traffic of `profiler.synth` reaches it once in ten traces."""
CONTRAST_ACCEPT: Final = 0.1
KEEPS_FRAC: Final = 0.85
"""A period keeps nearly all the contrast of its multiples; the texture within bursts does not."""
MAX_PARTS: Final = 24
PART_BINS: Final = 8
SAME_FRAC: Final = 0.1
"""Candidates this close to each other are one period, seen at several scales."""


def strongest(scales: Sequence[Autocorrelation]) -> Evidence | None:
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


def is_repetition(evidence: Evidence | None) -> bool:
    """Return whether evidence is more than chance often gives."""
    return evidence is not None and evidence.z >= Z_ACCEPT and evidence.contrast >= CONTRAST_ACCEPT


def weigh_at(scales: Sequence[Autocorrelation], period_s: float, *, most: int) -> Evidence | None:
    """Return the evidence for a period at the coarsest scale that still resolves it, None if none does."""
    fit = [acf for acf in scales if period_s >= PART_BINS * acf.bin_s] or [
        acf for acf in scales[:1] if period_s >= 0.5 * PART_BINS * acf.bin_s
    ]
    return weigh(fit[-1], period_s / fit[-1].bin_s, most=most) if fit else None


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
