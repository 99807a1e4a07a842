"""What a method says of a trace, in the one form in which all are judged."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from profiler.errors import OffbeatError
from profiler.period import detect_period
from profiler.phases import extract_phases, up_mask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from profiler.signals import RateSeries
    from tests.bench.peers import Peer

__all__ = ["FAILED", "Answer", "ours", "theirs"]

FAILED: Final = "failed"
MOST_JOBS: Final = 2
FAULTS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OffbeatError, Warning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A method's answer and the CPU time that it took; ``periods_s`` is empty where it is silent.

    ``up`` tells for every window whether traffic is Up in it; methods that only find periods leave it None.
    """

    periods_s: tuple[float, ...]
    spent_s: float
    confidence: float | None = None
    status: str = ""
    reason: str = ""
    profile_s: float | None = None
    up: NDArray[np.bool_] | None = None


def ours(series: RateSeries) -> Answer:
    """Return the answer of our detector, and its Up mask; the periods of several jobs in its own order.

    A crash, or a warning on the console, is an answer too, the worst: status `FAILED`, with what went wrong.
    """
    start_s = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            estimate = detect_period(series)
            found_s = time.process_time()
            profile = extract_phases(series, estimate)
            end_s = time.process_time()
            up = up_mask(series, profile)
        except FAULTS as error:
            return Answer(periods_s=(), spent_s=0.0, status=FAILED, reason=f"{type(error).__name__}: {error}")
    found = (estimate.period_s, *(other.period_s for other in estimate.others))
    return Answer(
        periods_s=tuple(period_s for period_s in found if period_s is not None),
        spent_s=found_s - start_s,
        confidence=profile.confidence,
        status=estimate.status,
        reason=estimate.reason,
        profile_s=end_s - start_s,
        up=up,
    )


def theirs(peer: Peer, series: RateSeries) -> Answer:
    """Return the answer of another method: the first two periods of those that it lists, as there may be two jobs."""
    given = peer.prepare(series)
    start_s = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        periods_s = peer.find(*given)
    return Answer(periods_s=periods_s[:MOST_JOBS], spent_s=time.process_time() - start_s)
