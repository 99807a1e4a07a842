"""Answers against truth: right, harmonic, multiple, wrong, silent, or invented."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from profiler.synth import PERIODIC, UNDERSAMPLED
from tests.bench.answers import FAILED
from tests.bench.masks import log_otsu_up, overlap
from tests.bench.traces import TWO_JOBS

if TYPE_CHECKING:
    from tests.bench.answers import Answer
    from tests.bench.traces import Trace, TraceKey

__all__ = ["KINDS", "RIGHT_FRAC", "Judged", "Kind", "Score", "count_extra", "judge", "kind_of", "total"]

Kind = Literal["right", "silent", "harmonic", "multiple", "other", "invented", "failed"]
KINDS: Final[tuple[Kind, ...]] = ("right", "silent", "harmonic", "multiple", "other", "invented", "failed")
RIGHT_FRAC: Final = 0.02
MAX_RATIO: Final = 20
"""The largest whole number by which a period is looked for as a harmonic or multiple of the truth."""
SAMPLES_A_SPEED: Final = 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One answer, judged.

    ``n_found`` of the periods on the counter were among those answered, and ``n_extra`` of those answered after the
    first are of no job on it.
    """

    key: TraceKey
    kind: Kind
    truth_s: tuple[float, ...]
    found_s: tuple[float, ...]
    n_found: int
    n_extra: int
    n_samples: int
    spent_s: float
    profile_s: float | None
    confidence: float | None
    status: str
    reason: str
    up_overlap: float | None
    otsu_overlap: float | None

    @property
    def is_answer(self) -> bool:
        """Whether a period was given."""
        return self.kind not in ("silent", "failed")

    @property
    def has_both(self) -> bool:
        """Whether all of several jobs were found, each by a period of its own."""
        n_jobs = len(self.truth_s)
        return n_jobs > 1 and self.n_found == n_jobs and len(self.found_s) >= n_jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a method made of many traces.

    ``n_of`` and ``right_frac`` count the periodic traces, not those whose period the samples cannot show; overlaps are
    means over the right answers. All are None where there is nothing to count.
    """

    n_periodic: int
    n_silent_wanted: int
    n_undersampled: int
    right_frac: float | None
    n_of: dict[Kind, int]
    n_invented: int
    n_undersampled_wrong: int
    n_extra: int
    n_both: int
    n_two_jobs: int
    ms_per_trace: float
    ms_per_10k: float
    profile_ms_per_10k: float | None
    up_overlap: float | None
    otsu_overlap: float | None


def judge(trace: Trace, answer: Answer) -> Judged:
    """Return how an answer fares against the truth of its trace."""
    ours, otsu = _overlaps(trace, answer)
    return Judged(
        key=trace.key,
        kind="failed" if answer.status == FAILED else kind_of(answer.periods_s[:1], truth_s=trace.periods_s),
        truth_s=trace.periods_s,
        found_s=answer.periods_s,
        n_found=sum(any(_is_near(found_s, truth_s) for found_s in answer.periods_s) for truth_s in trace.periods_s),
        n_extra=count_extra(answer.periods_s, truth_s=trace.periods_s),
        n_samples=trace.series.n_samples,
        spent_s=answer.spent_s,
        profile_s=answer.profile_s,
        confidence=answer.confidence,
        status=answer.status,
        reason=answer.reason,
        up_overlap=ours,
        otsu_overlap=otsu,
    )


def kind_of(found_s: Sequence[float], *, truth_s: Sequence[float]) -> Kind:
    """Return what the first period of an answer is, given all that are on the counter.

    Examples
    --------
    >>> kind_of([0.5], truth_s=[1.0]), kind_of([3.01], truth_s=[1.0, 0.7]), kind_of([], truth_s=[1.0])
    ('harmonic', 'multiple', 'silent')
    """
    if not found_s:
        return "silent"
    if not truth_s:
        return "invented"
    if any(_is_near(found_s[0], one_s) for one_s in truth_s):
        return "right"
    ratios = range(2, MAX_RATIO + 1)
    if any(_is_near(found_s[0] * ratio, one_s) for one_s in truth_s for ratio in ratios):
        return "harmonic"
    if any(_is_near(found_s[0], one_s * ratio) for one_s in truth_s for ratio in ratios):
        return "multiple"
    return "other"


def count_extra(found_s: Sequence[float], *, truth_s: Sequence[float]) -> int:
    """Return how many of the periods after the first are of no job."""
    return sum(not any(_is_near(one_s, true_s) for true_s in truth_s) for one_s in found_s[1:])


def total(judged: Iterable[Judged]) -> Score:
    """Return the score over all answers of a method."""
    all_of = list(judged)
    apart = [one for one in all_of if one.key.family in UNDERSAMPLED]
    periodic = [one for one in all_of if one.key.family in PERIODIC]
    silent_wanted = [one for one in all_of if not one.truth_s]
    n_of: dict[Kind, int] = {kind: sum(one.kind == kind for one in periodic) for kind in KINDS}
    n_samples = max(1, sum(one.n_samples for one in all_of))
    profiled = [one.profile_s for one in all_of if one.profile_s is not None]
    return Score(
        n_periodic=len(periodic),
        n_silent_wanted=len(silent_wanted),
        n_undersampled=len(apart),
        right_frac=n_of["right"] / len(periodic) if periodic else None,
        n_of=n_of,
        n_invented=sum(one.is_answer for one in silent_wanted),
        n_undersampled_wrong=sum(one.kind not in ("right", "silent") for one in apart),
        n_extra=sum(one.n_extra for one in all_of),
        n_both=sum(one.has_both for one in all_of),
        n_two_jobs=sum(one.key.family == TWO_JOBS for one in all_of),
        ms_per_trace=1e3 * sum(one.spent_s for one in all_of) / max(1, len(all_of)),
        ms_per_10k=1e3 * SAMPLES_A_SPEED * sum(one.spent_s for one in all_of) / n_samples,
        profile_ms_per_10k=1e3 * SAMPLES_A_SPEED * sum(profiled) / n_samples if profiled else None,
        up_overlap=_mean([one.up_overlap for one in periodic if one.kind == "right"]),
        otsu_overlap=_mean([one.otsu_overlap for one in periodic if one.kind == "right"]),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known, None if none are."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _is_near(found_s: float, truth_s: float) -> bool:
    return abs(found_s / truth_s - 1) < RIGHT_FRAC


def _overlaps(trace: Trace, answer: Answer) -> tuple[float | None, float | None]:
    """Return the overlap of the answer's Up mask, and of log-Otsu's, with the truth, over windows that are known."""
    if answer.up is None or not answer.periods_s:
        return None, None
    known = trace.series.known
    truth = trace.up[known]
    return overlap(answer.up[known], truth), overlap(log_otsu_up(trace.series)[known], truth)
