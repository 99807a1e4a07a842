"""`Timing`: how a recording is paced."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiler.errors import UsageError
from profiler.record.clock import SYSTEM_CLOCK, Clock
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How often to read, for how long, and by which clocks.

    Parameters
    ----------
    interval_s, duration_s
        Time between reads, and of all of them; None goes on until stopped.
    is_dithered
        Whether to read at a random place of each interval.
    refresh_s
        How often the devices copy their counters, by their names, as far as it was measured before.
    hand_over_s
        How often what was read is handed to the lake, which costs as much for a tick as for a thousand.

    Raises
    ------
    UsageError
        If it is over before a second read.
    """

    interval_s: float
    duration_s: float | None = None
    is_dithered: bool = False
    refresh_s: Mapping[str, float] = field(default_factory=dict)
    hand_over_s: float = 1.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        if self.duration_s is not None and self.duration_s < self.interval_s:
            raise UsageError(
                f"{format_duration(self.duration_s)} is shorter than an interval of {format_duration(self.interval_s)}:"
                " one read has no rate; go on for longer, or read more often"
            )

    def dither(self) -> Callable[[], float]:
        """Return what puts a tick off by a part of an interval."""
        return random.Random().random if self.is_dithered else lambda: 0.0  # noqa: S311 - no secret
