"""What becomes of a beat that is not heard: a pause, the end, or traffic without it; and when it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from profiler.live.event import EventKind, LiveEvent

if TYPE_CHECKING:
    from profiler.live.bins import Bins

__all__ = ["Absence", "Beat"]

PAUSED_AFTER: Final = 2.0
"""Periods of silence, or without samples, that are a pause and not only a late iteration."""
LOST_AFTER: Final = 12.0
"""In periods of traffic without the beat: by then five iterations twice as long have come, or a checkpoint is over."""
ENDED_AFTER: Final = 20.0
ENDED_AFTER_S: Final = 120.0
"""Silence for this many periods and seconds is the job's end: checkpoints and restarts are mostly shorter."""
GOOD_AGAIN: Final = 3
"""Iterations after a pause, each a period after the other, that tell that the job runs again."""

Beat = Literal["held", "paused", "lost", "ended"]


class Absence:
    """Tells pauses, losses and the end of one job; places are counted in bins.

    Parameters
    ----------
    bins
        Tell the time of a place.
    period_s
        The job's period.
    n_bins
        Bins of a period.

    Attributes
    ----------
    beat
        ``held`` while iterations come; else why they do not.
    since
        From which place on the beat has been missing; None while it is held.
    back
        The first of the iterations that have come again.
    silent_from
        From which place on there has been silence; None while there is traffic.
    """

    def __init__(self, bins: Bins, *, period_s: float, n_bins: int) -> None:
        self.beat: Beat = "held"
        self.since: float | None = None
        self.back: float | None = None
        self.silent_from: float | None = None
        self._bins = bins
        self._period_s = period_s
        self._n_bins = n_bins
        self._n_busy_bins = 0
        self._n_good = 0
        self._events: list[LiveEvent] = []

    def told(self) -> list[LiveEvent]:
        """Return what happened since this was last asked."""
        events, self._events = self._events, []
        return events

    def came(self, start: float, *, at: int, is_regular: bool) -> None:
        """Take an iteration that was followed."""
        self.silent_from, self._n_busy_bins = None, 0
        if self.since is None:
            return
        if not is_regular or self.back is None:
            self.back, self._n_good = start, 1
            return
        self._n_good += 1
        if self._n_good >= GOOD_AGAIN:
            gap_s = (self.back - self.since) * self._bins.bin_s
            self._tell("resumed", self.back, at=at, gap_s=gap_s)
            self.beat, self.since, self.back = "held", None, None

    def without_samples(self, *, at: int, overdue: float, last: float) -> None:
        """Take a period of which nothing is known, so many periods after an iteration should have begun."""
        self.silent_from = None
        if self.beat == "held" and overdue >= PAUSED_AFTER:
            self._miss("paused", last, at=at, reason="no samples")

    def silent(self, *, at: int, last_traffic: float) -> None:
        """Take a silent period; traffic was last seen at a place."""
        if self.silent_from is None:
            self.silent_from = float(at - self._n_bins)
        n_silent = at - self.silent_from
        if self.beat == "held" and n_silent >= PAUSED_AFTER * self._n_bins:
            self._miss("paused", last_traffic, at=at)
        is_end = n_silent >= ENDED_AFTER * self._n_bins and n_silent * self._bins.bin_s >= ENDED_AFTER_S
        if is_end and self.since is not None:
            self.beat = "ended"
            self._tell("ended", max(self.since, self.silent_from), at=at)

    def busy(self, *, at: int, n_new: int, missed: float) -> None:
        """Take new bins with traffic that has not the beat; an iteration was missed at a place."""
        self.silent_from = None
        self._n_busy_bins += n_new
        if self._n_busy_bins >= LOST_AFTER * self._n_bins and self.beat != "lost":
            self._miss("lost", missed, at=at, reason="traffic goes on without it")

    def forget_traffic(self) -> None:
        """Count traffic without the beat from now on only."""
        self._n_busy_bins = 0

    def _miss(self, beat: Literal["paused", "lost"], since: float, *, at: int, reason: str = "") -> None:
        self.beat = beat
        self.since = since if self.since is None else self.since
        self._tell(beat, since, at=at, reason=reason)

    def _tell(self, kind: EventKind, place: float, *, at: int, gap_s: float | None = None, reason: str = "") -> None:
        is_back = kind == "resumed"
        self._events.append(
            LiveEvent(
                kind=kind,
                t_ns=self._bins.at_ns(place),
                noticed_ns=self._bins.at_ns(at),
                old_period_s=None if is_back else self._period_s,
                new_period_s=self._period_s if is_back else None,
                gap_s=gap_s,
                reason=reason,
            )
        )
