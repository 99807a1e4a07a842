"""Counters read at a steady pace."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from profiler.errors import OffbeatError, SourceBroken, UsageError
from profiler.record.clock import SYSTEM_CLOCK, Clock, prompt_wakes
from profiler.record.readings import Chunk, Readings
from profiler.record.schedule import Schedule
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from profiler.collectors.base import AnyCounter

__all__ = ["COME_BACK_S", "MIN_INTERVAL_S", "Sampler"]

MIN_INTERVAL_S: Final = 0.0005
"""Shorter intervals are missed more often than kept: a wake-up alone is some 70 µs late at the median."""

COME_BACK_S: Final = 30.0
"""How long it waits for the first of its counters once all are gone: to load a driver anew takes up to half of this."""

MAX_LAPSES: Final = 3
"""A counter that fails more often for a moment costs the others their ticks no more."""

_RETRY_EVERY_S: Final = 1.0
"""How often counters that went away are looked for: opening one that is not there costs some ten microseconds."""

_NAP_S: Final = 0.05
"""Longest sleep, so that a stop is heeded at once whatever the interval."""


class Sampler:
    """Reads counters at a steady pace.

    Ticks are those of a `Schedule`; the sample after one that was missed is flagged. A counter that can no longer be
    read is dropped, and the others go on; once it can be read again, such as after its driver was loaded anew, it goes
    on too, its first sample flagged.

    Parameters
    ----------
    counters
        Open counters; the caller closes them.
    interval_s
        Time from tick to tick, in seconds, at least 0.5 ms.
    clock
        Clocks to go by.
    chunk_s
        Time after which ticks are handed over, in seconds.
    dither
        Returns by which part of an interval, below 1, a tick is put off. Reads at a steady pace cannot tell a period
        shorter than two intervals from a longer one; put off at random, they can.

    Attributes
    ----------
    counters : tuple of AnyCounter
        Counters that can be read now.
    broken : list of OffbeatError
        Why others cannot, or could not.
    returned : list of str
        Which counters came back, and after how long.
    n_ticks, n_missed : int
        Ticks read, and ticks missed.
    started_ns : int
        When the first tick was due, on the monotonic clock.
    anchor_wall_ns, anchor_monotonic_ns : int
        One instant on both clocks.

    Raises
    ------
    UsageError
        If the interval is too short.

    Examples
    --------
    ::

        sampler = Sampler(counters, interval_s=0.001)
        for chunk in sampler.chunks(stop=lambda: False, duration_s=20.0):
            ...  # chunk.t_ns[i], chunk.value[i] and chunk.flags[i] are those of chunk.counters[i]
        if not sampler.counters:
            raise sampler.broken[-1]
    """

    def __init__(
        self,
        counters: Sequence[AnyCounter],
        *,
        interval_s: float,
        clock: Clock = SYSTEM_CLOCK,
        chunk_s: float = 0.25,
        dither: Callable[[], float] = lambda: 0.0,
    ) -> None:
        if interval_s < MIN_INTERVAL_S:
            raise UsageError(
                f"interval of {interval_s * 1e3:g} ms: too short to be kept; take {MIN_INTERVAL_S * 1e3:g} ms or more"
            )
        self.counters = tuple(counters)
        self.broken: list[OffbeatError] = []
        self.returned: list[str] = []
        self.n_ticks = 0
        self.n_missed = 0
        self.started_ns = 0
        self.anchor_wall_ns, self.anchor_monotonic_ns = clock.anchor()
        self._clock = clock
        self._dither = dither
        self._interval_ns = round(interval_s * NS_PER_S)
        self._ticks_a_chunk = max(1, round(chunk_s / interval_s))
        self._order = self.counters
        self._away_since_ns: dict[AnyCounter, int] = {}
        self._n_lapses: Counter[AnyCounter] = Counter()
        self._tried_ns = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds of ticks, read and missed."""
        return (self.n_ticks + self.n_missed) * self._interval_ns / NS_PER_S

    def describe(self) -> str:
        """Return what was read so far, for a line of progress."""
        missed_frac = self.n_missed / max(1, self.n_ticks + self.n_missed)
        return f"{self.n_ticks} ticks of {len(self.counters)} counters, {missed_frac:.2%} missed"

    def chunks(self, *, stop: Callable[[], bool], duration_s: float | None = None) -> Iterator[Chunk]:
        """Yield what was read, until told to stop, the time is over, or no counter is left for `COME_BACK_S`.

        Parameters
        ----------
        stop
            Asked before each tick and at least each 50 ms; once true, the ticks read so far are the last chunk.
        duration_s
            Time to go on, in seconds; None goes on until stopped.
        """
        with prompt_wakes():
            yield from self._chunks(stop, duration_s)

    def _chunks(self, stop: Callable[[], bool], duration_s: float | None) -> Iterator[Chunk]:
        now_ns, dither = self._clock.monotonic_ns, self._dither
        schedule = Schedule(start_ns=now_ns(), interval_ns=self._interval_ns)
        self.started_ns = schedule.start_ns
        n_ticks = None if duration_s is None else round(duration_s * NS_PER_S) // self._interval_ns + 1
        readings, is_after_gap = self._new_readings(), False
        while self.counters or self._may_come_back():
            due_ns = schedule.next_ns(now_ns(), put_off=dither())
            is_over = n_ticks is not None and schedule.i_tick >= n_ticks
            if is_over or not self._wait_until(due_ns, stop):
                break
            try:
                begun_ns = readings.read_tick()
            except (OSError, ValueError) as error:
                yield from self._chunk(readings)
                self._drop_broken(readings.failed, error)
                self.n_missed += schedule.keep(now_ns()) + 1
                readings, is_after_gap = self._new_readings(), True
                continue
            n_missed = schedule.keep(begun_ns)
            self.n_missed += n_missed
            readings.end_tick(is_after_gap=is_after_gap or n_missed > 0)
            is_after_gap = False
            if len(readings) == self._ticks_a_chunk:
                yield from self._chunk(readings)
                readings = self._new_readings(returning=self._take_back())
        yield from self._chunk(readings)

    def _wait_until(self, deadline_ns: int, stop: Callable[[], bool]) -> bool:
        """Sleep until a time; return False if told to stop before."""
        while not stop():
            left_s = (deadline_ns - self._clock.monotonic_ns()) / NS_PER_S
            if left_s <= _NAP_S:
                if left_s > 0:
                    self._clock.sleep_s(left_s)
                return True
            self._clock.sleep_s(_NAP_S)
        return False

    def _new_readings(self, *, returning: Collection[AnyCounter] = ()) -> Readings:
        return Readings(self.counters, self._clock.monotonic_ns, returning=returning)

    def _chunk(self, readings: Readings) -> Iterator[Chunk]:
        if len(readings) and self.counters:
            self.n_ticks += len(readings)
            yield readings.to_chunk(offset_ns=self.anchor_wall_ns - self.anchor_monotonic_ns)

    def _drop_broken(self, failed: AnyCounter | None, cause: Exception) -> None:
        """Try each counter once more, for when a device goes all its counters go; name the one that failed at least."""
        now_ns = self._tried_ns = self._clock.monotonic_ns()
        n_away = len(self._away_since_ns)
        for counter in self.counters:
            try:
                counter.read()
            except OffbeatError as error:
                self.broken.append(error)
                self._away_since_ns[counter] = now_ns
        if failed is not None and len(self._away_since_ns) == n_away:
            self._bear_with(failed, cause, now_ns=now_ns)
        self._sort_out()

    def _bear_with(self, counter: AnyCounter, cause: Exception, *, now_ns: int) -> None:
        """Note that a counter failed and can be read again at once; the others do without it if that happens often."""
        self._n_lapses[counter] += 1
        name = f"{counter.source.name}: {counter.series.raw_name}"
        if self._n_lapses[counter] == 1:
            self.broken.append(SourceBroken(f"{name}: {cause}; it could be read again at once, but its tick is missed"))
        if self._n_lapses[counter] == MAX_LAPSES:
            self.broken.append(
                SourceBroken(
                    f"{name}: {cause}, {MAX_LAPSES} times; from then on each such failure sets it aside a while"
                )
            )
        if self._n_lapses[counter] >= MAX_LAPSES:
            self._away_since_ns[counter] = now_ns

    def _may_come_back(self) -> bool:
        """Return whether there is still hope, now that no counter can be read."""
        away_ns = self._clock.monotonic_ns() - max(self._away_since_ns.values(), default=0)
        return bool(self._away_since_ns) and away_ns < COME_BACK_S * NS_PER_S

    def _take_back(self) -> set[AnyCounter]:
        """Return the counters that can be read again; they are among `counters` from now on."""
        now_ns = self._clock.monotonic_ns()
        if not self._away_since_ns or now_ns - self._tried_ns < _RETRY_EVERY_S * NS_PER_S:
            return set()
        self._tried_ns = now_ns
        returning = {counter for counter in self._away_since_ns if _is_back(counter)}
        for name, away_ns in {c.source.name: now_ns - self._away_since_ns[c] for c in returning}.items():
            self.returned.append(f"{name}: is back, and read again after {away_ns / NS_PER_S:.3g} s")
        for counter in returning:
            del self._away_since_ns[counter]
        self._sort_out()
        return returning

    def _sort_out(self) -> None:
        self.counters = tuple(counter for counter in self._order if counter not in self._away_since_ns)


def _is_back(counter: AnyCounter) -> bool:
    try:
        counter.reopen()
    except OffbeatError:
        return False
    return True
