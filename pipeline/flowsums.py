"""`profile_flow_sums`: what each rank sends as a capture saw it, the sum of its job's flows, profiled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.analysis import Skipped
from pipeline.batch import SeriesProfile
from pipeline.batch.compute import port_rate
from pipeline.batch.plan import SERIES_SAMPLES
from profiler.batch.outcome import profile_or_reason
from profiler.schema import Flag
from profiler.store import Counter
from profiler.store.counters import read_counters
from profiler.units import format_count

if TYPE_CHECKING:
    from pipeline.batch import SampleFile
    from pipeline.sql.database import Database

__all__ = ["foreign_flows", "profile_flow_sums", "read_flow_parts", "summed"]

SUM_SAMPLES: Final = SERIES_SAMPLES
"""Bins of a sum that are profiled, the newest, as of any series: 35 minutes of the default width."""

_TELL_ADDRESSES: Final = 'give a cluster file with those of hosts or their ports, [[host]] addresses = ["10.0.1.1"]'


def read_flow_parts(database: Database) -> list[dict[str, Any]]:
    """Return the rows of view ``flow_parts`` of ports that nothing else counts."""
    statement = (
        "from flow_parts where series_id in (select port_series.series_id from port_series) order by series_id, part_id"
    )
    rows: list[dict[str, Any]] = database.sql(statement).to_pylist()
    return rows


def foreign_flows(database: Database) -> tuple[Skipped, ...]:
    """Return the flows that stand for no port of a job, by reason, with their bytes; none if no job is known.

    What was captured at a second point is among them.
    """
    if not database.sql("from jobs limit 1").num_rows:
        return ()
    has_addresses = bool(database.sql("from addresses limit 1").num_rows)
    foreign = tuple(
        Skipped(
            what=f"{format_count(row['n_flows'], 'flow')} of captures, {row['bytes']} bytes",
            why=row["reason"] if has_addresses else f"{row['reason']}: {_TELL_ADDRESSES}",
        )
        for row in database.run("flows_by_job").to_pylist()
        if row["job_id"] is None
    )
    elsewhere = database.sql("from spare_points order by all").to_pylist()
    unported = database.sql("from unported_flows order by job_id, host, address").to_pylist()
    return (*foreign, *map(_captured_elsewhere, elsewhere), *map(_unported, unported))


def _captured_elsewhere(row: Mapping[str, Any]) -> Skipped:
    return Skipped(
        what=f"{row['bytes']} bytes of job {row['job_id']} from {row['host']} {row['device']}, "
        f"captured at {row['capture_point'] or 'a point without a name'}",
        why=f"{row['chosen_point'] or 'a point without a name'} has {row['chosen_bytes']} bytes of it, which are "
        "analysed: packets that pass both points would count twice",
    )


def _unported(row: Mapping[str, Any]) -> Skipped:
    return Skipped(
        what=f"{format_count(row['n_flows'], 'flow')} of job {row['job_id']} from {row['address']}, "
        f"{row['bytes']} bytes",
        why=f"it is not known which of the ports {row['ports']} of {row['host']} has this address: tell it in the "
        f'cluster file, as in [[host]] name = "{row["host"]}" addresses = {{{row["ports"].split(", ")[0]} = '
        f'"{row["address"]}"}}',
    )


def profile_flow_sums(parts: Iterable[Mapping[str, Any]], files: Sequence[SampleFile]) -> list[SeriesProfile]:
    """Profile the sums of flows.

    Parameters
    ----------
    parts
        Rows of view ``flow_parts``.
    files
        The sample files that can be read.

    Raises
    ------
    LakeError
        If a file is damaged after all.
    """
    groups: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for part in parts:
        groups[part["series_id"]].append(part)
    return [_profile(series_id, group, files) for series_id, group in groups.items()]


def summed(counters: Sequence[Counter]) -> Counter:
    """Return the sum of bins: in each, what all that were seen in it moved.

    A capture sees all flows at its point, so a flow that has no bin moved nothing; a time is unknown only where no flow
    has a bin that covers it.
    """
    counters = [counter for counter in counters if counter.t_ns.size]
    if not counters:
        return _EMPTY
    t_ns = np.unique(np.concatenate([counter.t_ns for counter in counters]))
    total = np.zeros(t_ns.size)
    n_covering = np.zeros(t_ns.size + 1, dtype=np.int64)
    for counter in counters:
        total += np.interp(t_ns, counter.t_ns, np.cumsum(counter.value, dtype=np.float64))
        known = np.flatnonzero((counter.flags[1:] & np.uint16(Flag.MISSED)) == 0)
        np.add.at(n_covering, np.searchsorted(t_ns, counter.t_ns[known], side="right"), 1)
        np.add.at(n_covering, np.searchsorted(t_ns, counter.t_ns[known + 1], side="right"), -1)
    is_known = np.cumsum(n_covering)[:-1] > 0
    is_known[0] = False
    return Counter(
        t_ns=t_ns,
        value=np.rint(np.diff(total, prepend=total[:1])).astype(np.int64),
        flags=np.where(is_known, np.uint16(Flag.NONE), np.uint16(Flag.MISSED)),
        epoch=np.zeros(t_ns.size, dtype=np.int32),
    )


def _profile(series_id: int, parts: Sequence[Mapping[str, Any]], files: Sequence[SampleFile]) -> SeriesProfile:
    total, is_cut = _newest_sum({part["part_id"] for part in parts}, files)
    names = {name: parts[0][name] for name in ("host", "device", "port")}
    port = names | {"direction": "transmit", "layer": "capture", "kind": "delta", "raw_scale": 1.0}
    rate, _ = port_rate(port | {"width_bits": None, "capacity_bps": None}, total)
    profile = profile_or_reason(rate)
    if is_cut:
        note = f"of the bins from {total.t_ns[0]} ns on: older ones are too many to analyse with them"
        profile = replace(profile, warnings=(*profile.warnings, note))
    return SeriesProfile(
        series_id=series_id,
        profile=profile,
        from_ns=int(rate.edges_ns[0]) if rate.edges_ns.size else None,
        to_ns=int(rate.edges_ns[-1]) if rate.edges_ns.size else None,
    )


def _newest_sum(ids: Collection[int], files: Sequence[SampleFile]) -> tuple[Counter, bool]:
    """Return the sum of parts, and whether older bins are left out of it; few parts are in memory at a time."""
    held = [file for file in files if not file.n_rows.keys().isdisjoint(ids)]
    if not held:
        return _EMPTY, False
    n_of = [sum(file.n_rows.get(one, 0) for file in held) for one in ids]
    first_ns, end_ns = min(file.first_ns for file in held), max(file.last_ns for file in held) + 1
    from_ns = end_ns - (end_ns - first_ns) * SUM_SAMPLES // max(*n_of, SUM_SAMPLES)
    paths, kinds = [file.path for file in held], dict.fromkeys(ids, "delta")
    parts = read_counters(paths, ids, kinds=kinds, n_rows=sum(n_of), t_range_ns=(from_ns, end_ns))
    total, is_cut = _EMPTY, from_ns > first_ns
    for batch in _batches(part for _, part in parts):
        whole = summed([total, *batch])
        total, is_cut = _newest(whole), is_cut or whole.t_ns.size > SUM_SAMPLES
    return total, is_cut


def _batches(parts: Iterable[Counter]) -> Iterator[list[Counter]]:
    """Yield parts in lists of at most about twice `SUM_SAMPLES` bins."""
    batch: list[Counter] = []
    n_bins = 0
    for part in parts:
        batch.append(part)
        n_bins += part.t_ns.size
        if n_bins > SUM_SAMPLES:
            yield batch
            batch, n_bins = [], 0
    yield batch


def _newest(counter: Counter) -> Counter:
    """Return the last `SUM_SAMPLES` bins of a sum."""
    if counter.t_ns.size <= SUM_SAMPLES:
        return counter
    last = slice(-SUM_SAMPLES, None)
    flags = counter.flags[last].copy()
    flags[0] = Flag.MISSED
    return Counter(t_ns=counter.t_ns[last], value=counter.value[last], flags=flags, epoch=counter.epoch[last])


_EMPTY: Final = Counter(
    t_ns=np.zeros(0, np.int64), value=np.zeros(0, np.int64), flags=np.zeros(0, np.uint16), epoch=np.zeros(0, np.int32)
)
