"""`is_interleaved`: whether measured jobs already keep out of each other's way, so that a plan should leave them so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

from pipeline.compat.relations import beat_of, relation_between
from pipeline.simulation.job import jitter_of

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["have_one_period", "is_interleaved"]

MAX_JITTER_FRAC: Final = 0.015
"""Iterations that collide now and then, or that nobody holds, spread by more."""

MAX_SCORE_LOSS: Final = 0.01


def is_interleaved(profiles: Sequence[TrafficProfile], *, score_now: float | None, score_best: float | None) -> bool:
    """Return whether measured jobs have one period within its errors, little jitter, and now as good as the best score.

    A plan for such jobs must not be another one: each slot is longer than the period it is for, so that following
    advice on what already follows advice would make them slower every time.

    Parameters
    ----------
    profiles
        Of the periodic jobs of a link.
    score_now, score_best
        As their phases were observed, and at the best shifts; None where that cannot be said.
    """
    if score_now is None or score_best is None or score_now < score_best - MAX_SCORE_LOSS:
        return False
    return all(map(_is_steady, profiles)) and have_one_period(profiles)


def have_one_period(profiles: Sequence[TrafficProfile]) -> bool:
    """Return whether all periods agree within their errors."""
    beats = [beat_of(profile, jitter_frac=jitter_of(profile)) for profile in profiles]
    relations = [relation_between(a, b) for a, b in combinations(beats, 2)]
    return all((one.p, one.q) == (1, 1) and one.is_plausible for one in relations)


def _is_steady(profile: TrafficProfile) -> bool:
    return profile.period_error_s is not None and jitter_of(profile) <= MAX_JITTER_FRAC
