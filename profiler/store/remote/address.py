"""`RemotePath`: an object or folder of a bucket, read as a `pathlib.Path` is; `locate`: what an address means."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path, PosixPath, PurePath
from typing import IO, Any, Final, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

import pyarrow.fs

from profiler.errors import UsageError
from profiler.store.remote.filesystems import OPTIONS, Bucket, filesystem

__all__ = ["RemotePath", "is_remote", "locate", "located", "require_local"]

_URL: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_BARE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")


class RemotePath(PosixPath):
    """A place in a bucket, read as any path is; it can be pickled, and names its file system by itself.

    Nothing of it is on this machine: what would need that (`os.fspath`, and so all that writes) is a `TypeError`.

    Parameters
    ----------
    bucket
        Where the place is.
    key
        Name of the object or folder, without slashes around it; empty for the whole bucket.
    n_bytes
        Size of the object as the manifest tells it, which spares a request; None where it is not known.
    """

    def __new__(cls, bucket: Bucket, key: str = "", n_bytes: int | None = None) -> Self:  # noqa: ARG004 - as __init__
        """Return a new place; its base class is told of the name alone."""
        return super().__new__(cls, f"/{bucket.name}/{key}")

    def __init__(self, bucket: Bucket, key: str = "", n_bytes: int | None = None) -> None:
        if sys.version_info >= (3, 12):
            super().__init__(f"/{bucket.name}/{key}")
        self.bucket = bucket
        self.key = key
        self.n_bytes = n_bytes

    @classmethod
    def parse(cls, address: str) -> Self:
        """Return the place that ``s3://bucket/key?option=value`` stands for.

        ``%20`` is a blank, as in any URL; a blank, or a ``%`` before anything else, may stand as it is.

        Raises
        ------
        UsageError
            If it is no address of a bucket, or has an option that is not known.
        """
        found = _URL.fullmatch(address)
        scheme = "" if found is None else found["scheme"].lower()
        if found is None or scheme not in OPTIONS:
            known = " and ".join(f"{name}://" for name in OPTIONS)
            raise UsageError(f"{address}: not an address of a bucket that Offbeat reads; these begin with {known}")
        place, _, query = found["rest"].partition("?")
        name, _, key = place.partition("/")
        if "@" in name:
            raise UsageError(
                f"{scheme}://…@{name.rpartition('@')[2]}: keys in an address are seen by all on this machine; give "
                "them by the environment, and ?anonymous=true for a bucket that is open to all"
            )
        if not name:
            raise UsageError(f"{address}: names no bucket; give {scheme}://BUCKET/FOLDER")
        options = parse_qsl(query, keep_blank_values=True)
        for option, _ in options:
            if option not in OPTIONS[scheme]:
                raise UsageError(
                    f"{address}: option {option!r} is not known; {scheme}:// has {', '.join(OPTIONS[scheme])} "
                    "(a ? in the name of a folder is written %3F)"
                )
        bucket = Bucket(scheme=scheme, name=name, options=tuple(sorted(options)))
        return cls(bucket, unquote(_BARE_PERCENT.sub("%25", key)).strip("/"))

    @property
    def address(self) -> str:
        """What `parse` takes: with options, and special characters written as ``%``."""
        query = f"?{urlencode(self.bucket.options)}" if self.bucket.options else ""
        return f"{self.bucket.scheme}://{self.bucket.name}/{quote(self.key)}{query}"

    @property
    def name(self) -> str:
        """Last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def inside(self) -> str:
        """The place as pyarrow's file system has it: bucket and key."""
        return f"{self.bucket.name}/{self.key}".rstrip("/")

    @property
    def parent(self) -> RemotePath:
        """The folder that it is in; of a bucket itself."""
        return RemotePath(self.bucket, self.key.rpartition("/")[0])

    def __str__(self) -> str:
        return f"{self.bucket.scheme}://{self.inside}"

    def __repr__(self) -> str:
        return f"RemotePath({self.address!r})"

    def __fspath__(self) -> str:
        raise TypeError(f"{self}: in a bucket, not on this machine")

    def __reduce__(self) -> tuple[type[Self], tuple[Bucket, str, int | None]]:
        return type(self), (self.bucket, self.key, self.n_bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and (self.bucket, self.key) == (other.bucket, other.key)

    def __hash__(self) -> int:
        return hash((self.bucket, self.key))

    def __lt__(self, other: PurePath) -> bool:
        return str(self) < str(other)

    def __truediv__(self, part: str | os.PathLike[str]) -> RemotePath:
        return RemotePath(self.bucket, f"{self.key}/{os.fspath(part)}".strip("/"))

    def sized(self, n_bytes: int) -> RemotePath:
        """Return the same place, and its size as it is known from elsewhere."""
        return RemotePath(self.bucket, self.key, n_bytes)

    def below(self, root: RemotePath) -> str:
        """Return the key below that of a folder."""
        return self.key.removeprefix(root.key).strip("/")

    def resolve(self, strict: bool = False) -> Self:  # noqa: ARG002, FBT001, FBT002 - as that of a path
        """Return itself: a bucket has no links."""
        return self

    def absolute(self) -> Self:
        """Return itself."""
        return self

    def exists(self) -> bool:
        """Return whether there is such an object.

        Raises
        ------
        OSError
            If the bucket does not tell.
        """
        return self._info().type is pyarrow.fs.FileType.File

    is_file = exists

    def is_dir(self) -> bool:
        """Return whether there are objects below it.

        Raises
        ------
        OSError
            If the bucket does not tell.
        """
        return self._info().type is pyarrow.fs.FileType.Directory

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002 - as that of a path
        """Return the size of the object, as the bucket tells it; all else is zero.

        Raises
        ------
        FileNotFoundError
            If there is none.
        OSError
            If the bucket does not tell.
        """
        info = self._info()
        if info.type is not pyarrow.fs.FileType.File:
            raise FileNotFoundError(errno.ENOENT, "no such object", str(self))
        return os.stat_result((stat.S_IFREG, 0, 0, 0, 0, 0, info.size, 0, 0, 0))

    def open(  # type: ignore[override]
        self, mode: str = "rb", *_: object, **__: object
    ) -> IO[bytes]:
        """Return the bytes of the object, from the first to the last.

        Raises
        ------
        OSError
            If it cannot be read, or is to be written.
        """
        if mode != "rb":
            raise OSError(errno.EROFS, "objects in a bucket are only read", str(self))
        content: IO[bytes] = filesystem(self.bucket).open_input_stream(self.inside)
        return content

    def open_file(self) -> pyarrow.NativeFile:
        """Return the object as a file of which parts can be read, several at a time.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        return filesystem(self.bucket).open_input_file(self.inside)

    def _info(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        return filesystem(self.bucket).get_file_info(self.inside)


def is_remote(address: str | os.PathLike[str]) -> bool:
    """Return whether an address is a URL, not a path on this machine.

    Examples
    --------
    >>> is_remote("s3://bucket/lake"), is_remote("lakes/s3")
    (True, False)
    """
    return isinstance(address, RemotePath) or _URL.match(os.fspath(address)) is not None


def locate(address: str | os.PathLike[str]) -> Path:
    """Return the place that a command line or a caller means.

    Raises
    ------
    UsageError
        If it is a URL, but of no bucket that can be read.
    """
    if isinstance(address, RemotePath):
        return address
    return RemotePath.parse(os.fspath(address)) if is_remote(address) else Path(address)


def located(root: Path, path: str, *, n_bytes: int) -> Path:
    """Return where a file of a lake is that the manifest names: below the lake, or by an address of its own."""
    place = RemotePath.parse(path) if is_remote(path) else root / path
    return place.sized(n_bytes) if isinstance(place, RemotePath) else place


def require_local(address: str | os.PathLike[str], *, what: str, instead: str) -> Path:
    """Return a path on this machine.

    Raises
    ------
    UsageError
        If the address is a URL; the message says what cannot be done there, and what to do instead.
    """
    if is_remote(address):
        raise UsageError(f"{address}: {what}: a lake in a bucket is only read; {instead}")
    return Path(address)
