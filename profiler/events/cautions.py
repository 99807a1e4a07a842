"""What a reader of a profile made from collectives must know before relying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.events.bursts import typical_durations_ns
from profiler.events.repetition import NOWHERE
from profiler.units import format_count

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.events.iterations import Iterations

__all__ = ["cautions"]


def cautions(events: CollectiveEvents, iterations: Iterations) -> tuple[str, ...]:
    """Return what is odd about the collectives or their period, in words."""
    place = iterations.block.place
    n_outside = int(np.count_nonzero(place == NOWHERE))
    n_without_size = int(np.count_nonzero(np.isnan(events.bytes)))
    n_without_time = int(np.count_nonzero(np.isnan(events.duration_ns)))
    said = [
        (
            n_without_size == 0,
            "rates are message bytes over the time of the collectives: what that is on a link depends on NCCL's "
            "algorithm and on which ranks share a host",
        ),
        (
            n_without_size > 0,
            f"no size is known for {n_without_size} of {events.n_events} collectives: rates of phases that hold one "
            "are not known, which is not zero",
        ),
        (
            n_without_time > 0,
            f"no duration is known for {n_without_time} of {events.n_events} collectives: "
            f"{_without_time(events, iterations)}",
        ),
        (
            n_outside > 0,
            f"{format_count(n_outside, 'collective')} outside the repeating block: checkpoints, validation, logs",
        ),
        (
            iterations.one_collective,
            "one collective is all that repeats: an iteration may hold several of them",
        ),
        (
            iterations.n_blocks > 1,
            f"{iterations.n_blocks} equal blocks were taken for one iteration by the longer pause after the last: "
            f"if each is an iteration, every {iterations.n_blocks}th is followed by a pause",
        ),
    ]
    return tuple(text for applies, text in said if applies)


def _without_time(events: CollectiveEvents, iterations: Iterations) -> str:
    if typical_durations_ns(events, iterations) is None:
        return "Up and Down cannot be told apart, and the one phase is the whole iteration"
    return "they are taken to last as long as the same ones of other iterations"
