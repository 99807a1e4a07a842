"""Tables as blocks of rows: what every kind of table offers, streamed, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Block", "Flaw", "Table"]


class Block(Protocol):
    """Some rows of a table."""

    @property
    def columns(self) -> dict[str, pa.Array]:
        """Columns by name, each of `n_rows` cells."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def line_of(self, i_row: int) -> int:
        """Return the number of a row's line in the file, from 1."""


class Table(Protocol):
    """A table that can be read block by block."""

    columns: list[str]
    ragged: Flaw
    """Lines that were dropped, since they have another number of cells than the header."""
    garbled: Flaw
    """Lines that are not UTF-8; their other cells count."""
    is_cut: bool
    """Whether the last line has no end; known after the last block."""

    def blocks(self, columns: Sequence[str], *, integers: Sequence[str]) -> Iterator[Block]:
        """Yield blocks of some columns; those of ``integers`` as integers where all their cells are."""


@dataclass(slots=True)
class Flaw:
    """Lines that something is wrong with."""

    n_lines: int = 0
    first: str = ""
    """Number and text of the first."""

    def note(self, n_lines: int, *, line: int, text: str) -> None:
        """Count lines; the number and text are those of the first."""
        if not self.n_lines:
            self.first = f"line {line}: {text[:60]!r}"
        self.n_lines += n_lines
