"""`profile_many`: the profiles of many series, on several processes and in bounded memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.errors import OffbeatError, UsageError
from profiler.phases import TrafficProfile, profile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from profiler.signals import RateSeries

__all__ = ["profile_many"]

CHUNK_SERIES: Final = 64
CHUNK_WINDOWS: Final = 2**18
"""A chunk is work of about a quarter of a second, so that handing it over costs little, and some 5 MB."""
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
        itself, as it is where all series fit into one chunk: they are done before another process has started.

    Yields
    ------
    TrafficProfile
        As `profile` returns it. A series on which `profile` fails has status ``no_data`` and a reason that tells the
        failure; the others are not lost for it.

    Raises
    ------
    UsageError
        If ``n_workers`` is less than one.
    OffbeatError
        If a worker process dies.

    Notes
    -----
    Workers are started afresh (no thread or lock of this process is copied into them), so a script that calls this
    needs the guard ``if __name__ == "__main__":`` [1]_. They end with the iterator, with Ctrl-C, and with this process.

    References
    ----------
    .. [1] https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods

    Examples
    --------
    >>> from profiler.synth import training_job
    >>> rng = np.random.default_rng(7)
    >>> jobs = [training_job(rng, period_s=period_s, duration_s=10.0, dt_s=0.001) for period_s in (0.25, 0.4)]
    >>> [round(found.period_s, 2) for found in profile_many(job.series for job in jobs)]
    [0.25, 0.4]
    """
    if n_workers is not None and n_workers < 1:
        raise UsageError(f"profile_many: n_workers {n_workers}: must be at least 1")
    n_processes = n_workers or len(os.sched_getaffinity(0))
    return _in_this_process(series) if n_processes == 1 else _in_processes(_chunks(series), n_workers=n_processes)


def _in_this_process(series: Iterable[RateSeries]) -> Iterator[TrafficProfile]:
    for one in series:
        yield _profile_or_reason(one)


def _in_processes(chunks: Iterator[list[RateSeries]], *, n_workers: int) -> Iterator[TrafficProfile]:
    first, second = next(chunks, []), next(chunks, [])
    if not second:
        yield from _in_this_process(first)
        return
    pool = ProcessPoolExecutor(n_workers, mp_context=_context(), initializer=_follow_parent)
    try:
        pending: deque[Future[list[TrafficProfile]]] = deque()
        for chunk in chain([first, second], chunks):
            pending.append(pool.submit(_profile_chunk, chunk))
            if len(pending) >= CHUNKS_PER_WORKER * n_workers:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as error:
        raise OffbeatError(
            f"profile_many: one of {n_workers} worker processes died, perhaps for want of memory; try fewer workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(series: Iterable[RateSeries]) -> Iterator[list[RateSeries]]:
    """Yield the series in lists of about equal work."""
    chunk: list[RateSeries] = []
    n_windows = 0
    for one in series:
        chunk.append(one)
        n_windows += one.n_samples
        if len(chunk) == CHUNK_SERIES or n_windows >= CHUNK_WINDOWS:
            yield chunk
            chunk, n_windows = [], 0
    if chunk:
        yield chunk


def _profile_chunk(chunk: list[RateSeries]) -> list[TrafficProfile]:
    return [_profile_or_reason(one) for one in chunk]


def _profile_or_reason(series: RateSeries) -> TrafficProfile:
    try:
        return profile(series)
    except Exception as error:  # noqa: BLE001 - one series in 100,000 must not cost the others; its reason tells
        return TrafficProfile(
            status="no_data",
            reason=f"profiling failed with {type(error).__name__}: {error}; the fault is Offbeat's, please report it",
            host=series.host,
            device=series.device,
            port=series.port,
            direction=series.direction,
            layer=series.layer,
            fold_bps=np.zeros(0),
        )


def _context() -> multiprocessing.context.BaseContext:
    """Return the way to start workers: forked from a server that has loaded this module and nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent process, which then ends its workers, and end if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after_parent, daemon=True).start()


def _end_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
