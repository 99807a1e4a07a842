"""What an analysis cannot read this time stays as an earlier one found it, and says so: of series, links and jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.analysis import Skipped
from pipeline.derived import open_derived
from profiler.errors import LakeError

if TYPE_CHECKING:
    from pipeline.batch import PortProfiles, SeriesProfile
    from profiler.store import Lake

__all__ = ["KeptLinks", "KeptSeries", "Place", "keep_links", "keep_series"]

Place: TypeAlias = tuple[str, str]
"""A link and its direction."""

_MARK: Final = "kept from an earlier analysis: "
_TOO_FEW: Final = frozenset({"no_data", "insufficient"})
"""Statuses of a series that has too few readings for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSeries:
    """Series of which an earlier profile stays: why, by series id, and its rows of ``profiles`` and ``phases``."""

    why: Mapping[int, str] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def merged(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the tables of this analysis, with the rows that stay in the place of its own."""
        return {
            name: _joined(_without(rows, "series_id", self.why), self.tables.get(name)) for name, rows in tables.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLinks:
    """Links and jobs of which an earlier answer stays: its rows of ``compat`` and ``shifts``, and what to say of it."""

    places: frozenset[Place] = frozenset()
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    notes: tuple[Skipped, ...] = ()

    def merged(self, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the tables of this analysis, which has none of the links, with the rows that stay."""
        if not self.tables:
            return dict(tables)
        shifts = self.tables["shifts"]
        return {
            "compat": _joined(tables["compat"], self.tables["compat"]),
            "shifts": _joined(_without(tables["shifts"], "job_id", shifts["job_id"].to_pylist()), shifts),
        }


def keep_series(store: Lake, found: PortProfiles) -> KeptSeries:
    """Return what stays of the profiles that the lake has.

    A series whose readings could be read in part is taken as it was found where these reach beyond what was known and
    suffice, or reach as far and tell the same.

    Parameters
    ----------
    store
        The lake, with the tables of the analysis before.
    found
        What was found this time.
    """
    if not found.unread:
        return KeptSeries()
    try:
        profiles, phases = store.read("profiles"), store.read("phases")
    except LakeError:  # lost themselves: there is nothing to keep, and this analysis writes them anew
        return KeptSeries()
    why = {
        row["series_id"]: found.unread[row["series_id"]]
        for row in profiles.select(["series_id", "status", "to_ns"]).to_pylist()
        if row["series_id"] in found.unread and _is_better(row, found.series[row["series_id"]])
    }
    rows = _of(profiles, "series_id", why)
    reasons = [
        _marked(reason, why[series_id])
        for series_id, reason in zip(rows["series_id"].to_pylist(), rows["reason"].to_pylist(), strict=True)
    ]
    i_reason = rows.schema.get_field_index("reason")
    rows = rows.set_column(i_reason, rows.schema.field(i_reason), pa.array(reasons, pa.string()))
    return KeptSeries(why=why, tables={"profiles": rows, "phases": _of(phases, "series_id", why)})


def keep_links(
    store: Lake, series: KeptSeries, *, crossings: Sequence[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]
) -> KeptLinks:
    """Return what stays of the links and shifts that the lake has.

    Of all jobs that meet one whose series stays, directly or by others, the shifts were chosen together, so they and
    the links of these jobs stay with it; but for links that other jobs crossed then.

    Parameters
    ----------
    store
        The lake, with the tables of the analysis before.
    series
        What stays of its profiles.
    crossings
        Rows of query ``jobs_by_link``, of links that several jobs cross.
    jobs
        Rows of query ``profiles_by_job``.
    """
    unread = {
        row["job_id"]: series.why[row["series_id"]] for row in (*jobs, *crossings) if row["series_id"] in series.why
    }
    if not unread:
        return KeptLinks(notes=tuple(_series_notes(series)))
    members = _members(crossings)
    why = _spread(unread, members.values())
    try:
        compat, shifts = store.read("compat"), store.read("shifts")
        with open_derived(store) as database:
            before = _members(database.run("jobs_by_link", min_jobs=2).to_pylist())
    except LakeError:
        return KeptLinks()
    rows = [
        row
        for row in compat.to_pylist()
        if not why.keys().isdisjoint(now := members.get(_place(row), frozenset())) and before.get(_place(row)) == now
    ]
    return KeptLinks(
        places=frozenset(map(_place, rows)),
        tables={"compat": pa.Table.from_pylist(rows, schema=compat.schema), "shifts": _of(shifts, "job_id", why)},
        notes=(*_job_notes(unread), *_link_notes(rows, members=members, why=why)),
    )


def _is_better(last: Mapping[str, Any], new: SeriesProfile) -> bool:
    """Return whether what is known of a series is worth more than what could be read of it this time."""
    if last["to_ns"] is None or last["status"] == "no_data":
        return False
    if new.to_ns is None or new.to_ns < last["to_ns"]:
        return True
    has_fewer = new.profile.status in _TOO_FEW and last["status"] not in _TOO_FEW
    return has_fewer or (new.to_ns == last["to_ns"] and new.profile.status != last["status"])


def _marked(reason: str | None, why: str) -> str:
    """Return the reason of an earlier analysis, and once why it stays."""
    own = (reason or "").partition(_MARK)[0].removesuffix("; ")
    return f"{own}; {_MARK}{why}" if own else _MARK + why


def _place(row: Mapping[str, Any]) -> Place:
    return row["link_id"], row["direction"]


def _members(crossings: Iterable[Mapping[str, Any]]) -> dict[Place, frozenset[str]]:
    """Return the jobs that cross each link."""
    jobs: dict[Place, set[str]] = defaultdict(set)
    for row in crossings:
        jobs[_place(row)].add(row["job_id"])
    return {place: frozenset(own) for place, own in jobs.items()}


def _spread(unread: Mapping[str, str], groups: Collection[Collection[str]]) -> dict[str, str]:
    """Return the reasons of jobs, and of those that meet them, those that meet these, and so on."""
    why, waiting = dict(unread), sorted(unread)
    groups_of: dict[str, list[Collection[str]]] = defaultdict(list)
    for group in groups:
        for job in group:
            groups_of[job].append(group)
    while waiting:
        job = waiting.pop()
        met = {other for group in groups_of[job] for other in group} - why.keys()
        why.update(dict.fromkeys(met, why[job]))
        waiting += sorted(met)
    return why


def _series_notes(series: KeptSeries) -> Iterator[Skipped]:
    reasons = list(series.why.values())
    for why in dict.fromkeys(reasons):
        yield Skipped(what=f"{reasons.count(why)} series", why=_MARK + why)


def _job_notes(unread: Mapping[str, str]) -> Iterator[Skipped]:
    for job, why in unread.items():
        yield Skipped(what=f"job {job}", why=_MARK + why)


def _link_notes(
    rows: Iterable[Mapping[str, Any]], *, members: Mapping[Place, frozenset[str]], why: Mapping[str, str]
) -> Iterator[Skipped]:
    for row in rows:
        place = _place(row)
        first = min(job for job in members[place] if job in why)
        yield Skipped(what=f"link {place[0]} {place[1]}", why=f"{row['verdict']}, {_MARK}{why[first]}")


def _of(rows: pa.Table, key: str, wanted: Collection[Any]) -> pa.Table:
    return rows.filter(pc.is_in(rows[key], value_set=pa.array(list(wanted), rows[key].type)))


def _without(rows: pa.Table, key: str, unwanted: Collection[Any]) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows[key], value_set=pa.array(list(unwanted), rows[key].type))))


def _joined(rows: pa.Table, kept: pa.Table | None) -> pa.Table:
    return rows if kept is None else pa.concat_tables([rows, kept.cast(rows.schema)])
