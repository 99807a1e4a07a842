"""What happened to a job while it was watched."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from profiler.results import json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EventKind", "LiveEvent"]

EventKind = Literal["found", "changed", "paused", "resumed", "lost", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """Something that happened to the beat of a counter.

    ``t_ns`` is when it happened, ``noticed_ns`` the time of the sample that told (UTC epoch ns). ``old_period_s`` and
    ``new_period_s`` are the periods before and after; ``gap_s`` is how long the job had been silent or without its
    beat. What does not apply is None.
    """

    kind: EventKind
    t_ns: int
    noticed_ns: int
    old_period_s: float | None = None
    new_period_s: float | None = None
    gap_s: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document

    def __str__(self) -> str:
        return _TEXTS[self.kind](self) + (f" ({self.reason})" if self.reason else "")


_TEXTS: dict[EventKind, Callable[[LiveEvent], str]] = {
    "found": lambda event: f"period {format_duration(event.new_period_s)} found",
    "changed": lambda event: (
        f"period changed from {format_duration(event.old_period_s)} to {format_duration(event.new_period_s)}"
    ),
    "paused": lambda event: f"paused, period {format_duration(event.old_period_s)}",
    "resumed": lambda event: f"resumed after {format_duration(event.gap_s)}",
    "lost": lambda event: f"period {format_duration(event.old_period_s)} lost",
    "ended": lambda event: f"ended, period {format_duration(event.old_period_s)}",
}
