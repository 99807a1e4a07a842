"""`Beat`, `group_beat`: the period of a group, from what its ports show alone or, if that is too little, together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.ports import detect_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.discover.ports import SeenPort

__all__ = ["Beat", "beat_alone", "beat_together"]

SAME_FRAC: Final = 0.01
"""Periods of ports of one job, each found alone, differ by less."""
MOST_TOGETHER: Final = 8
"""More ports make a common period hardly surer, and take longer."""
UNTOLD: Final = 0.85
"""Confidence that ports beat together at one of several aliases: `profiler.ports` says no more of one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The period of a job in seconds, None if only its aliases are known, and how sure it is."""

    period_s: float | None
    alias_periods_s: tuple[float, ...] = ()
    confidence: float


def beat_alone(ports: Sequence[SeenPort]) -> Beat:
    """Return the period that most of the ports that beat alone have, each counted by its confidence."""
    beating = [port for port in ports if port.period_s is not None]
    periods_s = np.array([port.period_s for port in beating])
    weights = np.array([port.confidence or 0.0 for port in beating])
    is_same = np.abs(periods_s[:, None] / periods_s - 1) <= SAME_FRAC
    most = is_same[int(np.argmax(is_same @ weights))]
    return Beat(period_s=float(np.median(periods_s[most])), confidence=float(weights[most].max()))


def beat_together(ports: Sequence[SeenPort]) -> Beat | str:
    """Return the period that ports have together of which none beats alone, or why they have none.

    A period whose aliases these ports cannot tell apart is a beat all the same.
    """
    estimate = detect_together([port.to_series() for port in ports[:MOST_TOGETHER]])
    if estimate.status == "periodic" and estimate.period_s is not None:
        return Beat(period_s=estimate.period_s, confidence=estimate.confidence or 0.0)
    if estimate.status == "undersampled" and estimate.alias_periods_s:
        return Beat(period_s=None, alias_periods_s=estimate.alias_periods_s, confidence=UNTOLD)
    return estimate.reason
