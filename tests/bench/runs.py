"""A method over many traces, on several processes; traces are made where they are judged."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth import training_job
from tests.bench.answers import ours, theirs
from tests.bench.peers import METHODS
from tests.bench.scoring import Judged, judge
from tests.bench.traces import make_trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from profiler.signals import RateSeries
    from tests.bench.answers import Answer
    from tests.bench.traces import TraceKey

__all__ = ["OURS", "judge_all"]

OURS: Final = "ours"
CHUNK: Final = 4


def judge_all(name: str, keys: Iterable[TraceKey], *, n_workers: int) -> list[Judged]:
    """Return what a method (`OURS` or one of `METHODS`) makes of each trace, in order of keys."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(n_workers, mp_context=context, initializer=_warm_up, initargs=(name,)) as pool:
        return list(pool.map(partial(_judge, name), keys, chunksize=CHUNK))


def _judge(name: str, key: TraceKey) -> Judged:
    trace = make_trace(key)
    return judge(trace, _answer(name, trace.series))


def _answer(name: str, series: RateSeries) -> Answer:
    return ours(series) if name == OURS else theirs(METHODS[name], series)


def _warm_up(name: str) -> None:
    """Let a method load and compile what it needs before it is timed."""
    job = training_job(np.random.default_rng(0), period_s=0.25, duration_s=5.0, dt_s=0.005)
    _answer(name, job.series)
