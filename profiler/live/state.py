"""`LiveProfile`: what is known of a counter at this moment."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from profiler.results import json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    from profiler.live.event import LiveEvent
    from profiler.phases import TrafficProfile

__all__ = ["LiveProfile", "Lock"]

Lock = Literal["searching", "confirming", "held", "paused", "lost", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveProfile:
    """A counter's profile and the state of its beat.

    Parameters
    ----------
    t_ns
        Time of the newest sample, UTC epoch ns.
    lock
        ``searching`` for a period; ``confirming`` one on fresh iterations; ``held``; or why iterations do not come.
    period_s
        The period that is followed; None while searching and after the end.
    phase_s
        Seconds into the present iteration.
    next_burst_ns
        Time at which the next iteration's first burst is expected.
    moved_s
        How far the bursts have moved from an even beat of the period since they have been followed.
    drift_frac
        The present length of an iteration over the period, less one.
    traffic
        The newest profile of the present beat; while searching, why there is none; None before the first look, and
        after a change until enough iterations of the new period were seen.
    events
        What happened, the newest last.
    """

    t_ns: int
    lock: Lock
    period_s: float | None = None
    phase_s: float | None = None
    next_burst_ns: int | None = None
    moved_s: float | None = None
    drift_frac: float | None = None
    traffic: TrafficProfile | None = None
    events: tuple[LiveEvent, ...] = ()
    label: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: those of the profile, and the state of the beat."""
        own = {name: getattr(self, name) for name in _OWN}
        traffic = {} if self.traffic is None else self.traffic.to_dict()
        events = [asdict(event) for event in self.events]
        document: dict[str, Any] = json_ready({**traffic, **own, "events": events})
        return document

    def __repr__(self) -> str:
        return f"LiveProfile({self.label}: {self.lock}, period {format_duration(self.period_s)})"


_OWN = ("label", "t_ns", "lock", "period_s", "phase_s", "next_burst_ns", "moved_s", "drift_frac")
