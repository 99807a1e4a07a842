"""Delimited text as blocks of columns; rows that are none are counted, and the first is named by its line."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from profiler.errors import BadInput
from profiler.importers.blocks import Block, Flaw

if TYPE_CHECKING:
    from profiler.importers.inputs import Input

__all__ = ["TextBlock", "TextTable", "split_header"]

BLOCK_BYTES: Final = 4 << 20
LONGEST_LINE_BYTES: Final = 64 << 20
ABSENT: Final = ("", "NA", "N/A", "N/A (no PMA)", "NaN", "nan", "null", "NULL", "None", "-")
"""Cells that say that there is no value."""

_DELIMITERS: Final = ",\t;|"
_GARBLED: Final = "\ufffd"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Rows of text, with the bytes that they were read from.

    Parameters
    ----------
    text, first_line
        The bytes, and the number of their first line.
    ragged
        Numbers of the records of ``text``, from 1 and without blank lines, that are no rows.
    """

    columns: dict[str, pa.Array]
    n_rows: int
    text: bytes
    first_line: int
    ragged: frozenset[int]

    def line_of(self, i_row: int) -> int:
        """Return the number of a row's line."""
        rows = (number for number in itertools.count(1) if number not in self.ragged)
        return self.line_of_record(next(itertools.islice(rows, i_row, None)))

    def line_of_record(self, number: int) -> int:
        """Return the number of the line of a record, blank lines included."""
        lines = (i for i, line in enumerate(self.text.splitlines()) if line)
        return self.first_line + next(itertools.islice(lines, number - 1, None), 0)


def split_header(head: bytes, *, delimiter: str | None = None, name: str = "table") -> tuple[list[str], str]:
    """Return the column names in the first line of a text, and the delimiter between them.

    Raises
    ------
    BadInput
        If the line is not UTF-8, no row of cells, or names a column twice.
    """
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    try:
        header = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: line 1: not UTF-8 ({error.reason}); convert it, as with iconv") from error
    found = delimiter or max(_DELIMITERS, key=header.count)
    try:
        columns = [column.strip() for column in next(csv.reader([header], delimiter=found), [])]
    except csv.Error as error:
        raise BadInput(f"{name}: line 1: not a header ({error}); is it a table?") from error
    twice = [column for column, n in Counter(columns).items() if n > 1]
    if twice:
        raise BadInput(f"{name}: line 1: column {twice[0]!r} stands there twice; rename one")
    return columns, found


@dataclass(slots=True)
class TextTable:
    """Delimited text with a header, of any compression that `Input.pieces` knows."""

    source: Input
    columns: list[str]
    delimiter: str
    ragged: Flaw = field(default_factory=Flaw)
    garbled: Flaw = field(default_factory=Flaw)
    is_cut: bool = False

    def blocks(self, columns: Sequence[str], *, integers: Sequence[str]) -> Iterator[Block]:
        """Yield blocks of rows; see `Table`.

        Raises
        ------
        Truncated, BadInput
            After the last sound block, if the file is cut or damaged.
        """
        typed = set(integers)
        first_line = 1
        for text in _blocks_of_lines(self.source):
            n_lines = text.count(b"\n")
            is_head = first_line == 1
            block = text.partition(b"\n")[2] if is_head else text
            if block and not block.isspace():
                self.is_cut = not block.endswith(b"\n")
                sound = _utf8(block)
                parsed = self._block(sound, columns, typed=typed, first_line=first_line + is_head)
                if parsed is None:  # a cell that is no integer; whoever takes the text can tell which
                    typed = set()
                    parsed = self._text_block(sound, columns, first_line=first_line + is_head)
                if sound is not block:
                    self._note_garbled(parsed)
                yield parsed
            first_line += n_lines

    def _text_block(self, text: bytes, columns: Sequence[str], *, first_line: int) -> TextBlock:
        block = self._block(text, columns, typed=set(), first_line=first_line)
        if block is None:
            raise BadInput(f"{self.source.name}: line {first_line} and after: not delimited text; is it a table?")
        return block

    def _note_garbled(self, block: TextBlock) -> None:
        """Note the lines of a block that were not UTF-8, if cells that are read are among them."""
        texts = [column for column in block.columns.values() if pa.types.is_string(column.type)]
        if any(pc.any(pc.match_substring(column, _GARBLED)).as_py() for column in texts):
            lines = enumerate(block.text.decode().split("\n"), block.first_line)
            garbled = [(i_line, line) for i_line, line in lines if _GARBLED in line]
            self.garbled.note(len(garbled), line=garbled[0][0], text=garbled[0][1])

    def _block(self, text: bytes, columns: Sequence[str], *, typed: set[str], first_line: int) -> TextBlock | None:
        """Return a block of rows, None if a cell is not of its column's type."""
        ragged: list[pacsv.InvalidRow] = []

        def drop(row: pacsv.InvalidRow) -> str:
            ragged.append(row)
            return "skip"

        types = {name: pa.int64() if name in typed else pa.string() for name in columns}
        try:
            rows = pacsv.read_csv(
                pa.BufferReader(text),
                read_options=pacsv.ReadOptions(column_names=self.columns, use_threads=False, block_size=len(text) + 1),
                parse_options=pacsv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=drop),
                convert_options=pacsv.ConvertOptions(
                    include_columns=list(columns), column_types=types, null_values=ABSENT, strings_can_be_null=True
                ),
            )
        except pa.ArrowInvalid:
            return None
        block = TextBlock(
            columns={name: rows[name].combine_chunks() for name in columns},
            n_rows=rows.num_rows,
            text=text,
            first_line=first_line,
            ragged=frozenset(row.number for row in ragged),
        )
        if ragged:
            self.ragged.note(len(ragged), line=block.line_of_record(ragged[0].number), text=ragged[0].text)
        return block


def _utf8(text: bytes) -> bytes:
    """Return a text, with `_GARBLED` for what is not UTF-8 in it, of which Arrow says nothing that can be caught."""
    if text.isascii():
        return text
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").encode()
    return text


def _blocks_of_lines(source: Input) -> Iterator[bytes]:
    """Yield whole lines, about `BLOCK_BYTES` at a time; a last line that damage cut is dropped."""
    rest: list[bytes] = []
    n_rest = 0
    try:
        for piece in source.pieces():
            rest.append(piece)
            n_rest += len(piece)
            if n_rest >= BLOCK_BYTES:
                text, newline, last = b"".join(rest).rpartition(b"\n")
                rest, n_rest = [last], len(last)
                if newline:
                    yield text + newline
                _check_line(last, name=source.name)
    except BadInput:
        text, newline, _ = b"".join(rest).rpartition(b"\n")
        if newline:
            yield text + newline
        raise
    yield b"".join(rest)


def _check_line(start: bytes, *, name: str) -> None:
    if len(start) > LONGEST_LINE_BYTES:
        raise BadInput(
            f"{name}: a line longer than {LONGEST_LINE_BYTES} bytes begins with {start[:40]!r}; is it a text table?"
        )
