"""The lines of an input, until its end or the first damage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput

if TYPE_CHECKING:
    from profiler.importers.inputs import Input

__all__ = ["Lines", "lines_of"]

MAX_LINE_BYTES: Final = 16 << 20
"""A longer line is no text of lines; reading ends there, so that memory is bounded."""


class Lines:
    """Iterates over each line without its end; damage becomes a problem, after the sound lines.

    Attributes
    ----------
    is_cut : bool
        After the last line: whether it had no end.
    """

    def __init__(self, source: Input, problems: list[str]) -> None:
        self.is_cut = False
        self._source = source
        self._problems = problems

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        name = self._source.name
        try:
            for piece in self._source.pieces():
                *lines, rest = (rest + piece).split(b"\n")
                yield from (line.rstrip(b"\r") for line in lines)
                if len(rest) > MAX_LINE_BYTES:
                    self._problems.append(f"{name}: a line of more than {MAX_LINE_BYTES} bytes; read up to there")
                    return
        except BadInput as error:
            self._problems.append(str(error))
        if rest:
            self.is_cut = True
            yield rest.rstrip(b"\r")


def lines_of(source: Input, problems: list[str]) -> Iterator[bytes]:
    """Yield each line without its end; see `Lines`."""
    return iter(Lines(source, problems))
