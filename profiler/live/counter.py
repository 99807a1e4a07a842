"""`LiveCounter`: one counter watched for days: detection now and then, and the beat followed in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from profiler.live.event import LiveEvent
from profiler.live.history import History
from profiler.live.hold import Hold
from profiler.live.schedule import Schedule
from profiler.live.state import LiveProfile
from profiler.live.totals import Taken, Totals
from profiler.phases import TrafficProfile, profile
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from profiler.signals import RateSeries
    from profiler.store import Series

__all__ = ["LiveCounter"]

N_EVENTS: Final = 100
"""Events remembered; who wants all of days takes what `add` and `look` return."""
HELD_EVERY_S: Final = 60.0
HELD_EVERY: Final = 20.0
"""A held period is checked after so many seconds, sooner at first, but never within so many periods."""
IDLE_BPS: Final = 10e3
"""Background chatter stays below this."""
SILENCE_S: Final = 10.0
"""What comes after such a silence is looked at by itself too: the silence would dilute it."""
RENEW_AFTER: Final = 10.0
"""Iterations of a new period after which detection first looks at them."""


class LiveCounter:
    """Watches one cumulative counter of bytes.

    Nothing here reads a clock: time is that of the samples. `add` is cheap and to be called with every chunk; `look`
    runs the detection if it is due, and may be called whenever there is time for it.

    Parameters
    ----------
    series
        What the counter is.
    detect
        Finds period and phases.

    Notes
    -----
    A period is *found* once a detection named it (twice, unless it is sure) and three iterations that came later kept
    it. It is *changed* when the newest three or more iterations agree on another length (see `lengths`), when the beat
    was left and four iterations of another length came (see `repeat`), or when detection contradicts it for good (see
    `doubt`): a detection at a multiple or fraction of a held period changes nothing. Memory does not grow, and CPU is
    a detection every half minute at most, but for the first seconds of a search.

    Examples
    --------
    >>> import numpy as np
    >>> from profiler.store import Series
    >>> from profiler.synth import training_job
    >>> job = training_job(np.random.default_rng(1), period_s=0.25, duration_s=20.0, dt_s=0.005).series
    >>> counter = LiveCounter(Series(host="h1", device="eth0", direction="transmit", layer="netdev"))
    >>> total = np.concatenate(([0], np.cumsum(job.delta_bytes))).astype(np.int64)
    >>> for first in range(0, total.size, 50):
    ...     _ = counter.add(job.edges_ns[first : first + 50], total[first : first + 50]), counter.look()
    >>> counter.state().lock, round(counter.state().period_s, 2)
    ('held', 0.25)
    """

    def __init__(self, series: Series, *, detect: Callable[[RateSeries], TrafficProfile] = profile) -> None:
        self.series = series
        self._detect = detect
        self._totals = Totals(series)
        self._events: deque[LiveEvent] = deque(maxlen=N_EVENTS)
        self._forget()

    @property
    def nbytes(self) -> int:
        """Bytes that the remembered readings take."""
        return self._history.nbytes

    @property
    def label(self) -> str:
        """``host/device/port/direction``, without the parts that are empty."""
        named = self.series
        return "/".join(part for part in (named.host, named.device, named.port, named.direction) if part)

    def add(self, t_ns: ArrayLike, value: ArrayLike, *, flags: ArrayLike | None = None) -> list[LiveEvent]:
        """Take readings, and return what they tell.

        Parameters
        ----------
        t_ns
            Time of each reading, UTC epoch ns. Those not later than what was read before are left out; where they go
            on for a second the clock was set back, and watching begins anew, as after an hour without a reading.
        value
            Cumulative count in bytes.
        flags
            Bits of `profiler.schema.Flag`; none if not given.

        Raises
        ------
        BadInput
            If lengths differ, or a value is negative or not finite; no reading is taken then.
        """
        return [event for taken in self._totals.take(t_ns, value, flags=flags) for event in self._take(taken)]

    def _take(self, taken: Taken) -> list[LiveEvent]:
        broken = self._begin_anew(taken) if taken.broken else []
        self._schedule.start(int(taken.t_ns[0]))
        self._t_ns = int(taken.t_ns[-1])
        self._history.add(taken.t_ns, taken.value, flags=taken.flags)
        lock = self._hold.lock
        events = [*broken, *self._hold.track(taken.ends_ns, taken.delta_bytes)]
        if any(event.kind == "changed" for event in events):
            self._schedule.wait(self._t_ns, RENEW_AFTER * (self._hold.period_s or 0.0))
        elif self._hold.lock != lock and self._hold.lock != "held":
            self._schedule.restart(self._t_ns)
        self._events.extend(events)
        self._mark_silence(taken)
        return events

    def look(self) -> list[LiveEvent]:
        """Run the detection if it is due, and return what it tells."""
        if not self._schedule.is_due(self._t_ns) or self._hold.lock == "paused":
            return []
        found, series = self._newest_answer()
        from_ns, to_ns = (int(series.edges_ns[0]), int(series.edges_ns[-1])) if series.n_samples else (0, 0)
        events = self._hold.hear(found, from_ns=from_ns, to_ns=to_ns)
        if self._hold.lock == "held" and not self._hold.is_provisional:
            self._schedule.check_on(self._t_ns, least_s=HELD_EVERY * (self._hold.period_s or 0.0), most_s=HELD_EVERY_S)
        else:
            self._schedule.search_on(self._t_ns)
        self._events.extend(events)
        return events

    def state(self) -> LiveProfile:
        """Return what is known now."""
        hold, tracker = self._hold, self._hold.tracker
        is_beating = tracker is not None and hold.lock in ("held", "confirming")
        return LiveProfile(
            label=self.label,
            t_ns=self._t_ns,
            lock=hold.lock,
            period_s=hold.period_s,
            phase_s=tracker.phase_s if tracker is not None and is_beating else None,
            next_burst_ns=tracker.next_start_ns if tracker is not None and is_beating else None,
            moved_s=None if tracker is None else tracker.moved_s,
            drift_frac=None if tracker is None else tracker.drift_frac,
            traffic=hold.traffic,
            events=tuple(self._events),
        )

    def answer(self) -> TrafficProfile:
        """Return the profile of what is remembered of the present beat, made now."""
        found, _ = self._newest_answer()
        return found

    def _newest_answer(self) -> tuple[TrafficProfile, RateSeries]:
        """Return the profile of the shortest memory that has a period: since a silence, of minutes, of an hour.

        If none has, the profile of the newest minutes tells why.
        """
        since_ns = self._hold.since_ns
        series = self._history.recent(since_ns=since_ns)
        found = self._detect(series)
        if found.status == "periodic":
            return found, series
        fresh = self._history.recent(since_ns=self._awake_ns) if self._awake_ns > since_ns else None
        for other in (fresh, self._history.long(since_ns=since_ns)):
            answer = None if other is None else self._detect(other)
            if other is not None and answer is not None and answer.status == "periodic":
                return answer, other
        return found, series

    def _forget(self) -> None:
        self._history = History(self.series)
        self._schedule = Schedule()
        self._hold = Hold(self._history)
        self._t_ns = self._heard_ns = self._awake_ns = 0

    def _begin_anew(self, taken: Taken) -> list[LiveEvent]:
        """Forget what came before a break in time, and tell if a beat was lost by it."""
        now_ns = int(taken.t_ns[0])
        events = []
        if self._hold.lock in ("held", "paused"):
            lost_s = self._hold.period_s
            events = [
                LiveEvent(kind="lost", t_ns=self._t_ns, noticed_ns=now_ns, old_period_s=lost_s, reason=taken.broken)
            ]
        self._forget()
        return events

    def _mark_silence(self, taken: Taken) -> None:
        """Look again soon if traffic comes after a silence: a job may have begun."""
        rate_bps = taken.delta_bytes.sum() * BITS_PER_BYTE * NS_PER_S / max(1, self._t_ns - int(taken.t_ns[0]))
        if rate_bps < IDLE_BPS:
            return
        silent_s = (int(taken.t_ns[0]) - self._heard_ns) / NS_PER_S
        self._heard_ns = self._t_ns
        if silent_s >= SILENCE_S and self._hold.lock in ("searching", "ended"):
            self._awake_ns = int(taken.t_ns[0])
            self._hold.search()
            self._schedule.restart(self._t_ns)
