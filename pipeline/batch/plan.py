"""`plan_shards`: which ports over which time are profiled together, given the files of a lake."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from pipeline.batch.history import KnownRanges
from pipeline.batch.shard import PORT_COLUMNS, Shard
from profiler.errors import UsageError
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.batch.files import SampleFile

__all__ = ["DAY_S", "plan_shards"]

DAY_S: Final = 86_400.0
"""Default window: sample files are kept by UTC day."""
MIN_WINDOW_S: Final = 1.0
SHARD_SAMPLES: Final = 2**21
"""Samples of a shard: a second or two of work, and some 200 MB while they are read and sorted."""
SHARD_SERIES: Final = 256
SERIES_SAMPLES: Final = 2**21
"""Samples of a series that are profiled together; of more, the newest. Spectra of so many take some 500 MB."""


def plan_shards(
    ports: Iterable[Mapping[str, Any]],
    files: Sequence[SampleFile],
    *,
    window_s: float = DAY_S,
    history: Mapping[str, KnownRanges] | None = None,
) -> list[Shard]:
    """Divide ports and time into shards.

    Parameters
    ----------
    ports
        Rows of query ``series_by_port``.
    files
        The sample files that can be read, in the order of sealing.
    window_s
        Length of the closed ranges of the history, in seconds; they begin at whole multiples of it since the epoch.
    history
        The ranges of each host that the lake's history has.

    Returns
    -------
    list of Shard
        Of each host its present, which is the last closed range and the one still open, and every closed range before.
        A host of many or dense series is divided. Ports without a sample are in one shard of no files. The shards
        depend on what is in the lake, never on when it was asked or on what the work folder has. Of a time that the
        history has in ranges of another window there is none: ranges that overlap cannot be told as a history.

    Raises
    ------
    UsageError
        If the window is shorter than a second.
    """
    if not window_s >= MIN_WINDOW_S:
        raise UsageError(f"window {window_s:g} s: too short to find iterations in; give {MIN_WINDOW_S:g} s or more")
    window_ns = round(window_s * NS_PER_S)
    files_of: dict[int, list[SampleFile]] = defaultdict(list)
    for file in files:
        for series_id in file.n_rows:
            files_of[series_id].append(file)
    once = {port["series_id"]: {name: port[name] for name in PORT_COLUMNS} for port in ports}
    by_host = sorted(once.values(), key=lambda port: (port["host"], port["series_id"]))
    shards: list[Shard] = []
    for host, group in groupby(by_host, itemgetter("host")):
        known = (history or {}).get(host, KnownRanges())
        shards += _host_shards(host, list(group), files_of=files_of, window_ns=window_ns, known=known)
    return shards


def _host_shards(
    host: str,
    ports: list[dict[str, Any]],
    *,
    files_of: Mapping[int, Sequence[SampleFile]],
    window_ns: int,
    known: KnownRanges,
) -> Iterator[Shard]:
    own = {id(file): file for port in ports for file in files_of.get(port["series_id"], ())}
    files = sorted(own.values(), key=lambda file: (file.first_ns, file.path))
    if not files:
        yield Shard(host=host, ports=tuple(ports), paths=(), digests=(), from_ns=0, to_ns=0)
        return
    last_ns = max(file.last_ns for file in files)
    present_ns = (last_ns // window_ns - 1) * window_ns
    yield from _range_shards(ports, files, from_ns=present_ns, to_ns=last_ns + 1, is_present=True)
    closed = {
        i
        for file in files
        for i in range(file.first_ns // window_ns, min(file.last_ns, present_ns - 1) // window_ns + 1)
    }
    for i in sorted(closed):
        yield from _closed_shards(ports, files, span_ns=(i * window_ns, (i + 1) * window_ns), known=known)


def _closed_shards(
    ports: Sequence[Mapping[str, Any]], files: Sequence[SampleFile], *, span_ns: tuple[int, int], known: KnownRanges
) -> list[Shard]:
    """Return the shards of a closed range, or of its end that follows what is known by another window."""
    from_ns, to_ns = span_ns
    whole = list(_range_shards(ports, files, from_ns=from_ns, to_ns=to_ns, is_present=False))
    free_ns = known.free_from(from_ns, to_ns)
    if free_ns == from_ns or all((shard.from_ns, shard.to_ns) in known for shard in whole):
        return whole
    return list(_range_shards(ports, files, from_ns=free_ns, to_ns=to_ns, is_present=False)) if free_ns < to_ns else []


def _range_shards(
    ports: Sequence[Mapping[str, Any]],
    files: Sequence[SampleFile],
    *,
    from_ns: int,
    to_ns: int,
    is_present: bool,
) -> Iterator[Shard]:
    """Yield the shards of a host's ports in one range of time."""
    inside = [file for file in files if file.first_ns < to_ns and file.last_ns >= from_ns]
    start_ns = max(from_ns, min((file.first_ns for file in inside), default=from_ns))
    n_of = {
        port["series_id"]: sum(file.n_between(port["series_id"], from_ns=start_ns, to_ns=to_ns) for file in inside)
        for port in ports
    }
    n_most = max(n_of.values())
    n_left_out = max(0, n_most - SERIES_SAMPLES)
    if n_left_out:
        start_ns = to_ns - (to_ns - start_ns) * SERIES_SAMPLES // n_most
        inside = [file for file in inside if file.last_ns >= start_ns]
        n_of = {series_id: n * SERIES_SAMPLES // n_most for series_id, n in n_of.items()}
    for part in _parts(ports, n_of):
        held = [file for file in inside if any(port["series_id"] in file.n_rows for port in part)]
        yield Shard(
            host=part[0]["host"],
            ports=tuple(part),
            paths=tuple(file.path for file in held),
            digests=tuple(file.sha256 for file in held),
            tags=tuple(file.tag for file in held),
            from_ns=start_ns if n_left_out else from_ns,
            to_ns=to_ns,
            is_present=is_present,
            n_samples=sum(n_of[port["series_id"]] for port in part),
            n_left_out=n_left_out,
        )


def _parts(ports: Sequence[Mapping[str, Any]], n_of: Mapping[int, int]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield ports in lists of about equal work, in the order given: neighbours stand together in files."""
    part: list[Mapping[str, Any]] = []
    n_samples = 0
    for port in ports:
        n_own = n_of[port["series_id"]]
        if part and (len(part) == SHARD_SERIES or n_samples + n_own > SHARD_SAMPLES):
            yield part
            part, n_samples = [], 0
        part.append(port)
        n_samples += n_own
    if part:
        yield part
