"""What a file is by its first bytes, whatever its name says, and the bytes inside its compression."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

import zstandard

from profiler.errors import BadInput, Truncated

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["HEAD_BYTES", "head_of", "inflated", "kind_of"]

HEAD_BYTES: Final = 65_536
"""Bytes, after decompression, by which a file is recognised."""

_RAW_BYTES: Final = 1 << 20
_PACKED_BYTES: Final = 4096
"""Compressed bytes unpacked at a time: 128 MiB at the very most (zstd, 4 bytes for 128 KiB), and all that is lost when
damage is met."""

_TAR_MAGIC_AT: Final = 257
_SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
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
    (b"<!doctype html", "HTML page"),
    (b"<html", "HTML page"),
    (b"<", "XML document"),
    (b"{", "JSON"),
    (b"[", "JSON"),
)
_TEXT_CONTROLS: Final = frozenset(b"\t\n\r\f\x1b\x08")


class _Decoder(Protocol):
    """What zlib, lzma and zstandard decoders have in common."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what the data unpack to."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """Bytes after the end of the stream."""


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
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
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


def inflated(path: Path, *, name: str | None = None, advance: Callable[[int], object] = int) -> Iterator[bytes]:
    """Yield the bytes of a file piece by piece, decompressed if it is gzip, zstd or xz.

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
            start = stream.read(8)
            stream.seek(0)
            kind = kind_of(start)
            raw = _raw_pieces(stream, advance=advance)
            yield from raw if kind not in _DECODERS else _unpacked(raw, kind=kind, name=name)
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}; check the path and its permissions") from error


def _raw_pieces(stream: BinaryIO, *, advance: Callable[[int], object]) -> Iterator[bytes]:
    while piece := stream.read(_RAW_BYTES):
        yield piece
        advance(len(piece))


def _unpacked(pieces: Iterator[bytes], *, kind: str, name: str) -> Iterator[bytes]:
    make, damage = _DECODERS[kind]
    decoder = make()
    n_done = 0
    for piece in pieces:
        for start in range(0, len(piece), _PACKED_BYTES):
            data = piece[start : start + _PACKED_BYTES]
            while data and not (decoder.eof and not data.strip(b"\x00")):
                if decoder.eof:
                    decoder = make()
                try:
                    out = decoder.decompress(data)
                except damage as error:
                    raise BadInput(
                        f"{name}: {kind} data damaged near byte {n_done} ({error}); what stood before was read; "
                        "fetch the file again"
                    ) from error
                n_done += len(data) - len(decoder.unused_data)
                data = decoder.unused_data
                yield out
    if not decoder.eof:
        raise Truncated(
            f"{name}: {kind} data end early, after {n_done} bytes; what stood before was read; fetch the file again"
        )


def _gzip_decoder() -> _Decoder:
    return zlib.decompressobj(wbits=31)


def _zstd_decoder() -> _Decoder:
    decoder: _Decoder = zstandard.ZstdDecompressor().decompressobj()
    return decoder


_DECODERS: Final[dict[str, tuple[Callable[[], _Decoder], type[Exception]]]] = {
    "gzip": (_gzip_decoder, zlib.error),
    "zstd": (_zstd_decoder, zstandard.ZstdError),
    "xz": (lzma.LZMADecompressor, lzma.LZMAError),
}
