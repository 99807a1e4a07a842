"""`ObjectFiles`: the objects of a lake in a bucket, as DuckDB reads them: an fsspec file system of these alone [1]_.

DuckDB's own extension for buckets would have to be downloaded, and would know other credentials than the rest of
Offbeat. Given files it prunes row groups by the keys of a join too, which it cannot do where Arrow reads for it.

References
----------
.. [1] https://filesystem-spec.readthedocs.io
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from threading import local
from typing import TYPE_CHECKING, Any, Final, Self

from fsspec.spec import AbstractFileSystem

from profiler.store.reading import RESTORE_OBJECT
from profiler.store.remote.faults import told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from profiler.store.remote.address import RemotePath

__all__ = ["ObjectFiles"]

_SEALED: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""When any object was modified, as far as DuckDB need know: a sealed file never is, so what was read of it is kept."""


class ObjectFiles(AbstractFileSystem):  # type: ignore[misc] # fsspec has no types
    """Sealed objects by their names, which are never asked of the bucket: the manifest tells them and their sizes.

    Parameters
    ----------
    paths
        Objects of one bucket, at least one.
    """

    cachable = False

    def __init__(self, paths: Sequence[RemotePath]) -> None:
        super().__init__()
        self.protocol = paths[0].bucket.scheme
        self._paths = {path.inside: path for path in paths}
        self._read: dict[RemotePath, None] = {}

    @property
    def latest(self) -> list[RemotePath]:
        """The objects that were read, the last one first."""
        return list(self._read)[::-1]

    def note(self, path: RemotePath) -> None:
        """Note that an object is read."""
        self._read.pop(path, None)
        self._read[path] = None

    def glob(self, path: str, **_: Any) -> list[str]:  # noqa: ANN401
        """Return the object of a name, whatever characters that has."""
        return [self._known(path).inside]

    def exists(self, path: str, **_: Any) -> bool:  # noqa: ANN401
        """Return whether the lake has such an object."""
        return _inside(path) in self._paths

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return name, size and kind of an object."""
        known = self._known(path)
        size = known.n_bytes if known.n_bytes is not None else known.stat().st_size
        return {"name": known.inside, "size": size, "type": "file"}

    def modified(self, path: str) -> datetime:  # noqa: ARG002
        """Return when an object was modified: never."""
        return _SEALED

    created = modified

    def open(self, path: str, mode: str = "rb", **_: Any) -> _ObjectFile:  # noqa: ANN401
        """Open an object."""
        if mode != "rb":
            raise PermissionError(f"{path}: objects in a bucket are only read")
        known = self._known(path)
        return _ObjectFile(known, n_bytes=self.info(path)["size"], note=self.note)

    def _known(self, path: str) -> RemotePath:
        name = _inside(path)
        if name not in self._paths:
            raise FileNotFoundError(f"{path}: not of this lake")
        return self._paths[name]


class _ObjectFile:
    """An object, read from wherever each thread has it open."""

    def __init__(self, path: RemotePath, *, n_bytes: int, note: Callable[[RemotePath], None]) -> None:
        self._path = path
        self._note = note
        self._place = local()
        self.size = n_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, and return it."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self.size}[whence]
        self._place.offset = origin + offset
        return self.tell()

    def tell(self) -> int:
        """Return the place."""
        offset: int = getattr(self._place, "offset", 0)
        return offset

    def read(self, n_bytes: int = -1) -> bytes:
        """Return what follows the place, and go behind it."""
        start = self.tell()
        n_left = max(0, self.size - start)
        self._note(self._path)
        content = _read(self._path, start, n_left if n_bytes < 0 else min(n_bytes, n_left))
        self._place.offset = start + len(content)
        return content

    def close(self) -> None:
        """Do nothing: each read is a request of its own."""


def _inside(path: str) -> str:
    """Return bucket and key of what DuckDB names with its scheme or without."""
    return path.rpartition("://")[2]


def _read(path: RemotePath, start: int, n_bytes: int) -> bytes:
    try:
        with path.open_file() as file:
            content: bytes = file.read_at(n_bytes, start)
    except FileNotFoundError as error:
        raise OSError(f"{path}: missing; {RESTORE_OBJECT}") from error
    except OSError as error:
        raise OSError(f"{path}: {told(error)}") from error
    if len(content) != n_bytes:
        raise OSError(f"{path}: shorter than the manifest says; {RESTORE_OBJECT}")
    return content
