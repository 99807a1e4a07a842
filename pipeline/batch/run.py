"""`profile_ports`: every port of a lake profiled, shard by shard; `profile_share`: one part of that, for job arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.analysis import Skipped
from pipeline.batch.files import BrokenFile, SampleFile, changed_files, read_sample_files
from pipeline.batch.finished import Finished, OnPort
from pipeline.batch.history import read_history
from pipeline.batch.plan import plan_shards
from pipeline.batch.work import Work

if TYPE_CHECKING:
    from pipeline.batch.compute import SeriesProfile
    from pipeline.batch.history import KnownRanges
    from pipeline.batch.options import BatchOptions, Share
    from pipeline.batch.shard import Shard
    from profiler.store import Lake

__all__ = ["PortProfiles", "ShareRun", "profile_ports", "profile_share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortProfiles:
    """The profile of every port, and how it was come by.

    Parameters
    ----------
    series
        The present of each series, by series id, in order of ports; a series whose shard failed has status
        ``no_data`` and the reason.
    history
        What came of each closed shard that the lake's history has not yet; read when it is asked for.
    faults
        Files that cannot be read, and shards that failed.
    files
        The sample files that can be read.
    n_profiled
        Series profiled in this run, counted once a range; the others were finished before.
    """

    series: Mapping[int, SeriesProfile]
    history: Iterable[tuple[Shard, list[SeriesProfile]]]
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
        If the manifest or the history is damaged, or the work folder cannot be written.
    NotHere
        If the engine is not installed, or cannot be reached.
    """
    plan = _plan(lake, ports, options)
    finished = _finish(plan, options, on_port, known=known)
    n_profiled = finished.n_profiled
    while changed := changed_files(plan.files, finished.unread_paths):
        plan = plan.without(changed)
        finished = _finish(plan, options, on_port, known=known)
        n_profiled += finished.n_profiled
    shards = [shard for shard in plan.shards if shard.is_present]
    plan.work.sweep({shard.key for shard in shards})
    present = {one.series_id: _explained(one, plan.broken) for shard in shards for one in finished.profiles(shard)}
    return PortProfiles(
        series={port["series_id"]: present[port["series_id"]] for port in ports},
        history=finished.history(),
        faults=(*_broken(plan.broken), *finished.faults()),
        files=plan.files,
        n_profiled=n_profiled,
    )


def _finish(plan: _Plan, options: BatchOptions, on_port: OnPort, *, known: Collection[str]) -> Finished:
    finished = Finished(plan.work, [shard for shard in plan.shards if shard.is_present or shard.key not in known])
    if options.compute == "missing":
        finished.compute(options, on_port)
    return finished


def profile_share(
    lake: Lake, ports: Sequence[Mapping[str, Any]], *, options: BatchOptions, share: Share, on_port: OnPort
) -> ShareRun:
    """Finish one share of a lake's shards, and leave the results in the work folder for whoever merges.

    The lake itself is only read. Shares are the same in every process that sees the same lake.

    Raises
    ------
    LakeError
        If the manifest or the history is damaged, or the work folder cannot be written.
    NotHere
        If the engine is not installed, or cannot be reached.
    """
    plan = _plan(lake, ports, options)
    own = share.of(plan.shards)
    finished = Finished(plan.work, own)
    n_kept = finished.n_shards
    finished.compute(options, on_port)
    return ShareRun(
        n_shards=len(own),
        n_kept=n_kept,
        n_finished=finished.n_shards - n_kept,
        faults=(*_broken(plan.broken), *finished.faults()),
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    work: Work
    ports: Sequence[Mapping[str, Any]]
    history: Mapping[str, KnownRanges]
    window_s: float
    files: Sequence[SampleFile]
    broken: Sequence[BrokenFile]

    @cached_property
    def shards(self) -> list[Shard]:
        return plan_shards(self.ports, self.files, window_s=self.window_s, history=self.history)

    def without(self, changed: Sequence[BrokenFile]) -> _Plan:
        """Return the plan for the files that are left."""
        paths = {file.path for file in changed}
        files = [file for file in self.files if file.path not in paths]
        return replace(self, files=files, broken=[*self.broken, *changed])


def _plan(lake: Lake, ports: Sequence[Mapping[str, Any]], options: BatchOptions) -> _Plan:
    work = Work((options.work or lake.root / "work").absolute())
    work.prepare()
    files, broken = read_sample_files(lake, work)
    return _Plan(
        work=work,
        ports=ports,
        history=read_history(lake, ports),
        window_s=options.window_s,
        files=files,
        broken=broken,
    )


def _explained(one: SeriesProfile, broken: Sequence[BrokenFile]) -> SeriesProfile:
    """Return a profile; of a series without readings, with the files in its reason that may have held them."""
    if one.profile.status != "no_data" or one.from_ns is not None or not broken:
        return one
    own = [file for file in broken if file.path.name.startswith(f"{one.profile.host}-")] or broken
    more = f" and {len(own) - 1} more" if len(own) > 1 else ""
    why = f"{one.profile.reason}; {own[0].path.name}{more} cannot be read, and may hold its readings"
    return replace(one, profile=replace(one.profile, reason=why))


def _broken(files: Iterable[BrokenFile]) -> Iterator[Skipped]:
    for file in files:
        why = f"cannot be read ({file.why}); restore it from a copy, or make the lake again from its inputs"
        yield Skipped(what=str(file.path), why=why)
