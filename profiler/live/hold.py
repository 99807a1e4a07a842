"""Which period is held: what detection and tracker say of it, and who is believed when they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from profiler.live.doubt import Doubt, is_octave, is_same
from profiler.live.event import LiveEvent
from profiler.live.follow import follow_newest, follow_profile
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from profiler.live.history import History
    from profiler.live.state import Lock
    from profiler.live.tracker import Tracker
    from profiler.phases import TrafficProfile

__all__ = ["Hold"]

SURE: Final = 0.9
MORE: Final = 1.5
"""A detection that is less sure must be made again from so many times as much before its period is followed."""
N_FRESH: Final = 3
"""Regular iterations that the detection has not seen, and that must come before a period counts as found."""
LONGER: Final = 8.0
"""A period that was found in a few seconds may have been wrong: detections of so many times as much may differ."""
REFINE_FRAC: Final = 0.15
"""A period told by a few iterations is corrected by so much without an event."""
GIVE_UP_AFTER: Final = 64.0
GIVE_UP_AFTER_S: Final = 60.0
"""A lost beat is waited for during so many periods, and so many seconds."""


class Hold:
    """The period of one counter, from the search for it to its end.

    Parameters
    ----------
    history
        Readings, up to the newest; a new tracker is shown some of them.

    Attributes
    ----------
    lock
        State of the beat.
    tracker
        Follows the period; None while there is none.
    traffic
        The newest profile of the present beat, or of the search.
    is_provisional
        Whether the period was told by a few iterations only, and no detection has confirmed it yet.
    since_ns
        Readings from before this time are of another beat.
    """

    def __init__(self, history: History) -> None:
        self.lock: Lock = "searching"
        self.tracker: Tracker | None = None
        self.traffic: TrafficProfile | None = None
        self.is_provisional = False
        self.since_ns = 0
        self._history = history
        self._doubt = Doubt()
        self._is_found = False
        self._n_seen = 0
        self._basis_ns = self._first_span_ns = 0

    @property
    def period_s(self) -> float | None:
        """The period: detection's figure if it has seen this one, for it averages more iterations."""
        if self.tracker is None:
            return None
        seen_s = None if self.traffic is None else self.traffic.period_s
        return seen_s if seen_s is not None and is_same(seen_s, self.tracker.mean_s) else self.tracker.mean_s

    def track(self, ends_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64]) -> list[LiveEvent]:
        """Take the bytes of the newest windows, and return what happened."""
        if self.tracker is None:
            return []
        events = self.tracker.add(ends_ns, delta_bytes)
        if not self._is_found:
            return self._confirm(self.tracker)
        if self.tracker.new_period_s is not None:
            return [*events, *self._turn(self.tracker, self.tracker.new_period_s)]
        if self.lock != self.tracker.beat:
            self._let_go(self.tracker)
        elif self.lock == "lost" and self._is_hopeless(self.tracker):
            self.search()
        return events

    def hear(self, found: TrafficProfile, *, from_ns: int, to_ns: int) -> list[LiveEvent]:
        """Take the answer of a detection on samples of a time, and return what changes."""
        if self.tracker is None or not self._is_found:
            self._consider(found, span_ns=to_ns - from_ns)
            return []
        if found.period_s is None:
            return self._unconfirmed(self.tracker) if found.status == "aperiodic" else []
        if is_same(found.period_s, self.tracker.mean_s):
            self._doubt.clear()
            self.traffic, self.is_provisional = found, False
            self._basis_ns = max(self._basis_ns, to_ns - from_ns)
            return self._replace(self.tracker, found) if self.lock == "lost" else []
        if any(is_same(other_s, self.tracker.mean_s) for other_s in found.other_periods_s):
            self._doubt.clear()
            return []
        if self.lock == "lost":
            self.search()
            self._consider(found, span_ns=to_ns - from_ns)
            return []
        if self.tracker.refutes(found.period_s):
            return []
        saw_more = to_ns - from_ns >= LONGER * self._basis_ns
        is_settled = self._doubt.add(found.period_s, from_ns=from_ns, to_ns=to_ns, saw_more=saw_more)
        is_open = self.is_provisional and not is_octave(found.period_s, self.tracker.mean_s)
        is_sure = self._doubt.n_alike > 1 or (found.confidence or 0.0) >= SURE
        return self._replace(self.tracker, found) if is_settled or (is_open and is_sure) else []

    def search(self) -> None:
        """Give up the period that is followed, if any."""
        self.tracker, self._is_found, self.is_provisional, self.lock = None, False, False, "searching"

    def _consider(self, found: TrafficProfile, *, span_ns: int) -> None:
        """Follow a period that is not found yet, if it is sure or was detected again."""
        before_s = None if self.traffic is None else self.traffic.period_s
        agrees = before_s is not None and found.period_s is not None and is_same(before_s, found.period_s)
        if not agrees:
            self._first_span_ns = span_ns
        self.traffic = found
        if found.period_s is None:
            if self.lock != "ended":
                self.search()
            return
        is_followed = self.tracker is not None and is_same(self.tracker.period_s, found.period_s)
        saw_more = agrees and span_ns >= MORE * self._first_span_ns
        if not is_followed and (saw_more or (found.confidence or 0.0) >= SURE):
            self._put_on(self._on_profile(found))
            self._basis_ns = span_ns
            self.lock = "searching" if self.tracker is None else "confirming"

    def _unconfirmed(self, tracker: Tracker) -> list[LiveEvent]:
        """Give up a period that a few iterations told, and that detection does not see in twice as many."""
        if not self.is_provisional:
            return []
        event = LiveEvent(
            kind="lost",
            t_ns=tracker.noticed_ns,
            noticed_ns=tracker.noticed_ns,
            old_period_s=self.period_s,
            reason="a few iterations told it, more do not confirm it",
        )
        self.search()
        return [event]

    def _confirm(self, tracker: Tracker) -> list[LiveEvent]:
        """Count the followed period as found once fresh iterations have kept it."""
        if tracker.beat != "held" or tracker.new_period_s is not None:
            self.search()
            return []
        if tracker.n_regular - self._n_seen < N_FRESH:
            return []
        self._is_found, self.lock = True, "held"
        self._doubt.clear()
        now_ns = tracker.noticed_ns
        return [LiveEvent(kind="found", t_ns=now_ns, noticed_ns=now_ns, new_period_s=self.period_s)]

    def _let_go(self, tracker: Tracker) -> None:
        """Take the tracker's word that the beat is missing, or back."""
        self.lock = tracker.beat
        if tracker.beat in ("lost", "ended"):
            self.since_ns = tracker.since_ns
        if tracker.beat == "ended":
            self.search()
            self.traffic, self.lock = None, "ended"

    def _is_hopeless(self, tracker: Tracker) -> bool:
        lost_s = (tracker.noticed_ns - tracker.since_ns) / NS_PER_S
        return lost_s >= max(GIVE_UP_AFTER_S, GIVE_UP_AFTER * tracker.period_s)

    def _turn(self, tracker: Tracker, new_s: float) -> list[LiveEvent]:
        """Follow the length that the newest iterations have."""
        is_new = not (tracker.left_beat and is_same(new_s, tracker.mean_s))
        new_s = new_s if is_new else tracker.mean_s
        events = self._told_change(tracker, new_s) if is_new else self._told_return(tracker)
        if is_new:
            self.since_ns, self.is_provisional, self.traffic = tracker.since_ns, True, None
        self._put_on(follow_newest(self._history.around(new_s, since_ns=tracker.since_ns), period_s=new_s))
        return events

    def _replace(self, tracker: Tracker, found: TrafficProfile) -> list[LiveEvent]:
        """Follow the period of a detection in place of the held one."""
        new_s = found.period_s or 0.0
        follower = self._on_profile(found)
        if follower is None:
            return []
        is_new = not is_same(new_s, tracker.mean_s)
        events = self._told_change(tracker, new_s) if is_new else self._told_return(tracker)
        self.traffic, self.is_provisional = found, False
        self._put_on(follower)
        return events

    def _told_change(self, tracker: Tracker, new_s: float) -> list[LiveEvent]:
        """Return the event of a change, unless it only corrects what a few iterations told."""
        if self.is_provisional and abs(new_s / tracker.mean_s - 1) <= REFINE_FRAC:
            return []
        now_ns = tracker.noticed_ns
        return [
            LiveEvent(
                kind="changed",
                t_ns=now_ns if tracker.new_period_s is None else tracker.since_ns,
                noticed_ns=now_ns,
                old_period_s=self.period_s,
                new_period_s=new_s,
            )
        ]

    def _told_return(self, tracker: Tracker) -> list[LiveEvent]:
        """Return the event of a beat that is back, if it had been missing."""
        if tracker.left_ns is None:
            return []
        since_ns = max(tracker.left_ns, tracker.since_ns)
        return [
            LiveEvent(
                kind="resumed",
                t_ns=since_ns,
                noticed_ns=tracker.noticed_ns,
                new_period_s=self.period_s,
                gap_s=(since_ns - tracker.left_ns) / NS_PER_S,
            )
        ]

    def _on_profile(self, found: TrafficProfile) -> Tracker | None:
        series = self._history.around(found.period_s or 0.0, since_ns=self.since_ns)
        return follow_profile(series, found)

    def _put_on(self, tracker: Tracker | None) -> None:
        """Follow with a tracker that was shown what is remembered; without one, search."""
        self._doubt.clear()
        if tracker is None:
            self.search()
            return
        self.tracker, self._n_seen, self.lock = tracker, tracker.n_regular, "held"
