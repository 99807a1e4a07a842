"""`profile_many`: the profiles of many series, on several processes and in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeAlias

from profiler.batch.outcome import Unfit, profile_or_reason, profiles_or_reasons
from profiler.batch.workers import Workers
from profiler.errors import OffbeatError, UsageError
from profiler.signals import RateSeries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from profiler.phases import TrafficProfile

    _Pending: TypeAlias = tuple[str, Future[list[TrafficProfile]]]
    """A chunk in words, and its profiles to come."""

__all__ = ["profile_many"]

CHUNK_SERIES: Final = 64
CHUNK_WINDOWS: Final = 2**18
"""A chunk is work of about a quarter of a second, so that handing it over costs little, and some 5 MB."""
CHUNKS_HERE: Final = 4
"""The first ones are done in this process: workers would take about as long to start."""
CHUNKS_PER_WORKER: Final = 2
"""In flight: one that is worked on, and one that waits so that the worker need not."""


def profile_many(series: Iterable[RateSeries], *, n_workers: int | None = None) -> Iterator[TrafficProfile]:
    """Yield the profile of each series, in the order given.

    Parameters
    ----------
    series
        Any number of series. They are drawn only as fast as they are profiled, so a generator that reads them keeps
        no more than a few chunks of 64 (fewer if they are long) in memory.
    n_workers
        Number of processes, at least one; by default as many as this process may use processors. One is this process
        itself, which also does the first few hundred series; where there are more, no process is started for which
        no series wait.

    Yields
    ------
    TrafficProfile
        As `profile` returns it. A series on which `profile` fails has status ``no_data`` and a reason that tells the
        failure, and so has what is no `RateSeries`; the others are not lost for it.

    Raises
    ------
    UsageError
        If ``n_workers`` is less than one.
    OffbeatError
        If a worker process dies.

    Notes
    -----
    Workers are processes started afresh, which end with the iterator, with Ctrl-C, and with this process, however that
    ends. What ``series`` raises is raised at once; profiles that were still to come are lost.

    Examples
    --------
    >>> import numpy as np
    >>> from profiler.synth import training_job
    >>> rng = np.random.default_rng(7)
    >>> jobs = [training_job(rng, period_s=period_s, duration_s=10.0, dt_s=0.001) for period_s in (0.25, 0.4)]
    >>> [round(found.period_s, 2) for found in profile_many(job.series for job in jobs)]
    [0.25, 0.4]
    """
    if n_workers is not None and n_workers < 1:
        raise UsageError(f"profile_many: n_workers {n_workers}: must be at least 1")
    n_processes = n_workers or len(os.sched_getaffinity(0))
    given = (one if isinstance(one, RateSeries) else Unfit(type(one).__name__) for one in series)
    return _in_this_process(given) if n_processes == 1 else _in_processes(_chunks(given), n_workers=n_processes)


def _in_this_process(series: Iterable[RateSeries | Unfit]) -> Iterator[TrafficProfile]:
    for one in series:
        yield profile_or_reason(one)


def _in_processes(chunks: Iterator[list[RateSeries | Unfit]], *, n_workers: int) -> Iterator[TrafficProfile]:
    for chunk in islice(chunks, CHUNKS_HERE):
        yield from _in_this_process(chunk)
    ahead = next(chunks, None)
    if ahead is None:
        return
    with Workers(n_workers) as workers:
        pending: deque[_Pending] = deque()
        for chunk in chain([ahead], chunks):
            pending.append((_named(chunk), workers.submit(profiles_or_reasons, chunk)))
            if len(pending) >= CHUNKS_PER_WORKER * n_workers:
                yield from _answered(pending.popleft())
        while pending:
            yield from _answered(pending.popleft())


def _answered(pending: _Pending) -> list[TrafficProfile]:
    named, answer = pending
    try:
        return answer.result()
    except OffbeatError as error:
        raise OffbeatError(f"profile_many: {named}: {error}") from error


def _named(chunk: list[RateSeries | Unfit]) -> str:
    first = chunk[0]
    name = f"a {first.kind}" if isinstance(first, Unfit) else f"{first.host}/{first.device} {first.direction}"
    return f"{len(chunk)} series, {name} the first"


def _chunks(series: Iterable[RateSeries | Unfit]) -> Iterator[list[RateSeries | Unfit]]:
    """Yield the series in lists of about equal work."""
    chunk: list[RateSeries | Unfit] = []
    n_windows = 0
    for one in series:
        chunk.append(one)
        n_windows += one.n_samples
        if len(chunk) == CHUNK_SERIES or n_windows >= CHUNK_WINDOWS:
            yield chunk
            chunk, n_windows = [], 0
    if chunk:
        yield chunk
