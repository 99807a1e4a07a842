"""`unpacked`: the bytes inside a compressed stream, piece by piece, with an end to what a small file may grow to."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Protocol

import zstandard

from profiler.errors import BadInput, Truncated

__all__ = ["COMPRESSIONS", "unpacked"]

_PACKED_BYTES: Final = 4096
"""Compressed bytes unpacked at a time: 128 MiB at the very most (zstd, 4 bytes for 128 KiB), and all that is lost when
damage is met."""
_PIECE_BYTES: Final = 1 << 20
"""Unpacked bytes handed on at a time: whoever takes them keeps a copy for a while."""
TRUSTED_BYTES: Final = 256 << 20
"""What any file may unpack to, however small it is."""
MAX_RATIO: Final = 400
"""How much larger than itself beyond those: tables of counters reach 30, JSON 150, zeros a thousand and more."""
_TOO_WIDE: Final = "too much memory"
"""In what zstandard says of a window of more than 128 MiB, which ``zstd -d`` refuses too."""


class _Decoder(Protocol):
    """What bz2, zlib, lzma and zstandard decoders have in common."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what the data unpack to."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has ended."""

    @property
    def unused_data(self) -> bytes:
        """Bytes after the end of the stream."""


class _Compression(NamedTuple):
    magics: tuple[bytes, ...]
    make: Callable[[], _Decoder]
    damage: type[Exception]


def unpacked(pieces: Iterable[bytes], *, kind: str, name: str) -> Iterator[bytes]:
    """Yield the bytes inside compressed pieces; members that follow each other are one stream, as for ``gzip -d``.

    Parameters
    ----------
    pieces
        The compressed bytes.
    kind
        One of `COMPRESSIONS`.
    name
        What messages call the file.

    Raises
    ------
    Truncated
        After all sound bytes were yielded, if the data end too early.
    BadInput
        Likewise, if they are damaged, if something else follows them, or if they unpack to more than any dump does.
    """
    stream = _Stream(kind, name=name)
    for piece in pieces:
        if not piece:  # of a file that grows there is no more yet
            yield piece
        for start in range(0, len(piece), _PACKED_BYTES):
            yield from stream.unpack(piece[start : start + _PACKED_BYTES])
    stream.check_end()


class _Stream:
    """One member after the other, and how far it came."""

    def __init__(self, kind: str, *, name: str) -> None:
        self._kind = kind
        self._name = name
        self._compression = COMPRESSIONS[kind]
        self._decoder = self._compression.make()
        self._n_in = 0
        self._n_out = 0

    def unpack(self, data: bytes) -> Iterator[bytes]:
        while data and not (self._decoder.eof and not data.strip(b"\x00")):
            if self._decoder.eof:
                self._check_follows(data)
                self._decoder = self._compression.make()
            out = self._decoded(data)
            self._n_in += len(data) - len(self._decoder.unused_data)
            self._n_out += len(out)
            data = self._decoder.unused_data
            for start in range(0, len(out), _PIECE_BYTES):
                yield out[start : start + _PIECE_BYTES]
            self._check_size()

    def check_end(self) -> None:
        """Raise if the data ended inside a member."""
        if not self._decoder.eof:
            raise Truncated(
                f"{self._name}: {self._kind} data end early, after {self._n_in} bytes; what stood before was read; "
                "fetch the file again"
            )

    def _decoded(self, data: bytes) -> bytes:
        try:
            return self._decoder.decompress(data)
        except self._compression.damage as error:
            if _TOO_WIDE in str(error):
                raise BadInput(
                    f"{self._name}: packed by zstd --long or --ultra, whose window is wider than 128 MiB; unpack it "
                    "with zstd -d --long=31 and give the result"
                ) from error
            raise BadInput(
                f"{self._name}: {self._kind} data damaged near byte {self._n_in} ({error}); what stood before was "
                "read; fetch the file again"
            ) from error

    def _check_follows(self, data: bytes) -> None:
        """Raise if what follows a member is no other one; of one that a piece cuts, the beginning is enough."""
        if not any(data.startswith(magic[: len(data)]) for magic in self._compression.magics):
            raise BadInput(
                f"{self._name}: byte {self._n_in}: the {self._kind} data end, and {data[:16]!r} follows them; what "
                "stood before was read; fetch the file again, or cut it off"
            )

    def _check_size(self) -> None:
        if self._n_out > TRUSTED_BYTES and self._n_out > MAX_RATIO * self._n_in:
            raise BadInput(
                f"{self._name}: {self._n_in} bytes of {self._kind} unpack to more than {self._n_out}: looks like a "
                "bomb; what stood before was read; if it is none, unpack it yourself and give the result"
            )


def _gzip_decoder() -> _Decoder:
    return zlib.decompressobj(wbits=31)


def _zstd_decoder() -> _Decoder:
    decoder: _Decoder = zstandard.ZstdDecompressor().decompressobj()
    return decoder


_ZSTD_SKIPPABLE: Final = tuple(bytes((0x50 + n, 0x2A, 0x4D, 0x18)) for n in range(16))
"""Frames that hold no data, as pzstd writes at first."""
_BZIP2: Final = tuple(b"BZh%d" % level + first for level in range(1, 10) for first in (b"1AY&", b"\x17rE8"))
"""A member begins with a block, or ends at once."""

COMPRESSIONS: Final[dict[str, _Compression]] = {
    "gzip": _Compression((b"\x1f\x8b",), _gzip_decoder, zlib.error),
    "zstd": _Compression((b"\x28\xb5\x2f\xfd", *_ZSTD_SKIPPABLE), _zstd_decoder, zstandard.ZstdError),
    "xz": _Compression((b"\xfd7zXZ\x00",), lzma.LZMADecompressor, lzma.LZMAError),
    "bzip2": _Compression(_BZIP2, bz2.BZ2Decompressor, OSError),
}
"""What can be unpacked, how it begins, and how."""
