"""`LocalEngine`: shards on processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.batch.outcome import Outcome, run_shard
from profiler.batch.workers import Workers
from profiler.errors import OffbeatError

if TYPE_CHECKING:
    from pipeline.batch.shard import Shard
    from pipeline.batch.work import Work

__all__ = ["LocalEngine"]

HERE_SAMPLES: Final = 2**19
HERE_SERIES: Final = 64
"""So much is done in this process: others would take about as long to start."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Processes of this machine, each with one shard at a time; one that dies is replaced."""

    n_workers: int | None = None

    def run(self, shards: Sequence[Shard], work: Work) -> Iterator[Outcome]:
        """Yield how each shard ended, as it ends."""
        n_samples = sum(shard.n_samples for shard in shards)
        n_series = sum(len(shard.ports) for shard in shards)
        if n_samples <= HERE_SAMPLES and n_series <= HERE_SERIES:
            for shard in shards:
                yield run_shard(shard, work)
            return
        with Workers(self.n_workers or len(os.sched_getaffinity(0))) as workers:
            pending: dict[Future[Outcome], Shard] = {
                workers.submit(run_shard, shard, work): shard for shard in _longest_first(shards)
            }
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield _ended(future, pending.pop(future))


def _longest_first(shards: Sequence[Shard]) -> list[Shard]:
    """Return shards in the order in which processes end at about the same time."""
    return sorted(shards, key=lambda shard: shard.n_samples, reverse=True)


def _ended(future: Future[Outcome], shard: Shard) -> Outcome:
    try:
        return future.result()
    except OffbeatError as error:
        return Outcome(key=shard.key, fault=str(error))
