"""Which of two combs is the iteration, where both have evidence and one period is a multiple of the other.

Where bursts are nearly alike, or the clock wanders, the lines that tell a period from its double are weak. Then the
cycles themselves are asked: whether shorter ones differ from one another in turn, and which ones are more alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.cycles import MIN_TRACKED_BINS, track
from profiler.period.groups import group_order

if TYPE_CHECKING:
    from profiler.period.comb import Comb
    from profiler.period.prepare import Prepared

__all__ = ["settled"]

LONGER_FRAC: Final = 0.4
"""A longer period with this part of the evidence is the iteration if the shorter cycles differ in turn."""
SHORTER_FRAC: Final = 0.85
"""A shorter period with this part of the evidence is the iteration if its cycles do not differ in turn."""
UNDISTURBED_FRAC: Final = 0.3
"""A shorter period with this part of it is, if its worst cycles are more alike than the longer one's: what comes once
in several iterations, as a checkpoint does, spoils a longer cycle and one in several shorter ones."""
MORE_ALIKE: Final = 0.08
ALIKE: Final = 0.8
WORST: Final = 0.1
MAX_ORDER: Final = 8
SAME_FRAC: Final = 0.02


def settled(combs: list[Comb], prepared: Prepared, *, disturbed: bool) -> list[Comb]:
    """Return combs, best first, with a rival of the best one in front if the cycles speak for it.

    Parameters
    ----------
    combs
        Combs of the series, that with most evidence first.
    prepared
        The series.
    disturbed
        Whether rare events disturb some of its iterations.
    """
    for rival in combs[1:]:
        if _order(rival, combs[0]) > 1:
            wins = rival.evidence >= LONGER_FRAC * combs[0].evidence and _differ(combs[0], rival, prepared)
        elif _order(combs[0], rival) > 1:
            wins = _is_beneath(rival, combs[0], prepared, disturbed=disturbed)
        else:
            continue
        if wins:
            return [rival, *(comb for comb in combs if comb is not rival)]
    return combs


def _is_beneath(shorter: Comb, longer: Comb, prepared: Prepared, *, disturbed: bool) -> bool:
    """Return whether the shorter one of two periods is the iteration, though the longer one has more evidence."""
    if shorter.evidence < UNDISTURBED_FRAC * longer.evidence or shorter.period_bins < MIN_TRACKED_BINS:
        return False
    if disturbed and _worst(shorter, prepared) > max(ALIKE, _worst(longer, prepared) + MORE_ALIKE):
        return True
    return shorter.evidence >= SHORTER_FRAC * longer.evidence and not _differ(shorter, longer, prepared)


def _worst(comb: Comb, prepared: Prepared) -> float:
    """Return how well all but the worst tenth of a comb's cycles follow their common shape, -1 to 1."""
    return float(np.quantile(track(prepared, comb.period_bins * prepared.dt_s).fit, WORST))


def _differ(shorter: Comb, longer: Comb, prepared: Prepared) -> bool:
    """Return whether cycles of the shorter period differ in turn, as many as make up the longer one."""
    if shorter.period_bins < MIN_TRACKED_BINS:
        return False
    period_s = shorter.period_bins * prepared.dt_s
    cycles = track(prepared, period_s)
    return group_order(prepared, cycles, period_s=period_s, orders=[_order(longer, shorter)]).order > 1


def _order(comb: Comb, of: Comb) -> int:
    """Return how many times the other comb's period makes this one's, 0 if it is no whole number up to `MAX_ORDER`."""
    order = comb.period_bins / of.period_bins
    near = round(order)
    return near if 1 <= near <= MAX_ORDER and abs(order / near - 1) < SAME_FRAC else 0
