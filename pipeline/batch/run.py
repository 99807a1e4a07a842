"""`profile_ports`: every port of a lake profiled, shard by shard; `profile_share`: one part of that, for job arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pipeline.analysis import Skipped
from pipeline.batch.compute import SeriesProfile
from pipeline.batch.engines import ENGINES
from pipeline.batch.files import BrokenFile, SampleFile, read_sample_files
from pipeline.batch.plan import plan_shards
from pipeline.batch.work import Work
from profiler.phases import TrafficProfile

if TYPE_CHECKING:
    from pipeline.batch.options import BatchOptions, Share
    from pipeline.batch.shard import Shard
    from profiler.store import Lake

__all__ = ["OnPort", "PortProfiles", "ShareRun", "profile_ports", "profile_share"]

OnPort: TypeAlias = Callable[[int, int], object]
"""Called after each shard with the number of series profiled in this run, and of those to profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortProfiles:
    """The profile of every port, and how it was come by.

    Parameters
    ----------
    series
        The present of each series, by series id, in order of ports; a series whose shard failed has status
        ``no_data`` and the reason.
    history
        What came of closed shards that the lake's history has not yet.
    faults
        Files that cannot be read, and shards that failed.
    files
        The sample files that can be read.
    n_profiled
        Series profiled in this run, counted once a range; the others were finished before.
    """

    series: Mapping[int, SeriesProfile]
    history: Sequence[tuple[Shard, SeriesProfile]]
    faults: tuple[Skipped, ...]
    files: Sequence[SampleFile]
    n_profiled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRun:
    """What became of a share: its shards, those finished before, those finished now, and what failed."""

    n_shards: int
    n_kept: int
    n_finished: int
    faults: tuple[Skipped, ...]


def profile_ports(
    lake: Lake,
    ports: Sequence[Mapping[str, Any]],
    *,
    options: BatchOptions,
    on_port: OnPort,
    known: Collection[str] = frozenset(),
) -> PortProfiles:
    """Profile the byte series of ports; a shard that is finished is not computed again.

    Parameters
    ----------
    lake
        Where the samples are.
    ports
        Rows of query ``series_by_port``.
    options
        How.
    on_port
        Called after each shard.
    known
        Keys of the closed shards that the lake's history has.

    Raises
    ------
    LakeError
        If the manifest is damaged, or the work folder cannot be written.
    NotHere
        If the engine is not installed, or cannot be reached.
    """
    plan = _plan(lake, ports, options)
    wanted = [shard for shard in plan.shards if shard.is_present or shard.key not in known]
    finished = _Finished(plan.work, wanted)
    if options.compute == "missing":
        finished.compute(options, on_port)
    plan.work.sweep({shard.key for shard in wanted if shard.is_present})
    present = {one.series_id: one for shard in wanted if shard.is_present for one in finished.profiles(shard)}
    closed = [shard for shard in wanted if not shard.is_present and shard.key in finished.found]
    return PortProfiles(
        series={port["series_id"]: present[port["series_id"]] for port in ports},
        history=[(shard, one) for shard in closed for one in finished.found[shard.key]],
        faults=(*_broken(plan.broken), *finished.faults()),
        files=plan.files,
        n_profiled=finished.n_profiled,
    )


def profile_share(
    lake: Lake, ports: Sequence[Mapping[str, Any]], *, options: BatchOptions, share: Share, on_port: OnPort
) -> ShareRun:
    """Finish one share of a lake's shards, and leave the results in the work folder for whoever merges.

    The lake itself is only read. Shares are the same in every process that sees the same lake.

    Raises
    ------
    LakeError
        If the manifest is damaged, or the work folder cannot be written.
    NotHere
        If the engine is not installed, or cannot be reached.
    """
    plan = _plan(lake, ports, options)
    own = share.of(plan.shards)
    finished = _Finished(plan.work, own)
    n_kept = len(finished.found)
    finished.compute(options, on_port)
    return ShareRun(
        n_shards=len(own),
        n_kept=n_kept,
        n_finished=len(finished.found) - n_kept,
        faults=(*_broken(plan.broken), *finished.faults()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    work: Work
    shards: Sequence[Shard]
    files: Sequence[SampleFile]
    broken: Sequence[BrokenFile]


def _plan(lake: Lake, ports: Sequence[Mapping[str, Any]], options: BatchOptions) -> _Plan:
    work = Work(options.work or lake.root / "work")
    work.prepare()
    files, broken = read_sample_files(lake, work)
    return _Plan(
        work=work,
        shards=plan_shards(ports, files, window_s=options.window_s),
        files=files,
        broken=broken,
    )


class _Finished:
    """The results of shards, as far as there are any; why there are none of the others."""

    def __init__(self, work: Work, shards: Sequence[Shard]) -> None:
        self._work = work
        self._shards = shards
        self._why: dict[str, str] = {}
        self.found: dict[str, list[SeriesProfile]] = {}
        self.n_profiled = 0
        there = work.keys()
        for shard in shards:
            if shard.key in there:
                self._take(shard)

    def compute(self, options: BatchOptions, on_port: OnPort) -> None:
        """Compute what is missing."""
        missing = {shard.key: shard for shard in self._shards if shard.key not in self.found}
        n_series = sum(len(shard.ports) for shard in missing.values())
        n_done = 0
        if missing:
            for outcome in ENGINES[options.engine](options.n_workers).run(list(missing.values()), self._work):
                shard = missing[outcome.key]
                if outcome.fault is None:
                    self._take(shard)
                    self.n_profiled += len(shard.ports)
                else:
                    self._why[shard.key] = outcome.fault
                n_done += len(shard.ports)
                on_port(n_done, n_series)

    def profiles(self, shard: Shard) -> Iterable[SeriesProfile]:
        """Return the profiles of a shard; without data, and the reason, where there are none."""
        return self.found.get(shard.key) or [_unprofiled(port, why=self.why(shard)) for port in shard.ports]

    def why(self, shard: Shard) -> str:
        """Return why a shard has no result."""
        return self._why.get(shard.key, "not computed yet: run offbeat analyze without --merge, or the missing --shard")

    def faults(self) -> Iterator[Skipped]:
        """Yield what has no result, and why."""
        for shard in self._shards:
            if shard.key not in self.found:
                yield Skipped(what=shard.name, why=self.why(shard))

    def _take(self, shard: Shard) -> None:
        result = self._work.read(shard.key)
        if result is not None:
            self.found[shard.key] = result


def _unprofiled(port: Mapping[str, Any], *, why: str) -> SeriesProfile:
    names = {name: port[name] for name in ("host", "device", "port", "direction", "layer")}
    profile = TrafficProfile(status="no_data", reason=f"not analysed: {why}", fold_bps=np.zeros(0), **names)
    return SeriesProfile(series_id=port["series_id"], profile=profile, from_ns=None, to_ns=None)


def _broken(files: Iterable[BrokenFile]) -> Iterator[Skipped]:
    for file in files:
        why = f"cannot be read ({file.why}); restore it from a copy, or make the lake again from its inputs"
        yield Skipped(what=str(file.path), why=why)
