"""The manifest: which files count, in which recording; one transaction a change.

A recording can be tried more than once. Each try is an attempt; readers see the files of one attempt only: the first
until a later one is complete. So a retry that fails takes nothing away, and one that succeeds replaces all at once.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from profiler.errors import LakeError
from profiler.store.database import DAMAGED, MANIFEST_NAME, RECORDING_COLUMNS, explained, open_database, transaction
from profiler.store.remote.address import is_remote, located
from profiler.store.segments import Segment, temporary_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from profiler.store.remote.address import RemotePath


__all__ = ["MAKE_TAGS", "MERGED", "Counting", "Manifest"]

Counting: TypeAlias = Literal["at once", "once whole"]
"""When what is sealed of a recording begins to count: at once, or when all of it is there."""

MERGED: Final = "compaction"
"""Format of the recordings that own merged files: they are no inputs, and the inputs count their rows."""

MAKE_TAGS: Final = "create table if not exists tags (path text primary key, tag text not null)"
"""Only copies in buckets have it, and what lies over them."""

_VISIBLE: Final = """select path, n_bytes from files left join recordings using (recording_id)
    where table_name = ? and (recording_id is null or attempt = visible_attempt)
        and (? is null or recording_id = ?)
    order by id"""
_COUNT: Final = """update recordings set (n_rows, t_first_ns, t_last_ns) = (
        select coalesce(sum(n_rows), 0), min(t_first_ns), max(t_last_ns) from files
        where table_name = 'samples' and recording_id = recordings.recording_id and attempt = visible_attempt)
    where recording_id = ?"""
_ENTRY: Final = ("path", "table", "n_rows", "n_bytes", "t_first_ns", "t_last_ns", "sha256")
_ENTRIES: Final = """select path, table_name, files.n_rows, n_bytes, files.t_first_ns, files.t_last_ns, sha256
    from files left join recordings using (recording_id)
    where (recording_id is null or attempt = visible_attempt)"""
_UNFINISHED: Final = "not finished: still being written, or its writer was killed"


class Manifest:
    """A connection to the manifest of a lake; closes at the end of a ``with`` block.

    Parameters
    ----------
    root
        Folder of the lake.
    mode
        ``ro`` to read, ``rw`` to write as well.

    Raises
    ------
    LakeError
        If there is no manifest, it is not one, or another version of Offbeat wrote it.
    """

    def __init__(self, root: Path, *, mode: Literal["ro", "rw"]) -> None:
        self._root = root
        self._path = root / MANIFEST_NAME
        self._database = open_database(root, mode=mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with explained(self._path):
            self._database.close()

    def files(self, table: str, recording_id: str | None = None) -> list[Path]:
        """Return the files of a table that count, of all recordings or of one, in the order of sealing."""
        rows = self._rows(_VISIBLE, table, recording_id, recording_id)
        return [located(self._root, path, n_bytes=n_bytes) for path, n_bytes in rows]

    def sealed(self, table: str, recording_id: str, *, attempt: int) -> list[Path]:
        """Return the files of a table that an attempt has sealed, whether they count or not."""
        asked = "select path from files where table_name = ? and recording_id = ? and attempt = ? order by id"
        return [self._root / path for (path,) in self._rows(asked, table, recording_id, attempt)]

    def place(self, entry: Segment) -> Path:
        """Return where a file is."""
        return located(self._root, entry.path, n_bytes=entry.n_bytes)

    def n_rows(self, table: str) -> int:
        """Return the rows of a table, repeated ones included, whether they count or not."""
        return int(self._rows("select coalesce(sum(n_rows), 0) from files where table_name = ?", table)[0][0])

    def n_rows_of(self, table: str, recording_id: str) -> int:
        """Return the rows of a table that count, of one recording."""
        asked = """select coalesce(sum(files.n_rows), 0) from files join recordings using (recording_id)
            where table_name = ? and recording_id = ? and attempt = visible_attempt"""
        return int(self._rows(asked, table, recording_id)[0][0])

    def recordings(self) -> list[dict[str, Any]]:
        """Return the rows of table ``recordings``, oldest first."""
        rows = self._rows(f"select {', '.join(RECORDING_COLUMNS)} from recordings order by rowid")  # noqa: S608 - no input
        return [dict(zip(RECORDING_COLUMNS, row, strict=True)) for row in rows]

    def states(self) -> dict[str, int]:
        """Return how many inputs there are of each status, in alphabetical order."""
        return dict(
            self._rows(
                "select status, count(*) from recordings where format <> ? group by status order by status", MERGED
            )
        )

    def is_complete(self, recording_id: str) -> bool:
        """Return whether all of a recording is here."""
        return bool(self._rows("select 1 from recordings where recording_id = ? and complete", recording_id))

    def begin(self, row: Mapping[str, Any], *, counts: Counting = "at once") -> int:
        """Note that a recording is being written, and return the number of the attempt, from 1.

        Parameters
        ----------
        row
            Columns of table ``recordings`` that are known.
        counts
            Whether what is sealed counts ``at once``, or ``once whole``: when the recording is complete.

        Raises
        ------
        LakeError
            If the lake already holds all of it.
        """
        key = row["recording_id"]
        with self._transaction():
            known = self._rows(
                "select complete, last_attempt, visible_attempt from recordings where recording_id = ?", key
            )
            if not known:
                began = {"status": "partial", "message": _UNFINISHED, "n_rows": 0, **row}
                self._insert_recording(began | {"visible_attempt": int(counts == "at once")})
                return 1
            complete, last_attempt, visible_attempt = known[0]
            if complete:
                raise LakeError(f"{self._root}: {row['source']} is in the lake already; nothing is left to do")
            self._retire("recording_id = ? and attempt <> ?", key, visible_attempt)
            self._execute("update recordings set last_attempt = ? where recording_id = ?", last_attempt + 1, key)
            return int(last_attempt) + 1

    def announce(self, paths: Iterable[str]) -> None:
        """Note paths about to be written, so that what a kill leaves behind can be found and swept."""
        with self._transaction():
            self._unlist(paths)

    def seal(
        self, segments: Iterable[Segment], *, recording_id: str, attempt: int, replaces: Iterable[str] = ()
    ) -> None:
        """Make announced files of a recording count, in place of earlier ones of its own."""
        with self._transaction():
            for path in replaces:
                self._retire("path = ?", path)
            for segment in segments:
                # A series is the same whoever records it, so it belongs to no recording.
                self._add(segment, owner=None if segment.table == "series" else (recording_id, attempt))
            self._execute(_COUNT, recording_id)

    def finish(
        self, recording_id: str, attempt: int, *, status: str, message: str | None, replaces: Iterable[str] = ()
    ) -> None:
        """Note how a recording ended; unless it failed, this attempt is from now on the one that counts.

        Parameters
        ----------
        recording_id, attempt
            What ended.
        status, message
            How, and what is to be said of it.
        replaces
            Recordings that are no more if it did not fail.
        """
        complete = status != "error"
        with self._transaction():
            for replaced in replaces if complete else ():
                self._drop(replaced)
            self._execute(
                "update recordings set status = ?, message = ?, complete = ? where recording_id = ?",
                status, message, complete, recording_id,
            )  # fmt: skip
            if complete:
                self._execute("update recordings set visible_attempt = ? where recording_id = ?", attempt, recording_id)
            self._retire(
                "recording_id = ? and attempt <> (select visible_attempt from recordings where recording_id = ?)",
                recording_id,
                recording_id,
            )
            self._execute(_COUNT, recording_id)

    def drop(self, recording_id: str) -> None:
        """Forget a recording, with all that was sealed of it."""
        with self._transaction():
            self._drop(recording_id)

    def swap(self, segments: Iterable[Segment]) -> None:
        """Make each announced file the whole of its table."""
        with self._transaction():
            for segment in segments:
                self._retire("table_name = ?", segment.table)
                self._add(segment)

    def add(self, segment: Segment) -> None:
        """Make an announced file count beside the others of its table; of a key the row sealed last is read."""
        with self._transaction():
            self._add(segment)

    def merge(self, paths: Sequence[str], segment: Segment) -> None:
        """Put one announced file in the place of several that it repeats; rows sealed since then stay later."""
        marks = ", ".join("?" * len(paths))
        with self._transaction():
            ids = self._rows(f"select id from files where path in ({marks})", *paths)  # noqa: S608 - no input
            if len(ids) == len(paths):  # else another writer merged them first, and ours is swept
                self._retire(f"path in ({marks})", *paths)
                self._add(segment, file_id=max(ids)[0])

    def entries(self) -> list[Segment]:
        """Return every file that counts, as it was sealed, in that order."""
        return [Segment(**dict(zip(_ENTRY, row, strict=True))) for row in self._rows(f"{_ENTRIES} order by id")]

    def settled(self, table: str) -> list[Segment]:
        """Return the files of a table that are of complete recordings, which no writer will touch."""
        rows = self._rows(f"{_ENTRIES} and complete and table_name = ?", table)
        return [Segment(**dict(zip(_ENTRY, row, strict=True))) for row in rows]

    def damages(self) -> list[str]:
        """Return what SQLite finds wrong with the manifest's own file."""
        found = [text for (text,) in self._rows("pragma integrity_check(10)")]
        return [] if found == ["ok"] else [f"{self._path}: {text}; {DAMAGED}" for text in found]

    def not_counting(self) -> set[str]:
        """Return the paths that do not count: being written, of a try that is not complete, or not yet swept."""
        sealed = self._rows(
            "select path from files join recordings using (recording_id) where attempt <> visible_attempt"
        )
        return {path for (path,) in (*sealed, *self._rows("select path from unlisted"))}

    def compact(self, paths: Sequence[str], segment: Segment, *, row: Mapping[str, Any]) -> bool:
        """Put one announced file in the place of several, as a recording of its own; False if one is gone meanwhile."""
        marks = ", ".join("?" * len(paths))
        with self._transaction():
            found = self._rows(f"select id from files where path in ({marks})", *paths)  # noqa: S608 - no input
            if len(found) != len(paths):
                return False
            self._retire(f"path in ({marks})", *paths)
            emptied = self._rows(
                """delete from recordings where format = ?
                and recording_id not in (select recording_id from files where recording_id is not null)
                returning n_rows""",
                MERGED,
            )
            # Only a merged file that came from another lake counts rows of its own.
            n_rows = sum(n for (n,) in emptied if n) or None
            times = {"t_first_ns": segment.t_first_ns, "t_last_ns": segment.t_last_ns}
            self._insert_recording({"status": "ok", "complete": 1, "n_rows": n_rows, **times, **row})
            self._add(segment, owner=(row["recording_id"], 1))
        return True

    def sweep(self, *, before_ns: int) -> None:
        """Delete what has not counted since before a time; readers may hold an older list of files for a while."""
        with self._transaction():
            for (path,) in self._rows("select path from unlisted where since_ns < ?", before_ns):
                for leftover in (self._root / path, temporary_path(self._root / path)):
                    leftover.unlink(missing_ok=True)
                self._execute("delete from unlisted where path = ?", path)

    def copy_to(self, path: Path) -> None:
        """Write what counts to a new file, as it is at one instant; it needs no log to be read."""
        with explained(path):
            self._database.execute("vacuum into ?", (str(path),))
            with closing(sqlite3.connect(path)) as copy, copy:
                copy.execute(
                    "delete from files where recording_id is not null and attempt <> (select visible_attempt from "
                    "recordings where recordings.recording_id = files.recording_id)"
                )
                copy.execute("delete from unlisted")

    def replaced(self) -> dict[str, int]:
        """Return the paths that count no more or not yet, and since when: UTC epoch ns."""
        return dict(self._rows("select path, since_ns from unlisted"))

    def tags(self) -> dict[str, str]:
        """Return what the bucket said of objects when they were copied there, see `profiler.store.remote.tags`."""
        if not self._rows("select 1 from sqlite_schema where name = 'tags'"):
            return {}
        return dict(self._rows("select path, tag from tags"))

    def base(self) -> tuple[str, str] | None:
        """Return the address of the lake that this one lies over, and what version of it was seen last."""
        if not self._rows("select 1 from sqlite_schema where name = 'base'"):
            return None
        found: tuple[str, str] = self._rows("select address, version from base")[0]
        return found

    def lie_over(self, source: Manifest, root: RemotePath, *, version: str) -> None:
        """Name the recordings of another lake, and its files by their addresses; results of this lake's own stay.

        Parameters
        ----------
        source
            The other lake's manifest.
        root
            Where that lake is.
        version
            What tells this state of it from others.
        """
        recordings, files = (source._rows(f"select * from {table}") for table in ("recordings", "files"))  # noqa: S608
        tags = [((root / path).address, tag) for path, tag in source.tags().items()]
        with self._transaction():
            self._execute("create table if not exists base (address text not null, version text not null)")
            self._execute("delete from base")
            self._execute("insert into base values (?, ?)", root.address, version)
            self._execute(MAKE_TAGS)
            self._execute("delete from tags")
            for path, tag in tags:
                self._execute("insert into tags values (?, ?)", path, tag)
            self._execute("delete from recordings")
            for row in recordings:
                self._execute(f"insert into recordings values ({', '.join('?' * len(row))})", *row)  # noqa: S608
            own = {table for path, table in self._rows("select path, table_name from files") if not is_remote(path)}
            marks = ", ".join("?" * len(own))
            self._execute(f"delete from files where table_name not in ({marks})", *own)  # noqa: S608 - no input
            for _, path, table, *rest in files:
                if table not in own:
                    values = ((root / path).address, table, *rest)
                    self._execute(f"insert into files values (null, {', '.join('?' * len(values))})", *values)  # noqa: S608

    def _add(self, segment: Segment, *, owner: tuple[str, int] | None = None, file_id: int | None = None) -> None:
        if not self._execute("delete from unlisted where path = ?", segment.path):
            raise LakeError(f"{self._root / segment.path}: swept before it was sealed; is the system clock right?")
        recording_id, attempt = owner or (None, None)
        values = (file_id, *astuple(segment), recording_id, attempt)
        self._execute(
            """insert into files
                (id, path, table_name, n_rows, n_bytes, t_first_ns, t_last_ns, sha256, recording_id, attempt)
            values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            *values,
        )

    def _retire(self, condition: str, *values: object) -> None:
        self._unlist(path for (path,) in self._rows(f"select path from files where {condition}", *values))  # noqa: S608 - no input
        self._execute(f"delete from files where {condition}", *values)  # noqa: S608 - no input

    def _drop(self, recording_id: str) -> None:
        self._retire("recording_id = ?", recording_id)
        self._execute("delete from recordings where recording_id = ?", recording_id)

    def _unlist(self, paths: Iterable[str]) -> None:
        for path in paths:
            if not is_remote(path):  # an object of another lake's is not ours to sweep
                self._execute("insert or replace into unlisted values (?, ?)", path, time.time_ns())

    def _insert_recording(self, row: Mapping[str, Any]) -> None:
        row = {"complete": 0, "visible_attempt": 1, "last_attempt": 1, **row}
        marks = ", ".join("?" * len(row))
        self._execute(f"insert into recordings ({', '.join(row)}) values ({marks})", *row.values())  # noqa: S608 - no input

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with explained(self._path):
            return self._database.execute(query, values).fetchall()

    def _execute(self, statement: str, *values: object) -> int:
        with explained(self._path):
            return self._database.execute(statement, values).rowcount

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with explained(self._path), transaction(self._database):
            yield
