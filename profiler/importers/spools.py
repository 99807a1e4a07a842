"""Temporary copies: of a stream that has to be read more than once or out of order, and folders of what is unpacked."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from profiler.errors import BadInput

__all__ = ["is_full", "no_room", "pieces_of", "spooled", "temporary_folder"]

_COPY_BYTES: Final = 1 << 20
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PREFIX: Final = "offbeat-"


def pieces_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what is left of a stream."""
    while piece := stream.read(_COPY_BYTES):
        yield piece


@contextmanager
def spooled(pieces: Iterable[bytes], *, name: str) -> Iterator[Path]:
    """Yield a temporary file of pieces of bytes, which lives as long as the context.

    Raises
    ------
    BadInput
        If there is no room for it, or what the pieces raise.
    """
    try:
        made = tempfile.NamedTemporaryFile(prefix=_PREFIX)  # noqa: SIM115 - closed below; only its making is tried
    except OSError as error:
        raise no_room(name, error) from error
    with made as spool:
        for piece in pieces:
            try:
                spool.write(piece)
                spool.flush()
            except OSError as error:
                raise no_room(name, error) from error
        yield Path(spool.name)


@contextmanager
def temporary_folder(*, name: str) -> Iterator[Path]:
    """Yield a temporary folder for what an input is unpacked to, which lives as long as the context.

    Raises
    ------
    BadInput
        If it cannot be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
    except OSError as error:
        raise no_room(name, error) from error
    with folder as path:
        yield Path(path)


def is_full(error: OSError) -> bool:
    """Return whether there is no room left on the disk, which no other file would find either."""
    return error.errno in _FULL


def no_room(name: str, error: OSError) -> BadInput:
    """Return what to say of an input that cannot be copied to where temporary files are."""
    return BadInput(
        f"{name}: cannot be copied to {_place()} to be read: {error.strerror or error}; make room there, or set TMPDIR "
        "to a folder that has it"
    )


def _place() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:
        return "a folder for temporary files"
