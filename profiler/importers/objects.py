"""Objects of a JSON document, one at a time, whatever its size and wherever it is cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import ijson

from profiler.errors import BadInput

if TYPE_CHECKING:
    from profiler.importers.inputs import Input

__all__ = ["first_text", "objects_in"]


def objects_in(source: Input, path: str, *, problems: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects at a path of ijson, such as ``data.result.item``; damage becomes a problem, after them.

    Documents may stand after each other, as ``curl`` appends them.
    """
    try:
        for found in ijson.items(_Stream(source.pieces()), path, use_float=True, multiple_values=True):
            if isinstance(found, Mapping):
                yield found
    except BadInput as error:
        problems.append(str(error))
    except (ijson.JSONError, UnicodeDecodeError) as error:
        reason = str(error).strip().splitlines()[0]
        problems.append(
            f"{source.name}: JSON damaged or cut ({reason}); what stood before was read; fetch the file again"
        )


def first_text(source: Input, path: str) -> str:
    """Return the first text at a path; empty if there is none up to the end or the first damage."""
    try:
        return next((text for text in ijson.items(_Stream(source.pieces()), path) if isinstance(text, str)), "")
    except (BadInput, ijson.JSONError, UnicodeDecodeError):
        return ""


class _Stream:
    """What ijson reads: pieces of bytes, as long as there are some."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, n_bytes: int) -> bytes:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._rest = piece
        found, self._rest = self._rest[:n_bytes], self._rest[n_bytes:]
        return found
