"""`profile_tables`: the rows of profiles for the lake."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from profiler.schema import arrow_schema

if TYPE_CHECKING:
    from pipeline.batch import SeriesProfile

__all__ = ["profile_tables"]


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


def _columns(table: str, result: object) -> dict[str, Any]:
    """Return those columns of a table that a result has under the same name."""
    return {name: getattr(result, name) for name in arrow_schema(table).names if hasattr(result, name)}
