"""The lines of an input, until its end or the first damage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput

if TYPE_CHECKING:
    from profiler.importers.inputs import Input

__all__ = ["lines_of"]

MAX_LINE_BYTES: Final = 16 << 20
"""A longer line is no text of lines; reading ends there, so that memory is bounded."""


def lines_of(source: Input, problems: list[str]) -> Iterator[bytes]:
    """Yield each line without its end; damage becomes a problem, after the sound lines."""
    rest = b""
    try:
        for piece in source.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line.rstrip(b"\r") for line in lines)
            if len(rest) > MAX_LINE_BYTES:
                problems.append(f"{source.name}: a line of more than {MAX_LINE_BYTES} bytes; read up to there")
                return
    except BadInput as error:
        problems.append(str(error))
    if rest:
        yield rest.rstrip(b"\r")
