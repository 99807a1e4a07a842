"""Links and placements from tables (CSV), as spreadsheets and inventories give them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pipeline.topology.cluster import HostedJob, Knowledge, Link, Placement
from profiler.errors import BadInput, UsageError
from profiler.units import parse_rate_bps

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_table", "read_table"]

_LINK_COLUMNS: Final = ("link", "a", "b", "capacity")
_JOB_COLUMNS: Final = ("job", "host")


def is_table(text: str) -> bool:
    """Return whether a text begins with the header of a table of links or of placements."""
    columns = _columns(text)
    return set(_LINK_COLUMNS) <= columns or set(_JOB_COLUMNS) <= columns


def read_table(text: str, *, path: Path) -> Knowledge:
    """Return the links or the placements of a table.

    A table of links has the columns ``link``, ``a``, ``b`` (``node:device``), ``capacity`` (``400Gbps``) and may have
    ``tier``; one of placements has ``job`` and ``host`` and may have ``device`` and ``port``: a row a rank, in order.

    Raises
    ------
    BadInput
        If a cell is missing or wrong: file, line, column, value.
    """
    if set(_LINK_COLUMNS) <= _columns(text):
        return Knowledge(links=tuple(_links(text, path)), source=str(path))
    ranks = list(_rows(text, path, needed=_JOB_COLUMNS))
    if all(row.get("device") for _, row in ranks):
        return Knowledge(placements=tuple(_placements(ranks)), source=str(path))
    hosts: dict[str, dict[str, None]] = {}
    for _, row in ranks:
        hosts.setdefault(row["job"], {})[row["host"]] = None
    hosted = [HostedJob(job_id=job, hosts=tuple(of_job), source=str(path)) for job, of_job in hosts.items()]
    return Knowledge(hosted=tuple(hosted), source=str(path))


def _columns(text: str) -> set[str]:
    return {name.strip() for name in next(csv.reader(io.StringIO(text[:10_000])), [])}


def _links(text: str, path: Path) -> Iterator[Link]:
    for place, row in _rows(text, path, needed=_LINK_COLUMNS):
        for end in ("a", "b"):
            node, _, device = row[end].partition(":")
            if not node or not device or ":" in device:
                raise BadInput(f"{place}: {end} = {row[end]!r}: expected node:device, such as sw1:p1")
        try:
            capacity_bps = parse_rate_bps(row["capacity"])
        except UsageError as error:
            raise BadInput(f"{place}: capacity: {error}") from None
        yield Link(link_id=row["link"], a=row["a"], b=row["b"], capacity_bps=capacity_bps, tier=row.get("tier") or None)


def _placements(ranks: list[tuple[str, dict[str, str]]]) -> Iterator[Placement]:
    n_ranks: dict[str, int] = {}
    for _, row in ranks:
        rank = n_ranks.setdefault(row["job"], 0)
        n_ranks[row["job"]] += 1
        yield Placement(
            job_id=row["job"], rank=rank, host=row["host"], device=row["device"], port=row.get("port") or ""
        )


def _rows(text: str, path: Path, *, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row with its place; every needed cell is there."""
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    for row in reader:
        place = f"{path}: line {reader.line_num}"
        cells = {str(name).strip(): (cell or "").strip() for name, cell in row.items() if isinstance(cell, str | None)}
        for column in needed:
            if not cells.get(column):
                raise BadInput(f"{place}: column {column} is empty; every row needs it")
        yield place, cells
