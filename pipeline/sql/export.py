"""`export_views`: a DuckDB database of views over a lake, for other DuckDB clients."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from pipeline.sql.database import lake_sources
from pipeline.sql.relations import Source, definitions, make_definitions, make_tables
from profiler.errors import UsageError
from profiler.store.remote.address import RemotePath

__all__ = ["export_views"]


def export_views(lake: str | Path, target: str | Path, *, force: bool = False, without: Collection[Path] = ()) -> Path:
    """Write a DuckDB database of views over the lake as it stands now; the rows stay in the lake.

    Parameters
    ----------
    lake
        Folder of the lake. The views hold absolute paths, so it must stay where it is.
    target
        Database to write; it appears whole or not at all.
    force
        Replace the target if it exists.
    without
        Files of the lake to leave out, such as one that is missing.

    Returns
    -------
    Path
        The target.

    Raises
    ------
    UsageError
        If the target exists or cannot be written, or the lake's files are in a bucket.
    LakeError
        If there is no lake, or it is damaged.
    """
    target = Path(target)
    if target.exists() and not force:
        raise UsageError(f"{target}: exists already; choose another name, or replace it with --force")
    sources = lake_sources(lake, without=without)
    _check_local(lake, sources)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with duckdb.connect(str(temporary)) as connection:
            lost = make_tables(connection, sources)
            for _ in make_definitions(connection, definitions(), why=lost):
                pass
        temporary.replace(target)
    except (duckdb.IOException, OSError) as error:
        raise UsageError(f"{target}: {error}; choose a folder that can be written") from None
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _check_local(lake: str | Path, sources: Mapping[str, Source]) -> None:
    listed = (path for source in sources.values() if isinstance(source, Sequence) for path in source)
    remote = next((path for path in listed if isinstance(path, RemotePath)), None)
    if remote is not None:
        raise UsageError(
            f"{lake}: has files in a bucket, such as {remote.name}: other DuckDB clients read buckets only with an "
            "extension and keys of their own; copy the lake to this machine and export that, or write the rows "
            "themselves with --out FILE.parquet"
        )
