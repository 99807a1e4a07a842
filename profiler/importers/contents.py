"""What a file is by its first bytes, whatever its name says, and the bytes inside its compression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from profiler.errors import BadInput
from profiler.importers.unpacking import COMPRESSIONS, unpacked

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["HEAD_BYTES", "head_of", "inflated", "is_packed", "kind_of"]

HEAD_BYTES: Final = 65_536
"""Bytes, after decompression, by which a file is recognised."""

_RAW_BYTES: Final = 1 << 20
_MAGIC_BYTES: Final = 8
"""By which a compression is told."""
_UTF8_MARK: Final = b"\xef\xbb\xbf"
"""What PowerShell and Excel write before UTF-8 text; no binary format begins so."""
_TAR_MAGIC_AT: Final = 257
_SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    *((magic, kind) for kind, compression in COMPRESSIONS.items() for magic in compression.magics),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\xa1\xb2\xc3\xd4", "pcap"),
    (b"\xd4\xc3\xb2\xa1", "pcap"),
    (b"\xa1\xb2\x3c\x4d", "pcap"),
    (b"\x4d\x3c\xb2\xa1", "pcap"),
    (b"\xa1\xb2\xcd\x34", "pcap"),
    (b"\x34\xcd\xb2\xa1", "pcap"),
    (b"\x0a\x0d\x0d\x0a", "pcapng"),
    (b"PAR1", "Parquet"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "zip archive"),
    (b"\x7fELF", "ELF program"),
    (b"ARROW1", "Arrow file"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_MARKUP: Final[tuple[tuple[bytes, str], ...]] = (
    (b"#\n# topology file: generated on", "a fabric of ibnetdiscover"),
    (b"<!doctype html", "HTML page"),
    (b"<html", "HTML page"),
    (b"<", "XML document"),
    (b"{", "JSON"),
    (b"[", "JSON"),
)
_TEXT_CONTROLS: Final = frozenset(b"\t\n\r\f\x1b\x08")


def kind_of(head: bytes) -> str:
    """Return what bytes look like: a format's name, ``text``, ``binary data`` or ``empty``.

    Examples
    --------
    >>> kind_of(b"t_ns,eth0.rx_bytes"), kind_of(b"<!DOCTYPE html>"), kind_of(b"")
    ('text', 'HTML page', 'empty')
    """
    if not head:
        return "empty"
    for magic, kind in _SIGNATURES:
        if head.startswith(magic):
            return kind
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "tar archive"
    if any(byte < 32 and byte not in _TEXT_CONTROLS for byte in head[:4096]):
        return "binary data"
    text = head.removeprefix(_UTF8_MARK).lstrip().lower()
    if not text:
        return "blank text"
    return next((kind for start, kind in _MARKUP if text.startswith(start)), "text")


def head_of(path: Path, n_bytes: int = HEAD_BYTES, *, name: str | None = None) -> bytes:
    """Return the first bytes of a file, decompressed; what damage leaves of them, if it is damaged; see `inflated`.

    Raises
    ------
    BadInput
        If the file cannot be read at all.
    """
    head = b""
    try:
        for piece in inflated(path, name=name):
            head += piece
            if len(head) >= n_bytes:
                break
    except BadInput:
        if not head:
            raise
    return head[:n_bytes]


def is_packed(path: Path, *, name: str | None = None) -> bool:
    """Return whether a file is compressed in a way that `inflated` undoes.

    Raises
    ------
    BadInput
        If the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return kind_of(stream.read(_MAGIC_BYTES)) in COMPRESSIONS
    except OSError as error:
        raise BadInput(f"{name or path}: {error.strerror or error}; check the path and its permissions") from error


def inflated(path: Path, *, name: str | None = None, advance: Callable[[int], object] = int) -> Iterator[bytes]:
    """Yield the bytes of a file piece by piece, decompressed if they are of `COMPRESSIONS`, less the mark of UTF-8.

    Parameters
    ----------
    path
        A regular file.
    name
        What messages call it; else its path.
    advance
        Called with the number of bytes of the file that each step has read.

    Raises
    ------
    Truncated
        After all sound bytes were yielded, if the compressed data end too early.
    BadInput
        Likewise, if they are damaged; at once, if the file cannot be read.
    """
    name = name or str(path)
    try:
        with path.open("rb") as stream:
            kind = kind_of(stream.read(_MAGIC_BYTES))
            stream.seek(0)
            raw = _raw_pieces(stream, advance=advance)
            yield from _without_mark(raw if kind not in COMPRESSIONS else unpacked(raw, kind=kind, name=name))
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}; check the path and its permissions") from error


def _raw_pieces(stream: BinaryIO, *, advance: Callable[[int], object]) -> Iterator[bytes]:
    while piece := stream.read(_RAW_BYTES):
        yield piece
        advance(len(piece))


def _without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces less the mark of UTF-8 that the first, which is no shorter, may begin with."""
    for piece in pieces:
        if piece:
            yield piece.removeprefix(_UTF8_MARK)
            break
    yield from pieces
