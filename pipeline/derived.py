"""`open_derived`: the small tables of a lake in SQL, without its samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.sql.database import Database, lake_sources
from profiler.store.lost import lost_among

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store import Lake

__all__ = ["open_derived"]


def open_derived(store: Lake, tables: Mapping[str, pa.Table] | None = None) -> Database:
    """Open the tables of a lake for SQL as if there were no samples: a file of them that is damaged costs no other.

    Parameters
    ----------
    store
        The lake.
    tables
        Rows to see in place of what the lake has.

    Raises
    ------
    LakeError
        If the manifest or a small table is damaged.
    """
    sources = {**lake_sources(store.root), "samples": (), **(tables or {})}
    return Database(sources, find_lost=lambda paths: lost_among(store, paths))
