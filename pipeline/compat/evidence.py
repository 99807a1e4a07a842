"""`Evidence`: the figures on which jobs that could be shifted are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.compat.hold import Slip

__all__ = ["MIN_GAIN", "ROUNDING_FRAC", "Evidence"]

MIN_GAIN: Final = 0.01
"""A shift helps if it saves at least this fraction of the capacity over chance."""

MIN_SHARE_OF_PACING: Final = 0.5
"""A shift that gains less than this share of what pacing would gain is not enough if pacing is worth it."""

ROUNDING_FRAC: Final = 1e-9
"""Rates are sums over thousands of edges: what differs by a smaller fraction than this is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The scores of jobs that could be shifted, how long their shifts last, and the longest of their periods.

    ``score_now`` is None where clocks do not tell it. ``slip`` is how far their phases move in an iteration;
    ``unmeasured`` names the jobs whose jitter is not known, so that it was taken to be ``taken_jitter_frac``.
    ``stretched`` names the job that slots of ``slot_s`` stretch most, by ``stretch_frac`` and ``stretch_s``.
    """

    score_now: float | None
    score_best: float
    score_random: float
    score_paced: float
    hold_s: float
    shares_beat: bool
    period_s: float
    slip: Slip
    unmeasured: tuple[str, ...]
    taken_jitter_frac: float
    stretched: str
    stretch_frac: float
    stretch_s: float
    slot_s: float

    @property
    def gain(self) -> float:
        """What shifts save over chance, as a fraction of the capacity."""
        return self.score_best - self.score_random

    @property
    def is_pacing_better(self) -> bool:
        """Whether jobs held to slots would gain much more than shifts alone."""
        return self.gain < MIN_SHARE_OF_PACING * (self.score_paced - self.score_random)

    @property
    def is_clear(self) -> bool:
        """Whether at their best shifts the jobs never ask for more than the link carries."""
        return self.score_best >= 1 - ROUNDING_FRAC

    @property
    def is_quiet(self) -> bool:
        """Whether the jobs hardly ever collide, whatever their shifts."""
        return self.score_random >= 1 - MIN_GAIN

    def lasts(self, needed_s: float) -> bool:
        """Return whether shifts help, and for as long as needed though nobody holds them."""
        return self.gain >= MIN_GAIN and self.hold_s >= needed_s
