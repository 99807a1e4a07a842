"""`behind`: a job's traffic after the slowest link of its path, where what arrives faster waits in a queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.phases import Phase, TrafficProfile

__all__ = ["behind"]


def behind(profile: TrafficProfile, *, capacity_bps: float) -> TrafficProfile:
    """Return what a link passes on of a job's traffic.

    A port that is faster than the slowest link of a job's path sends bursts above that link's capacity, which wait in
    its queue and leave at capacity: the job alone is then no excess, only longer Up.

    Parameters
    ----------
    profile
        As measured at the job's port.
    capacity_bps
        Of the slowest link, in bit/s.

    Returns
    -------
    TrafficProfile
        The same volume an iteration, no phase above the capacity; the profile itself if it has no period, never sends
        faster, or on average does, so that no queue would hold it.

    Notes
    -----
    A fluid first-in-first-out queue, periodic: the output is the capacity while something waits or the input exceeds
    it, else the input. Below capacity on average, the queue is empty at some time of each period, so that one period
    from empty finds its periodic state (Lindley 1952).
    """
    peak_bps = max((phase.rate_bps for phase in profile.phases), default=0.0)
    mean_bps = sum(phase.rate_bps * phase.width_s for phase in profile.phases) / (profile.period_s or 1.0)
    if profile.period_s is None or peak_bps <= capacity_bps or mean_bps >= capacity_bps:
        return profile
    queue = _Queue(capacity_bps)
    for phase in profile.phases:
        list(queue.served(phase))
    phases = tuple(_joined(part for phase in profile.phases for part in queue.served(phase)))
    return replace(
        profile,
        phases=phases,
        peak_bps=min(profile.peak_bps or capacity_bps, capacity_bps),
        duty_frac=sum(phase.width_s for phase in phases if phase.kind == "up") / profile.period_s,
        fold_bps=_served_fold(profile.fold_bps, capacity_bps),
    )


@dataclass(slots=True)
class _Queue:
    """What waits before a link, in bits."""

    capacity_bps: float
    backlog_bits: float = 0.0

    def served(self, phase: Phase) -> Iterator[Phase]:
        """Take in one phase of arrivals, and yield what leaves meanwhile."""
        spare_bps = self.capacity_bps - phase.rate_bps
        busy_s = phase.width_s if spare_bps <= 0 else min(phase.width_s, self.backlog_bits / spare_bps)
        self.backlog_bits = max(0.0, self.backlog_bits - spare_bps * busy_s)
        if busy_s > 0:
            yield self._leaving(phase, start_s=phase.start_s, width_s=busy_s)
        if busy_s < phase.width_s:
            yield replace(phase, start_s=phase.start_s + busy_s, width_s=phase.width_s - busy_s)

    def _leaving(self, phase: Phase, *, start_s: float, width_s: float) -> Phase:
        return replace(
            phase,
            kind="up",
            start_s=start_s,
            width_s=width_s,
            rate_bps=self.capacity_bps,
            peak_bps=self.capacity_bps,
            width_low_s=None,
            width_high_s=None,
        )


def _joined(phases: Iterable[Phase]) -> list[Phase]:
    """Return phases with neighbours of one kind and rate made one."""
    joined: list[Phase] = []
    for phase in phases:
        if joined and (joined[-1].kind, joined[-1].rate_bps) == (phase.kind, phase.rate_bps):
            joined[-1] = replace(joined[-1], width_s=joined[-1].width_s + phase.width_s)
        else:
            joined.append(phase)
    return joined


def _served_fold(fold_bps: NDArray[np.float64], capacity_bps: float) -> NDArray[np.float64]:
    served_bps = np.empty_like(fold_bps)
    backlog_bps = 0.0
    for i in [*range(fold_bps.size), *range(fold_bps.size)]:
        arrived_bps = backlog_bps + fold_bps[i]
        served_bps[i] = min(arrived_bps, capacity_bps)
        backlog_bps = arrived_bps - served_bps[i]
    return served_bps
