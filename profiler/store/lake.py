"""The lake: opening it, reading its tables and counters, replacing derived tables, starting a writer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES, arrow_schema
from profiler.store.counters import read_counter, read_counters
from profiler.store.database import MANIFEST_NAME, READ_ONLY, check_is_new, create_database
from profiler.store.manifest import Manifest
from profiler.store.reading import read_segments, read_sound, sizes_of
from profiler.store.remote.address import RemotePath, locate
from profiler.store.remote.snapshot import fetch
from profiler.store.rows import checked_rows, last_of_each_key
from profiler.store.segments import remedy, temporary_path, write_segment
from profiler.store.writer import LakeWriter

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from profiler.store.manifest import Counting
    from profiler.store.recording import Recording
    from profiler.store.segments import Segment
    from profiler.store.series import Counter

__all__ = ["Lake"]

_RECORDED: Final = frozenset({"samples", "series", "flows", "recordings"})
"""Tables that only a writer adds to."""
_GROWING: Final = frozenset({"profile_history", "runs"})
"""Tables that each analysis adds to."""
_SMALL_FILES: Final = 32
"""Small files of a growing table at which they are merged."""
_SMALL_ROWS: Final = 1_000_000
"""A file of more rows is not merged with others again: it would be written over and over."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A folder of Parquet files and the manifest that says which of them count; make one with `Lake.open`.

    A lake holds no open file between calls, so it can be pickled and handed to other threads and processes. One in a
    bucket is only read, and seen as it was when it was last opened in a process.
    """

    root: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = False) -> Self:
        """Open the lake in a folder or a bucket.

        Parameters
        ----------
        path
            The lake's folder, or its address such as ``s3://bucket/folder``.
        create
            Make the lake if the folder is missing or empty.

        Raises
        ------
        LakeError
            If there is no lake, something else is in the folder, another version of Offbeat wrote it, or the bucket
            does not let us read.
        UsageError
            If the address is none, or the lake is to be made in a bucket.
        """
        root = locate(path)
        if isinstance(root, RemotePath):
            return cls(_fetched(root, create=create))
        if create:
            _create(root)
        if not root.exists():
            raise LakeError(f"{root}: no such lake; make one with offbeat record or offbeat ingest --lake {root}")
        if not (root / MANIFEST_NAME).is_file():
            check_is_new(root)
            raise LakeError(
                f"{root}: not a lake, it has no {MANIFEST_NAME}; give the folder that record or ingest made"
            )
        Manifest(root, mode="ro").close()
        return cls(root)

    def sizes(self) -> list[dict[str, Any]]:
        """Return, of each table that has files, their number, rows, bytes, and the time that they cover."""
        with Manifest(self.root, mode="ro") as manifest:
            entries = manifest.entries()
        rows = []
        for table in TABLES:
            own = [entry for entry in entries if entry.table == table]
            if own:
                first_ns = [entry.t_first_ns for entry in own if entry.t_first_ns is not None]
                last_ns = [entry.t_last_ns for entry in own if entry.t_last_ns is not None]
                rows.append(
                    {
                        "table": table,
                        "n_files": len(own),
                        "n_rows": sum(entry.n_rows for entry in own),
                        "n_bytes": sum(entry.n_bytes for entry in own),
                        "t_first_ns": min(first_ns, default=None),
                        "t_last_ns": max(last_ns, default=None),
                    }
                )
        return rows

    def states(self) -> dict[str, int]:
        """Return how many inputs were recorded or ingested, by how that ended: ok, partial or error."""
        with Manifest(self.root, mode="ro") as manifest:
            return manifest.states()

    def leftovers(self) -> dict[str, int]:
        """Return the number and bytes of files that do not count: being written, or replaced and not yet deleted."""
        with Manifest(self.root, mode="ro") as manifest:
            paths = manifest.not_counting()
        names = {name for path in paths for name in (self.root / path, *self._half_written(path))}
        sizes = sizes_of(names)
        return {"n_files": len(sizes), "n_bytes": sum(sizes.values())}

    def holds(self, recording_id: str) -> bool:
        """Return whether all of a recording is here, so that ingesting it again is a no-op."""
        with Manifest(self.root, mode="ro") as manifest:
            return manifest.is_complete(recording_id)

    def writer(
        self, recording: Recording, *, seal_every_s: float | None = None, counts: Counting = "at once"
    ) -> LakeWriter:
        """Start writing a recording; see `LakeWriter`."""
        return LakeWriter(self.fillable(), recording, seal_every_s=seal_every_s, counts=counts)

    def fillable(self) -> Path:
        """Return the folder of a lake that keeps its readings itself.

        Raises
        ------
        UsageError
            If the lake is in a bucket, or lies over one that is.
        """
        with Manifest(self.root, mode="ro") as manifest:
            base = manifest.base()
        if isinstance(self.root, RemotePath):
            raise UsageError(f"{self.root}: {READ_ONLY}")
        if base is not None:
            raise UsageError(f"{self.root}: has results of the lake {base[0]}, whose readings stay there: {READ_ONLY}")
        return self.root

    def _half_written(self, path: str) -> tuple[Path, ...]:
        return () if isinstance(self.root, RemotePath) else (temporary_path(self.root / path),)

    def files(self, table: str, *, recording_id: str | None = None) -> list[Path]:
        """Return the files of a table that count, oldest first, of all recordings or of one.

        Table ``recordings`` has none: its rows are in the manifest.
        """
        _check_table(table)
        with Manifest(self.root, mode="ro") as manifest:
            return manifest.files(table, recording_id)

    def read(self, table: str) -> pa.Table:
        """Return a table, of each key the row sealed last.

        Raises
        ------
        UsageError
            If the table is ``samples``, which does not fit in memory: see `counter` and `files`.
        LakeError
            If a file that counts is missing or damaged.
        """
        if table == "samples":
            raise UsageError("table samples may not fit in memory; read one counter, or give its files to DuckDB")
        _check_table(table)
        schema = arrow_schema(table)
        if table == "recordings":
            with Manifest(self.root, mode="ro") as manifest:
                return pa.Table.from_pylist(manifest.recordings(), schema=schema)
        return last_of_each_key(table, read_segments(self.files(table), schema))

    def replace(self, table: str, rows: pa.Table) -> None:
        """Put rows in place of all that a derived or known table held; of each key the last row."""
        self.replace_all({table: rows})

    def replace_all(self, tables: Mapping[str, pa.Table]) -> None:
        """Replace several tables at once: a reader sees all of them old or all new.

        Raises
        ------
        UsageError
            If a table is unknown, or one that only a writer adds to.
        BadInput
            If the rows do not fit the table's schema.
        LakeError
            If the disk is full or the folder read-only; the tables are then as before.
        """
        contents = {table: _replacement(table, rows) for table, rows in tables.items()}
        paths = {table: f"{table}/{uuid.uuid4().hex[:16]}.parquet" for table in contents}
        with Manifest(self.root, mode="rw") as manifest:
            manifest.announce(paths.values())
            manifest.swap(
                [write_segment(self.root, paths[table], [rows], table=table) for table, rows in contents.items()]
            )

    def append(self, table: str, rows: pa.Table) -> None:
        """Add rows to a table that grows with each analysis; of each key the row added last is read.

        Raises
        ------
        UsageError
            If it is no such table.
        BadInput
            If the rows do not fit the table's schema.
        LakeError
            If the disk is full or the folder read-only; the table is then as before.
        """
        _check_table(table)
        if table not in _GROWING:
            raise UsageError(f"table {table}: not one that grows; these are {', '.join(sorted(_GROWING))}")
        new = last_of_each_key(table, checked_rows(table, rows))
        with Manifest(self.root, mode="rw") as manifest:
            manifest.add(self._sealed(manifest, table, new))
            small = _small_files(manifest, table)
            if len(small) > _SMALL_FILES:
                rows, lost = read_sound([manifest.place(entry) for entry in small], arrow_schema(table))
                if not lost:  # else its rows would be older than those merged, should it come back
                    merged = self._sealed(manifest, table, last_of_each_key(table, rows))
                    manifest.merge([entry.path for entry in small], merged)

    def _sealed(self, manifest: Manifest, table: str, rows: pa.Table) -> Segment:
        path = f"{table}/{uuid.uuid4().hex[:16]}.parquet"
        manifest.announce([path])
        return write_segment(self.root, path, [rows], table=table)

    def counter(self, series_id: int) -> Counter:
        """Return the readings of a series, sorted by time; empty if there are none.

        Raises
        ------
        LakeError
            If a file that counts is missing or damaged.
        """
        return read_counter(self.files("samples"), series_id, kind=self._kinds().get(series_id, "counter"))

    def counters(self, series_ids: Iterable[int]) -> Iterator[tuple[int, Counter]]:
        """Yield (series_id, readings) of several series, by ascending id; much faster than `counter` one by one.

        Raises
        ------
        LakeError
            If a file that counts is missing or damaged.
        """
        with Manifest(self.root, mode="ro") as manifest:
            paths, n_rows = manifest.files("samples"), manifest.n_rows("samples")
        return read_counters(paths, series_ids, kinds=self._kinds(), n_rows=n_rows)

    def _kinds(self) -> dict[int, str]:
        rows = self.read("series")
        return dict(zip(rows["series_id"].to_pylist(), rows["kind"].to_pylist(), strict=True))


def _small_files(manifest: Manifest, table: str) -> list[Segment]:
    """Return the files of a table that were sealed since the last large one."""
    own = [entry for entry in manifest.entries() if entry.table == table]
    return list(takewhile(lambda entry: entry.n_rows < _SMALL_ROWS, own[::-1]))[::-1]


def _fetched(root: RemotePath, *, create: bool) -> RemotePath:
    """Fetch the manifest of a lake in a bucket as it is now."""
    if create:
        raise UsageError(f"{root}: {READ_ONLY}")
    fetch(root / MANIFEST_NAME)
    Manifest(root, mode="ro").close()
    return root


def _create(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
        names = sorted(entry.name for entry in root.iterdir())
    except OSError as error:
        raise LakeError(f"{root}: {error.strerror}; {remedy(error)}") from error
    # A file system's own root is never quite empty.
    strangers = [name for name in names if not name.startswith(".") and name != "lost+found"]
    if strangers and MANIFEST_NAME not in strangers:
        check_is_new(root)
        raise LakeError(f"{root}: not a lake, and not empty (it has {strangers[0]}); give a new or empty folder")
    create_database(root)


def _check_table(table: str) -> None:
    if table not in TABLES:
        raise UsageError(f"table {table!r}: unknown; the lake has {', '.join(TABLES)}")


def _replacement(table: str, rows: pa.Table) -> pa.Table:
    _check_table(table)
    if table in _RECORDED | _GROWING:
        raise UsageError(f"table {table}: cannot be replaced; record, ingest or analyze adds to it")
    return last_of_each_key(table, checked_rows(table, rows))
