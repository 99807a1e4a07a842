"""One writer a recording, one compaction a lake: a lock that ends with its process, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import TYPE_CHECKING, Final

from profiler.errors import LakeError
from profiler.store.segments import remedy

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LakeLock"]

_LOCK_NAME: Final = "writers.lock"
_FLOCK: Final = struct.Struct("hhqqi4x")
"""``struct flock`` of 64-bit Linux: l_type, l_whence, l_start, l_len, l_pid."""


class LakeLock:
    """An open-file-description lock on one byte of ``writers.lock``; the byte's place is the hash of what is locked.

    Such a lock also holds between two writers of one process, unlike ``fcntl.lockf`` (fcntl(2), "Open file description
    locks"), and one file serves all recordings, so none is left behind.

    Parameters
    ----------
    root
        Folder of the lake.
    key
        What is locked: a recording's id, or another SHA-256 in hexadecimal digits.
    work
        What its holder does, for the message to others.

    Raises
    ------
    LakeError
        If another writer holds it, or the folder cannot be written.
    """

    def __init__(self, root: Path, key: str, *, work: str) -> None:
        path = root / _LOCK_NAME
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise LakeError(f"{path}: {error.strerror}; {remedy(error)}") from error
        place = int(key[:15], 16)
        try:
            fcntl.fcntl(self._handle, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
        except OSError as error:
            self.release()
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise LakeError(f"{path}: {error.strerror}; {remedy(error)}") from error
            raise LakeError(f"{root}: another process is {work}; wait until it ends") from error

    def release(self) -> None:
        """Let another writer have it."""
        os.close(self._handle)
