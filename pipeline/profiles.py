"""The rows of profiles for the lake: of the present (`profile_tables`), and of closed ranges (`history_table`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from profiler.schema import arrow_schema

if TYPE_CHECKING:
    from pipeline.batch import SeriesProfile, Shard

__all__ = ["history_table", "profile_tables"]


def profile_tables(profiles: Iterable[SeriesProfile]) -> dict[str, pa.Table]:
    """Return the rows of tables ``profiles`` and ``phases``."""
    known = list(profiles)
    phases = [
        {"series_id": one.series_id, "i_phase": i, **_columns("phases", phase)}
        for one in known
        for i, phase in enumerate(one.profile.phases)
    ]
    rows = [
        {"series_id": one.series_id, "from_ns": one.from_ns, "to_ns": one.to_ns, **_columns("profiles", one.profile)}
        for one in known
    ]
    return {
        "profiles": pa.Table.from_pylist(rows, schema=arrow_schema("profiles")),
        "phases": pa.Table.from_pylist(phases, schema=arrow_schema("phases")),
    }


def history_table(found: Iterable[tuple[Shard, SeriesProfile]], *, analysed_ns: int) -> pa.Table:
    """Return rows of table ``profile_history``, of closed shards and what came of them.

    Parameters
    ----------
    found
        Each profile with its shard, whose range the row is of.
    analysed_ns
        When the analysis began, UTC epoch ns.
    """
    rows = [
        {
            **_columns("profile_history", one.profile),
            "series_id": one.series_id,
            "from_ns": shard.from_ns,
            "to_ns": shard.to_ns,
            "analysed_ns": analysed_ns,
            "shard": shard.key,
        }
        for shard, one in found
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema("profile_history"))


def _columns(table: str, result: object) -> dict[str, Any]:
    """Return those columns of a table that a result has under the same name."""
    return {name: getattr(result, name) for name in arrow_schema(table).names if hasattr(result, name)}
