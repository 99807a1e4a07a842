"""The SQLite file under the manifest: opening, its version, transactions, and its errors in our words."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final, Literal

from profiler.errors import LakeError, UsageError
from profiler.schema import SCHEMA_VERSION, TABLES
from profiler.store.remote.address import RemotePath
from profiler.store.remote.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path


__all__ = [
    "DAMAGED",
    "MANIFEST_NAME",
    "READ_ONLY",
    "RECORDING_COLUMNS",
    "check_is_new",
    "create_database",
    "explained",
    "open_database",
    "transaction",
]

MANIFEST_NAME: Final = "manifest.sqlite"
RECORDING_COLUMNS: Final = tuple(column.name for column in TABLES["recordings"].columns)

READ_ONLY: Final = (
    "a lake in a bucket is only read; write a lake on this machine and copy it there, offbeat lake LAKE --push ADDRESS"
)
"""Why nothing is written to a bucket, and what to do."""

_APPLICATION_ID: Final = 0x0FFBEA70
"""Marks a SQLite file as the manifest of a lake."""

_BUSY_S: Final = 30.0
"""How long a writer waits for another one's transaction, which takes milliseconds."""

_LAYOUT: Final = (
    f"""create table recordings (
        {", ".join(RECORDING_COLUMNS)},
        complete integer not null, visible_attempt integer not null, last_attempt integer not null,
        primary key (recording_id))""",
    """create table files (
        id integer primary key autoincrement, path text not null unique, table_name text not null,
        recording_id text, attempt integer,
        n_rows integer not null, n_bytes integer not null, t_first_ns integer, t_last_ns integer,
        sha256 text not null)""",
    "create index files_by_table on files (table_name, recording_id, attempt)",
    "create table unlisted (path text primary key, since_ns integer not null)",
)

DAMAGED: Final = "the manifest is damaged: restore it from a copy, or make the lake again from its inputs"

_ROOM_BYTES: Final = 64 << 10
"""Free bytes below which a failed write is for want of room: SQLite grows the index of its log by 32 KiB at a time."""

_REMEDIES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space and run again; what was sealed before is kept",
    sqlite3.SQLITE_BUSY: "another process holds it: wait until that one ends, and run again",
    sqlite3.SQLITE_READONLY: "the folder is read-only: change its permissions or choose a lake elsewhere",
    sqlite3.SQLITE_CANTOPEN: "the folder is read-only or not yours: change its permissions or choose a lake elsewhere",
    sqlite3.SQLITE_IOERR: "the disk fails: check it, and what the kernel's log says of it",
    sqlite3.SQLITE_NOTADB: "this is not a lake: choose another folder",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
}


def create_database(root: Path) -> None:
    """Make the manifest of a new lake; do nothing if another process was faster."""
    path = root / MANIFEST_NAME
    with explained(path), closing(_connect(path, "rwc")) as database:
        database.execute("pragma journal_mode = wal")
        with transaction(database):
            if _is_empty(database):
                check_is_new(root)
                for statement in _LAYOUT:
                    database.execute(statement)
                database.execute(f"pragma application_id = {_APPLICATION_ID}")
                database.execute(f"pragma user_version = {SCHEMA_VERSION}")


def open_database(root: Path, *, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    """Connect to the manifest of a lake; to that of a lake in a bucket, to what was last fetched of it.

    Raises
    ------
    LakeError
        If there is none, it is not one, or another version of Offbeat wrote it.
    UsageError
        If it is to be written, and in a bucket.
    """
    if isinstance(root, RemotePath):
        if mode == "rw":
            raise UsageError(f"{root}: {READ_ONLY}")
        return _open_copy(root)
    path = root / MANIFEST_NAME
    with explained(path):
        try:
            return _open(path, mode)
        except sqlite3.OperationalError:
            if mode == "rw" or _has_log(path):
                raise
            # A full or read-only disk has no room for the files beside a WAL database; here they would be empty.
            return _open(path, "ro&immutable=1")


def check_is_new(root: Path) -> None:
    """Raise a `LakeError` if a folder whose manifest is gone or empty has files of a lake: they would count no more."""
    left = next((table for table in TABLES if next((root / table).rglob("*.parquet"), None)), None)
    if left is not None:
        raise LakeError(
            f"{root}: its {MANIFEST_NAME} is gone, which says which of the files in {left} count; restore it from a "
            "copy, or move the folder away and make the lake again from its inputs"
        )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Do all of the block or nothing of it; other writers wait."""
    database.execute("begin immediate")
    try:
        yield
        database.execute("commit")
    except BaseException:
        if database.in_transaction:
            database.execute("rollback")
        raise


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a `LakeError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
        if code == sqlite3.SQLITE_IOERR and not isinstance(path, RemotePath) and _is_full(path.parent):
            code = sqlite3.SQLITE_FULL
        remedy = _REMEDIES.get(code, "check the folder and its file system")
        raise LakeError(f"{path}: {error}; {remedy}") from error


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _ROOM_BYTES
    except OSError:  # a disk that does not tell how full it is has failed
        return False


def _open(path: Path, mode: str) -> sqlite3.Connection:
    database = _connect(path, mode)
    try:
        database.execute("pragma synchronous = full")  # WAL's default may lose the last commits in a power cut
        _check_is_made(database, path)
        _check(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _open_copy(root: RemotePath) -> sqlite3.Connection:
    path = root / MANIFEST_NAME
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with explained(path):
            database.deserialize(snapshot(path))
            _check(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    # A writer seals in a thread of its own, and never uses the connection from two at once.
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _is_empty(database: sqlite3.Connection) -> bool:
    return database.execute("select 1 from sqlite_schema").fetchone() is None


def _check_is_made(database: sqlite3.Connection, path: Path) -> None:
    if _is_empty(database):
        check_is_new(path.parent)
        raise LakeError(f"{path}: its making was cut short; record or ingest into this lake, which completes it")


def _check(database: sqlite3.Connection, path: Path) -> None:
    (application,) = database.execute("pragma application_id").fetchone()
    if application != _APPLICATION_ID:
        raise LakeError(f"{path}: a SQLite file, but not the manifest of a lake; choose another folder")
    (version,) = database.execute("pragma user_version").fetchone()
    if version != SCHEMA_VERSION:
        age, advice = (
            ("an older", "use the Offbeat that wrote it")
            if version < SCHEMA_VERSION
            else ("a newer", "update this Offbeat")
        )
        raise LakeError(
            f"{path}: of {age} lake, with schema version {version}; this Offbeat reads version {SCHEMA_VERSION}: "
            f"{advice}, or ingest the inputs into a new lake"
        )
