"""Links, ports, jobs, placements and hosts from tables (CSV), as spreadsheets, inventories and `offbeat sql` give them.

===========  ================================================  ====================================================
table        columns                                           may have
===========  ================================================  ====================================================
links        link, a, b (node:device), capacity                tier, state, valid_from, valid_to
ports        host, device, switch, switch_port, capacity       port, tier, state, valid_from, valid_to
jobs         job, hosts (``gpu[01-16]``, or apart by spaces)   pattern, start, end
placements   job, host; a row a rank, in order                 rank, device, port
hosts        host, alias                                       any other
===========  ================================================  ====================================================

Columns may be called as in the lake: ``link_id``, ``job_id``, ``capacity_bps``, ``valid_from_ns``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pipeline.topology.cables import check_ends, read_cable, read_span
from pipeline.topology.facts import Facts, KnownJob, Seat
from pipeline.topology.hostlist import expand_hostlist
from pipeline.topology.patterns import read_pattern
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.topology.cluster import Link

__all__ = ["is_table", "read_table"]

_Row = tuple[str, dict[str, str]]
"""Where a row stands, and its cells by column."""

_LAKE_NAMES: Final = {"link_id": "link", "job_id": "job", "capacity_bps": "capacity"}
_DELIMITERS: Final = ",;\t|"
_HEAD: Final = 10_000
"""Characters within which the header ends."""
_MAX_RANK: Final = 9
"""Digits of a rank."""


def is_table(text: str) -> bool:
    """Return whether a text begins with the header of a table that is known here."""
    return _kind(_columns(_plain(text[:_HEAD]))) is not None


def read_table(text: str, *, path: Path) -> Facts:
    """Return what a table knows; see this module's own docstring.

    Raises
    ------
    BadInput
        If a cell is missing or wrong: file, line, column, value.
    """
    text = _plain(text)
    kind = _kind(_columns(text))
    if kind is None:
        raise BadInput(f"{path}: its columns are of no table that is known; expected those of {', '.join(_TABLES)}")
    needed, read = _TABLES[kind]
    return read(list(_rows(text, path, needed=needed)), str(path))


def _kind(columns: Sequence[str]) -> str | None:
    return next((kind for kind, (needed, _) in _TABLES.items() if set(needed) <= set(columns)), None)


def _plain(text: str) -> str:
    """Return a text without the mark of UTF-8, and with the line ends of here: spreadsheets write those of others."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _columns(text: str) -> list[str]:
    head = text[:_HEAD]
    names = next(csv.reader(io.StringIO(head), delimiter=_delimiter(head)), [])
    return [_LAKE_NAMES.get(name.strip().lower(), name.strip().lower()) for name in names]


def _delimiter(text: str) -> str:
    """Return what parts the header; spreadsheets of several countries write semicolons."""
    header = text.partition("\n")[0]
    return max(_DELIMITERS, key=header.count)


def _rows(text: str, path: Path, *, needed: tuple[str, ...]) -> Iterator[_Row]:
    """Yield each row that is not blank; every needed cell is there."""
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text[:_HEAD]), skipinitialspace=True)
    columns = _columns(text)
    next(reader)
    try:
        for cells in reader:
            place = f"{path}: line {reader.line_num}"
            row = dict(zip(columns, (cell.strip() for cell in cells), strict=False))
            if len(cells) > len(columns):
                raise BadInput(f"{place}: {len(cells)} cells under {len(columns)} columns; quote cells with commas")
            if not any(row.values()):
                continue
            for column in needed:
                if not row.get(column):
                    raise BadInput(f"{place}: column {column} is empty; every row needs it")
            yield place, row
    except csv.Error as error:
        raise BadInput(f"{path}: line {reader.line_num}: {error}; write the table as CSV again") from None


def _links(rows: list[_Row], source: str) -> Facts:
    links = tuple(read_cable({**row, "id": row["link"]}, place=place) for place, row in rows)
    check_ends(links, place=source)
    return Facts(source=source, links=links)


def _ports(rows: list[_Row], source: str) -> Facts:
    links = tuple(_port(row, place) for place, row in rows)
    check_ends(links, place=source)
    return Facts(source=source, links=links)


def _port(row: dict[str, str], place: str) -> Link:
    port = f"/{row['port']}" if row.get("port") else ""
    a, b = f"{row['host']}:{row['device']}{port}", f"{row['switch']}:{row['switch_port']}"
    cells = {**row, "id": f"{a}--{b}", "a": a, "b": b, "tier": row.get("tier") or "host"}
    return read_cable(cells, place=place)


def _jobs(rows: list[_Row], source: str) -> Facts:
    jobs: dict[str, KnownJob] = {}
    for place, row in rows:
        try:
            hosts = [host for text in row["hosts"].split() for host in expand_hostlist(text)]
        except ValueError as error:
            raise BadInput(f"{place}: hosts = {row['hosts'][:60]!r}: {error}") from None
        start_ns, end_ns = read_span(row, ("start", "end"), place=place)
        if row["job"] in jobs:
            raise BadInput(f"{place}: job {row['job']!r} is given twice; rename one")
        jobs[row["job"]] = KnownJob(
            job_id=row["job"],
            seats=tuple(Seat(host=host) for host in hosts),
            known="hosts",
            place=place,
            pattern=read_pattern(row.get("pattern", ""), place=place),
            start_ns=start_ns,
            end_ns=end_ns,
        )
    return Facts(source=source, jobs=tuple(jobs.values()))


def _placements(rows: list[_Row], source: str) -> Facts:
    by_job: dict[str, list[_Row]] = {}
    for place, row in rows:
        by_job.setdefault(row["job"], []).append((place, row))
    return Facts(source=source, jobs=tuple(_placed(job, _in_order(ranks)) for job, ranks in by_job.items()))


def _placed(job_id: str, rows: list[_Row]) -> KnownJob:
    seats = tuple(Seat(host=row["host"], device=row.get("device", ""), port=row.get("port", "")) for _, row in rows)
    known_ranks = any(seat.device for seat in seats)
    return KnownJob(
        job_id=job_id,
        seats=seats if known_ranks else tuple(dict.fromkeys(seats)),
        known="ranks" if known_ranks else "hosts",
        place=rows[0][0],
    )


def _in_order(rows: list[_Row]) -> list[_Row]:
    """Return a job's rows in order of rank, where ranks are given; each stands once, from 0 on."""
    if not any(row.get("rank") for _, row in rows):
        return rows
    by_rank: dict[int, _Row] = {}
    for place, row in rows:
        text = row.get("rank", "")
        if not text.isascii() or not text.isdigit() or len(text) > _MAX_RANK:
            raise BadInput(
                f"{place}: rank = {text[:40]!r}: expected a whole number from 0 on, as in the job's other rows"
            )
        if by_rank.setdefault(int(text), (place, row))[1] is not row:
            raise BadInput(f"{place}: rank {text} of job {row['job']!r} is given twice; correct one")
    missing = next((rank for rank in range(len(by_rank)) if rank not in by_rank), None)
    if missing is not None:
        place, row = rows[0]
        raise BadInput(f"{place}: job {row['job']!r} has {len(rows)} ranks, and none is {missing}; add its row")
    return [by_rank[rank] for rank in sorted(by_rank)]


def _hosts(rows: list[_Row], source: str) -> Facts:
    aliases: dict[str, str] = {}
    for place, row in rows:
        if aliases.setdefault(row["alias"], row["host"]) != row["host"]:
            raise BadInput(f"{place}: alias {row['alias']!r} is of host {aliases[row['alias']]!r} already; correct one")
    return Facts(source=source, aliases=aliases)


_TABLES: Final[dict[str, tuple[tuple[str, ...], Callable[[list[_Row], str], Facts]]]] = {
    "links": (("link", "a", "b", "capacity"), _links),
    "ports": (("host", "device", "switch", "switch_port", "capacity"), _ports),
    "jobs": (("job", "hosts"), _jobs),
    "placements": (("job", "host"), _placements),
    "hosts": (("host", "alias"), _hosts),
}
"""By name: the columns that every row needs, and what reads them; the first that fits."""
