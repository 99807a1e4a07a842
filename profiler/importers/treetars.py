"""Tar archives of saved trees of ``/sys``, unpacked whole: links in them lead from one member to another."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput
from profiler.importers.inputs import Unread
from profiler.importers.spools import is_full, no_room, temporary_folder
from profiler.importers.trees import LARGEST_FILE

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

__all__ = ["unpacked_tar"]

_NOT_UNPACKED: Final = (OSError, KeyError, ValueError, tarfile.StreamError)
"""What tarfile raises of a name that the disk refuses, a hard link to nothing, a NUL in a name, a link to what was
passed over."""


@contextmanager
def unpacked_tar(stream: IO[bytes], *, name: str, unread: list[Unread]) -> Iterator[Path]:
    """Yield a temporary folder with the files of a tar archive; links and members outside of it are refused by tarfile.

    Parameters
    ----------
    stream
        The archive.
    name
        What messages call it.
    unread
        Takes, before the folder is yielded, what could not be unpacked.

    Raises
    ------
    BadInput
        If a member would be written outside of the folder, or there is no room for it.
    """
    with temporary_folder(name=name) as folder:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                unread += _unpack_all(archive, folder, name=name)
        except tarfile.FilterError as error:
            raise BadInput(f"{name}: tar archive hostile ({error}); nothing of it was read") from error
        except tarfile.TarError as error:
            why = f"tar archive damaged ({error}); members before were read; fetch it again"
            unread.append(Unread(name=name, why=why, is_fault=True))
        except BadInput as error:
            unread.append(Unread(name=name, why=str(error).removeprefix(f"{name}: "), is_fault=True))
        yield folder


def _unpack_all(archive: tarfile.TarFile, folder: Path, *, name: str) -> Iterator[Unread]:
    """Write every member, and yield those of which that is not possible."""
    for member in archive:
        if why := _unpack(member, archive, folder, name=name):
            yield Unread(name=f"{name}!{member.name}", why=why, is_fault=True)


def _unpack(member: tarfile.TarInfo, archive: tarfile.TarFile, folder: Path, *, name: str) -> str:
    """Write a member, and return why that is not possible, or nothing."""
    if member.size > LARGEST_FILE:
        return f"{member.size} bytes, more than a file of /sys has; it was left out"
    try:
        archive.extract(member, folder, filter="data")
    except (tarfile.ReadError, BadInput):
        (folder / member.name).unlink(missing_ok=True)  # a count that was cut is another count
        raise
    except _NOT_UNPACKED as error:
        if isinstance(error, OSError) and is_full(error):
            raise no_room(name, error) from error
        reason = getattr(error, "strerror", None) or error
        return f"cannot be unpacked: {reason}; unpack the archive and give its folder"
    return ""
