"""`spooled`: a stream as a temporary file, for what has to be read more than once or out of order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from profiler.errors import BadInput

__all__ = ["pieces_of", "spooled"]

_COPY_BYTES: Final = 1 << 20


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
    with tempfile.NamedTemporaryFile(prefix="offbeat-") as spool:
        for piece in pieces:
            try:
                spool.write(piece)
                spool.flush()
            except OSError as error:
                raise BadInput(
                    f"{name}: cannot be copied to {tempfile.gettempdir()} to be read: {error.strerror or error}; make "
                    "room there, or set TMPDIR to a folder that has it"
                ) from error
        yield Path(spool.name)
