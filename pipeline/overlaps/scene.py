"""`Scene`: what SQL has to know of some links, beside samples, to tell how long their jobs were Up together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pipeline.sql.database import Database

__all__ = ["Place", "Scene"]

Place = tuple[str, str]
"""A link and its direction."""

_OF_SERIES: Final = {
    "flow_parts": "from flow_parts",
    "series": "from series",
    "profiles": "from profiles",
    "phases": "from phases",
    "profile_history": "from profile_history where knots_ns[-1] >= (select min(from_ns) from profiles)",
}
"""What query ``contention_by_link`` reads of series; of the history, clocks of the time that profiles describe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Rows of the relations that query ``contention_by_link`` reads: of each link, and of the series that count there.

    Views among them are given to SQL as rows: to plan them, one within the other, takes longer than to run the query.
    """

    series_ids: Mapping[Place, AbstractSet[int]]
    links: Mapping[Place, list[dict[str, Any]]]
    series: Mapping[str, Mapping[int, list[dict[str, Any]]]]
    schemas: Mapping[str, pa.Schema]

    @classmethod
    def of(cls, database: Database, series_ids: Mapping[Place, AbstractSet[int]]) -> Self:
        """Return what a database without samples knows of some places, and of the series that count there."""
        link_jobs = database.sql("from link_jobs")
        links: dict[Place, list[dict[str, Any]]] = defaultdict(list)
        for row in link_jobs.to_pylist():
            links[row["link_id"], row["direction"]].append(row)
        chosen = pc.field("series_id").isin(pa.array(sorted(set().union(*series_ids.values())), pa.uint64()))
        tables = {name: database.sql(statement).filter(chosen) for name, statement in _OF_SERIES.items()}
        return cls(
            series_ids=series_ids,
            links=links,
            series={name: _by_series(table) for name, table in tables.items()},
            schemas={"link_jobs": link_jobs.schema, **{name: table.schema for name, table in tables.items()}},
        )

    def part(self, places: Iterable[Place]) -> dict[str, pa.Table]:
        """Return the relations for some of the places."""
        own = list(places)
        ids = sorted(set().union(*(self.series_ids[place] for place in own)))
        rows = {name: [row for one in ids for row in by_id.get(one, ())] for name, by_id in self.series.items()}
        rows["link_jobs"] = [row for place in own for row in self.links[place]]
        return {name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in self.schemas.items()}

    def told_of(self, place: Place) -> list[str]:
        """Return all that is known of a place and its series as text, whatever the order it came in."""
        of_series = (
            row for one in self.series_ids[place] for by_id in self.series.values() for row in by_id.get(one, ())
        )
        return sorted(map(repr, (*self.links[place], *of_series)))


def _by_series(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        rows[row["series_id"]].append(row)
    return rows
