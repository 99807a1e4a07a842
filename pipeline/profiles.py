"""The rows of profiles for the lake: of the present (`profile_tables`), and of closed ranges (`history_tables`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.batch.results import clock_columns
from profiler.schema import arrow_schema

if TYPE_CHECKING:
    from pipeline.batch import SeriesProfile, Shard

__all__ = ["history_tables", "profile_tables"]

HISTORY_ROWS: Final = 50_000
"""Rows in memory at a time, some 50 MB: a lake can have any number of closed ranges."""
HISTORY_KNOTS: Final = 3_000_000
"""Knots of clocks in memory at a time, some 50 MB."""


def profile_tables(profiles: Iterable[SeriesProfile]) -> dict[str, pa.Table]:
    """Return the rows of tables ``profiles`` and ``phases``."""
    known = list(profiles)
    phases = [
        {"series_id": one.series_id, "i_phase": i, **_columns("phases", phase)}
        for one in known
        for i, phase in enumerate(one.profile.phases)
    ]
    rows = [
        {
            "series_id": one.series_id,
            "from_ns": one.from_ns,
            "to_ns": one.to_ns,
            **_columns("profiles", one.profile),
            **clock_columns(one.clock),
        }
        for one in known
    ]
    return {
        "profiles": pa.Table.from_pylist(rows, schema=arrow_schema("profiles")),
        "phases": pa.Table.from_pylist(phases, schema=arrow_schema("phases")),
    }


def history_tables(found: Iterable[tuple[Shard, Iterable[SeriesProfile]]], *, analysed_ns: int) -> Iterator[pa.Table]:
    """Yield rows of table ``profile_history``, some 50,000 at a time or fewer; those of a shard stand together.

    Parameters
    ----------
    found
        Closed shards, and the profiles of each, which are of its range.
    analysed_ns
        When the analysis began, UTC epoch ns.
    """
    rows: list[dict[str, Any]] = []
    n_knots = 0
    for shard, profiles in found:
        own = _history_rows(shard, profiles, analysed_ns=analysed_ns)
        rows += own
        n_knots += sum(0 if row["knots_ns"] is None else len(row["knots_ns"]) for row in own)
        if len(rows) >= HISTORY_ROWS or n_knots >= HISTORY_KNOTS:
            yield pa.Table.from_pylist(rows, schema=arrow_schema("profile_history"))
            rows, n_knots = [], 0
    if rows:
        yield pa.Table.from_pylist(rows, schema=arrow_schema("profile_history"))


def _history_rows(shard: Shard, profiles: Iterable[SeriesProfile], *, analysed_ns: int) -> list[dict[str, Any]]:
    return [
        {
            **_columns("profile_history", one.profile),
            "series_id": one.series_id,
            "from_ns": shard.from_ns,
            "to_ns": shard.to_ns,
            "analysed_ns": analysed_ns,
            "shard": shard.key,
            **clock_columns(one.clock),
        }
        for one in profiles
    ]


def _columns(table: str, result: object) -> dict[str, Any]:
    """Return those columns of a table that a result has under the same name."""
    return {name: getattr(result, name) for name in arrow_schema(table).names if hasattr(result, name)}
