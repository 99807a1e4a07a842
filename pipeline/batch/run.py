"""`profile_ports`: every port of a lake profiled, shard by shard; `profile_share`: one part of that, for job arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.analysis import Skipped
from pipeline.batch.files import BrokenFile, SampleFile, changed_files, read_sample_files
from pipeline.batch.finished import Finished, OnPort
from pipeline.batch.history import KnownRanges, read_history
from pipeline.batch.plan import plan_shards
from pipeline.batch.work import Work
from profiler.errors import UsageError
from profiler.store.hosts import may_hold

if TYPE_CHECKING:
    from pipeline.batch.compute import SeriesProfile
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
    work
        The folder of finished shards.
    n_profiled
        Series profiled in this run, counted once a range; the others were finished before.
    n_otherwise
        Shards that were finished before, but for other capacities of their ports.
    unread
        Why the present of a series is not known as far as the lake goes, by series id: its shard has no result, or
        files that may hold its readings cannot be read.
    """

    series: Mapping[int, SeriesProfile]
    history: Iterable[tuple[Shard, list[SeriesProfile]]]
    faults: tuple[Skipped, ...]
    files: Sequence[SampleFile]
    work: Work
    n_profiled: int
    n_otherwise: int = 0
    unread: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRun:
    """What became of a share: its shards, those finished before, those finished now, and what failed.

    ``n_otherwise`` were finished before, but for other capacities of their ports.
    """

    n_shards: int
    n_kept: int
    n_finished: int
    faults: tuple[Skipped, ...]
    n_otherwise: int = 0


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
    UsageError
        If nothing is to be computed, and no shard of the present is finished.
    """
    plan = _plan(lake, ports, options)
    finished = _finish(plan, options, on_port, known=known)
    n_profiled, n_otherwise = finished.n_profiled, finished.n_otherwise
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
        faults=(*_broken(plan.broken), *plan.lost_history, *finished.faults()),
        files=plan.files,
        work=plan.work,
        n_profiled=n_profiled,
        n_otherwise=n_otherwise,
        unread=_unread(shards, finished, plan.broken),
    )


def _finish(plan: _Plan, options: BatchOptions, on_port: OnPort, *, known: Collection[str]) -> Finished:
    finished = Finished(plan.work, plan.wanted(known))
    if options.compute == "missing":
        finished.compute(options, on_port)
        return finished
    present = [shard for shard in plan.shards if shard.is_present and shard.paths]
    if present and not any(finished.has(shard) for shard in present):
        n_otherwise = finished.n_otherwise
        told = f", only {n_otherwise} for other capacities of the ports, of another --cluster," if n_otherwise else ""
        raise UsageError(
            f"merge: none of the {len(present)} shards of the lake's present is finished{told} in {plan.work.folder}; "
            "give the --window, --cluster and --work of the --shard runs, or run offbeat analyze without --merge; what "
            "earlier analyses found stays"
        )
    return finished


def profile_share(
    lake: Lake,
    ports: Sequence[Mapping[str, Any]],
    *,
    options: BatchOptions,
    share: Share,
    on_port: OnPort,
    known: Collection[str] = frozenset(),
) -> ShareRun:
    """Finish one share of a lake's shards, and leave the results in the work folder for whoever merges.

    The lake itself is only read. Shares are the same in every process that sees the same samples, also if a merge came
    between them; for what the arguments are, see `profile_ports`.

    Raises
    ------
    LakeError
        If the manifest is damaged, or the work folder cannot be written.
    NotHere
        If the engine is not installed, or cannot be reached.
    """
    plan = _plan(lake, ports, options)
    own = [shard for shard in share.of(plan.shards) if plan.wants(shard, known)]
    finished = Finished(plan.work, own)
    n_kept = finished.n_shards
    finished.compute(options, on_port)
    return ShareRun(
        n_shards=len(own),
        n_kept=n_kept,
        n_finished=finished.n_shards - n_kept,
        faults=(*_broken(plan.broken), *plan.lost_history, *finished.faults()),
        n_otherwise=finished.n_otherwise,
    )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    work: Work
    ports: Sequence[Mapping[str, Any]]
    history: Mapping[str, KnownRanges]
    window_s: float
    files: Sequence[SampleFile]
    broken: Sequence[BrokenFile]
    lost_history: Sequence[Skipped] = ()

    @cached_property
    def shards(self) -> list[Shard]:
        return plan_shards(self.ports, self.files, window_s=self.window_s, history=self.history)

    def wanted(self, known: Collection[str]) -> list[Shard]:
        """Return the shards whose results an analysis needs."""
        return [shard for shard in self.shards if self.wants(shard, known)]

    def wants(self, shard: Shard, known: Collection[str]) -> bool:
        """Return whether a shard is of the present, or a closed one that the history has not, and may have.

        A range that it has is not profiled anew while files that may hold some of its readings cannot be read: what is
        left of it would stand in the place of the whole, and stay when the files are back.
        """
        if shard.is_present:
            return True
        has_range = (shard.from_ns, shard.to_ns) in self.history.get(shard.host, KnownRanges())
        is_torn = has_range and any(may_hold(file.path.name, shard.host) for file in self.broken)
        return shard.key not in known and not is_torn

    def without(self, changed: Sequence[BrokenFile]) -> _Plan:
        """Return the plan for the files that are left."""
        paths = {file.path for file in changed}
        files = [file for file in self.files if file.path not in paths]
        return replace(self, files=files, broken=[*self.broken, *changed])


def _plan(lake: Lake, ports: Sequence[Mapping[str, Any]], options: BatchOptions) -> _Plan:
    work = Work((options.work or lake.root / "work").absolute())
    work.prepare()
    files, broken = read_sample_files(lake, work)
    history, lost_history = read_history(lake, ports)
    return _Plan(
        work=work,
        ports=ports,
        history=history,
        window_s=options.window_s,
        files=files,
        broken=broken,
        lost_history=lost_history,
    )


def _explained(one: SeriesProfile, broken: Sequence[BrokenFile]) -> SeriesProfile:
    """Return a profile; of a series without readings, with the files in its reason that may have held them."""
    if one.profile.status != "no_data" or one.from_ns is not None or not broken:
        return one
    lost = _lost_of(one.profile.host, broken) or _named(broken)
    return replace(one, profile=replace(one.profile, reason=f"{one.profile.reason}; {lost}"))


def _unread(shards: Iterable[Shard], finished: Finished, broken: Sequence[BrokenFile]) -> dict[int, str]:
    """Return why the present of a series is not known whole, by series id."""
    why: dict[int, str] = {}
    for shard in shards:
        reason = _lost_of(shard.host, broken) if finished.has(shard) else finished.why(shard)
        if reason is not None:
            why.update(dict.fromkeys((port["series_id"] for port in shard.ports), reason))
    return why


def _lost_of(host: str, broken: Iterable[BrokenFile]) -> str | None:
    """Return which files cannot be read that may hold readings of a host, None if none is."""
    own = [file for file in broken if may_hold(file.path.name, host)]
    return _named(own) if own else None


def _named(files: Sequence[BrokenFile]) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0].path.name}{more} cannot be read, and may hold its readings"


def _broken(files: Iterable[BrokenFile]) -> Iterator[Skipped]:
    for file in files:
        why = f"cannot be read ({file.why}); restore it from a copy, or make the lake again from its inputs"
        yield Skipped(what=str(file.path), why=why)
