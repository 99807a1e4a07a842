"""`Fits`: how well the jobs of a link fit on it by themselves; a problem that comes again is solved once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.compat.classes import place_classes
from pipeline.compat.levels import Excess, independent_levels
from pipeline.compat.relations import tie_periods

if TYPE_CHECKING:
    from pipeline.ranking.crossings import Crossing
    from pipeline.ranking.senders import Rhythm, Sender

__all__ = ["Fit", "Fits"]

SEED: Final = 0
"""Of the random starts with four jobs and more: the same problem has the same answer wherever it comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The best shifts of a link's periodic jobs for this link alone.

    Parameters
    ----------
    jobs
        The periodic jobs.
    shifts_ns
        One each.
    classes
        Jobs, by index, that keep a phase relative to each other.
    excess
        What a rate of theirs costs beside all traffic that has no period.
    excess_bps
        Mean excess over the capacity at these shifts.
    is_contended
        Whether the peaks of all together exceed the capacity.
    """

    jobs: tuple[str, ...]
    shifts_ns: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]
    excess: Excess
    excess_bps: float
    is_contended: bool

    @property
    def binds(self) -> bool:
        """Whether there are jobs with a period, and they may be in each other's way."""
        return self.is_contended and bool(self.jobs)


class Fits:
    """The fits of crossings, remembered by what the jobs send and not by their names."""

    def __init__(self, senders: Mapping[str, Sender]) -> None:
        self._senders = senders
        self._known: dict[tuple[float, tuple[tuple[int, float], ...]], Fit] = {}

    def fit(self, crossing: Crossing) -> Fit:
        """Return how the jobs of a crossing fit on each of its links."""
        members = sorted((self._senders[job].kind, load_frac, job) for job, load_frac in crossing.load_frac)
        problem = (crossing.capacity_bps, tuple((kind, load_frac) for kind, load_frac, _ in members))
        loads = [(self._senders[job], load_frac) for _, load_frac, job in members]
        if problem not in self._known:
            self._known[problem] = _solve(loads, capacity_bps=crossing.capacity_bps)
        return replace(self._known[problem], jobs=tuple(sender.job for sender, _ in loads if sender.rhythm))


def _solve(loads: Sequence[tuple[Sender, float]], *, capacity_bps: float) -> Fit:
    rhythms = [sender.rhythm.loaded(load_frac) for sender, load_frac in loads if sender.rhythm is not None]
    others = independent_levels(sender.taken(load_frac) for sender, load_frac in loads if sender.rhythm is None)
    excess = Excess(capacity_bps=capacity_bps, others=others)
    alone = Fit(
        jobs=(),
        shifts_ns=(0,) * len(rhythms),
        classes=tuple((i,) for i in range(len(rhythms))),
        excess=excess,
        excess_bps=float(excess(np.zeros(1))[0]),
        is_contended=sum(sender.peak_bps * load_frac for sender, load_frac in loads) > capacity_bps,
    )
    return _placed(rhythms, alone) if alone.is_contended and rhythms else alone


def _placed(rhythms: Sequence[Rhythm], alone: Fit) -> Fit:
    tied = tie_periods([rhythm.demand for rhythm in rhythms], [rhythm.beat for rhythm in rhythms])
    found = place_classes(tied.demands, pools=tied.pools, excess=alone.excess, rng=np.random.default_rng(SEED))
    return replace(
        alone,
        shifts_ns=found.placement.shifts_ns,
        classes=found.classes,
        excess_bps=found.placement.excess_bps,
    )
