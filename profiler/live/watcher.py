"""A process that watches counters beside the one that reads them, and another in its place if it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Final, Self

from profiler.live.history import History
from profiler.live.watch import LiveWatch, Readings

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from profiler.live.state import LiveProfile
    from profiler.phases import TrafficProfile
    from profiler.store import Series

__all__ = ["Watcher"]

NICENESS: Final = 10
"""The watching process gives way to the sampler, which must not miss its ticks."""
MAX_DEATHS: Final = 3
"""What ends so many watching processes would end the next one too."""


class Watcher:
    """Watches counters in a process of its own; used as a context manager.

    This process remembers the readings as well, in memory that does not grow: a watching process that dies, ended for
    want of memory perhaps, takes nothing with it that another one cannot find again.

    Parameters
    ----------
    warn
        Called with what to tell the user of such a death.

    Attributes
    ----------
    newest
        The newest states.
    """

    def __init__(self, *, warn: Callable[[str], None]) -> None:
        self.newest: list[LiveProfile] = []
        self._warn = warn
        self._n_deaths = 0
        self._kept: dict[Series, History] = {}
        self._backlog: Readings = []
        self._pending: Future[list[LiveProfile]] | None = None
        self._pool: ProcessPoolExecutor | None = _process()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def add(self, readings: Readings) -> None:
        """Take the newest readings; they are handed on once those before them have been looked at."""
        for series, t_ns, value, flags in readings:
            if series not in self._kept:
                self._kept[series] = History(series)
            self._kept[series].add(t_ns, value, flags=flags)
        if self._pool is None:
            return
        self._backlog += readings
        try:
            if self._pending is not None and self._pending.done():
                self.newest, self._pending = self._pending.result(), None
            if self._pending is None:
                self._pending, self._backlog = self._pool.submit(_advance, self._backlog), []
        except BrokenProcessPool:
            self._replace(self._pool)

    def answers(self) -> list[TrafficProfile]:
        """Return the profile of each counter; made here if no process lives to make it."""
        while self._pool is not None:
            try:
                return self._pool.submit(_finish, self._backlog).result()
            except BrokenProcessPool:
                self._replace(self._pool)
        watch = LiveWatch()
        watch.add(self._remembered())
        return watch.answers()

    def _replace(self, dead: ProcessPoolExecutor) -> None:
        """Start another process on what is remembered, unless too many have died."""
        dead.shutdown(wait=False)
        self._n_deaths += 1
        self._pending = None
        if self._n_deaths < MAX_DEATHS:
            self._warn("the watching process died, killed or short of memory: another goes on from the readings kept")
            self._pool, self._backlog = _process(), self._remembered()
        else:
            self._warn(
                f"{MAX_DEATHS} watching processes died, killed or short of memory: reading goes on, the table stops"
            )
            self._pool, self._backlog = None, []

    def _remembered(self) -> Readings:
        return [(series, *history.readings()) for series, history in self._kept.items()]


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), initializer=_settle_in)


_watch: Final = LiveWatch()
"""What the watching process has seen; the sampling process leaves its own empty."""


def _settle_in() -> None:
    """Give way to the sampler, and let Ctrl-C end the sampling process alone; it then ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)


def _advance(readings: Readings) -> list[LiveProfile]:
    _watch.add(readings)
    _watch.look()
    return _watch.states()


def _finish(readings: Readings) -> list[TrafficProfile]:
    _watch.add(readings)
    return _watch.answers()
