"""Counters that two jobs share: each one followed in what the other leaves over."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

from profiler.period.choice import weighed
from profiler.period.clock import clocked_starts
from profiler.period.follow import follow
from profiler.period.others import Heard, are_a_sum, hear_other, is_multiple, leaves_little, without_job

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

    from profiler.period.choice import Choice
    from profiler.period.estimate import PeriodEstimate
    from profiler.period.prepare import Prepared
    from profiler.signals import UniformRate

__all__ = ["parted"]

MIN_SHARED_BINS: Final = 8.0
"""Of shorter periods the folded iteration is too coarse to hear a second job in it."""
MIN_PART_EVIDENCE: Final = 3.0
PART_FRAC: Final = 0.7
"""One of the two jobs has at least this part of the evidence of their common multiple; parts of an iteration do not."""
MAX_PART: Final = 5
WHOLE_FRAC: Final = 0.01


def parted(
    answer: PeriodEstimate,
    *,
    uniform: UniformRate,
    prepared: Prepared,
    choice: Choice,
    shunned_s: Collection[float] = (),
) -> PeriodEstimate:
    """Return the answer with a second job on the same counter if one is heard, each followed by itself.

    Parameters
    ----------
    answer
        What was found without a second job in mind.
    uniform, prepared
        The series.
    choice
        What the answer rests on.
    shunned_s
        Periods in seconds at which the gaps between polls themselves repeat.
    """
    if choice.period_s < MIN_SHARED_BINS * prepared.dt_s or (answer.period_s is None and choice.comb is None):
        return answer
    pair = _pair(choice, prepared)
    if pair is None and _is_all(answer, prepared):
        return answer
    first = choice if pair is None else pair[0]
    starts_s = clocked_starts(prepared, first.period_s) if first.comb else answer.starts_s
    heard = pair[1] if pair else hear_other(prepared, starts_s, period_s=first.period_s, shunned_s=shunned_s)
    found = None if heard is None else _each_alone(uniform, first, heard, starts_s=starts_s)
    return answer if found is None else found


def _is_all(answer: PeriodEstimate, prepared: Prepared) -> bool:
    return answer.period_s is not None and leaves_little(prepared, answer.starts_s, period_s=answer.period_s)


def _pair(choice: Choice, prepared: Prepared) -> tuple[Choice, Heard] | None:
    """Return two jobs of which the chosen period is but the common multiple, None if it is one job's."""
    if choice.beyond_doubt or not choice.rivals or choice.rivals[0].evidence < PART_FRAC * choice.evidence:
        return None
    for one, other in combinations(choice.rivals, 2):
        periods_s = [comb.period_bins * prepared.dt_s for comb in (one, other)]
        parts = [choice.period_s / period_s for period_s in periods_s]
        whole = [max(1, round(part)) for part in parts]
        are_whole = all(abs(part / n - 1) < WHOLE_FRAC for part, n in zip(parts, whole, strict=True))
        is_common = are_whole and min(whole) > 1 and max(whole) <= MAX_PART and math.gcd(*whole) == 1
        weaker, stronger = sorted((one.evidence, other.evidence))
        if not is_common or weaker < MIN_PART_EVIDENCE or stronger < PART_FRAC * choice.evidence:
            continue
        if are_a_sum(prepared, one_s=periods_s[0], other_s=periods_s[1], whole_s=choice.period_s):
            second = weighed(other, [other], prepared=prepared)
            heard = Heard(choice=second, starts_s=clocked_starts(prepared, periods_s[1]))
            return weighed(one, [one], prepared=prepared), heard
    return None


def _each_alone(
    uniform: UniformRate, first: Choice, heard: Heard, *, starts_s: NDArray[np.float64]
) -> PeriodEstimate | None:
    second_alone = without_job(uniform, starts_s, period_s=first.period_s)
    first_alone = without_job(uniform, heard.starts_s, period_s=heard.choice.period_s)
    second = follow(*second_alone, choice=heard.choice, is_shared=True)
    found = follow(*first_alone, choice=first, is_shared=True)
    if second.period_s is None or found.period_s is None:
        return None
    if is_multiple(second.period_s, found.period_s, duration_s=uniform.rate_bps.size * uniform.dt_s):
        return None
    return replace(found, others=(second,))
