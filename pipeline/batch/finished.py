"""`Finished`: which shards have a result, what it is, and why the others have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pipeline.analysis import Skipped
from pipeline.batch.compute import SeriesProfile
from pipeline.batch.engines import ENGINES
from pipeline.batch.shard import READINGS_DIGITS
from profiler.phases import TrafficProfile

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.batch.options import BatchOptions
    from pipeline.batch.shard import Shard
    from pipeline.batch.work import Work

__all__ = ["Finished", "OnPort"]

_NOT_YET: Final = (
    "not computed yet: run the missing --shard with this --window and --cluster, or offbeat analyze without --merge"
)

OnPort: TypeAlias = Callable[[int, int], object]
"""Called first, and after each shard, with the number of series profiled in this run, and of those to profile."""


class Finished:
    """The results of shards, as far as there are any, and why there are none of the others.

    ``n_otherwise`` counts the shards that had none, but whose readings were profiled for other capacities of the ports.
    Those of the present are held; those of closed ranges, of which a lake can have any number, stay in the folder.
    """

    def __init__(self, work: Work, shards: Sequence[Shard]) -> None:
        self._work = work
        self._shards = shards
        self._why: dict[str, str] = {}
        self._unread: set[str] = set()
        self._present: dict[str, list[SeriesProfile]] = {}
        self._keys: set[str] = set()
        self.n_profiled = 0
        there = work.keys()
        for shard in shards:
            if shard.key in there:
                self._take(shard)
        known = {key[:READINGS_DIGITS] for key in there}
        self.n_otherwise = sum(shard.readings in known for shard in shards if shard.paths and not self.has(shard))

    def compute(self, options: BatchOptions, on_port: OnPort) -> None:
        """Compute what is missing."""
        missing = {shard.key: shard for shard in self._shards if shard.key not in self._keys}
        n_series = sum(len(shard.ports) for shard in missing.values())
        n_done = 0
        if missing:
            on_port(0, n_series)
            for outcome in ENGINES[options.engine](options.n_workers).run(list(missing.values()), self._work):
                shard = missing[outcome.key]
                if outcome.fault is not None:
                    self._why[shard.key] = outcome.fault
                    self._unread |= {shard.key} if outcome.is_unread else set()
                elif self._take(shard):
                    self.n_profiled += len(shard.ports)
                else:
                    self._why[shard.key] = f"its result is not in {self._work.folder}: every node must see this folder"
                n_done += len(shard.ports)
                on_port(n_done, n_series)

    def profiles(self, shard: Shard) -> Iterable[SeriesProfile]:
        """Return the profiles of a shard; without data, and the reason, where there are none."""
        return self._present.get(shard.key) or [_unprofiled(port, why=self.why(shard)) for port in shard.ports]

    def history(self) -> Iterator[tuple[Shard, list[SeriesProfile]]]:
        """Yield what came of each closed shard, one at a time."""
        for shard in self._shards:
            if not shard.is_present and shard.key in self._keys:
                yield shard, self._work.read(shard.key) or []

    def has(self, shard: Shard) -> bool:
        """Return whether a shard has a result."""
        return shard.key in self._keys

    def why(self, shard: Shard) -> str:
        """Return why a shard has no result."""
        return self._why.get(shard.key, _NOT_YET)

    def faults(self) -> Iterator[Skipped]:
        """Yield what has no result, and why."""
        for shard in self._shards:
            if not self.has(shard):
                yield Skipped(what=shard.name, why=self.why(shard))

    @property
    def unread_paths(self) -> frozenset[Path]:
        """The files of shards that failed since a file could not be read."""
        return frozenset(path for shard in self._shards if shard.key in self._unread for path in shard.paths)

    @property
    def n_shards(self) -> int:
        """Shards that have a result."""
        return len(self._keys)

    def _take(self, shard: Shard) -> bool:
        """Note a result, if it is there and whole."""
        result = self._work.read(shard.key)
        if result is None:
            return False
        self._keys.add(shard.key)
        if shard.is_present:
            self._present[shard.key] = result
        return True


def _unprofiled(port: Mapping[str, Any], *, why: str) -> SeriesProfile:
    names = {name: port[name] for name in ("host", "device", "port", "direction", "layer")}
    profile = TrafficProfile(status="no_data", reason=f"not analysed: {why}", fold_bps=np.zeros(0), **names)
    return SeriesProfile(series_id=port["series_id"], profile=profile, from_ns=None, to_ns=None)
