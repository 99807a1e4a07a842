"""What is inside compressed files: members after each other, what follows them, and files that grow without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from profiler.errors import BadInput, Truncated
from profiler.importers import read_counters
from profiler.importers.contents import head_of, inflated
from profiler.importers.inputs import Input
from profiler.importers.spools import spooled
from tests.profiler.dumps import put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TEXT = b"t_ns,eth0.rx_bytes\n1000,1\n2000,3\n"
ZEROS = bytes(1 << 20)
PACKS = [gzip.compress, zstandard.compress, lzma.compress, bz2.compress]
SKIPPABLE = struct.pack("<II", 0x184D2A50, 5) + b"hello"


def read(path: Path) -> bytes:
    return b"".join(inflated(path))


@pytest.mark.parametrize("pack", PACKS)
def test_members_after_each_other_are_one_stream_and_padding_is_none(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(TEXT) + pack(b"") + pack(TEXT)

    assert read(put(tmp_path / "two", packed)) == TEXT * 2
    assert read(put(tmp_path / "padded", packed + bytes(512))) == TEXT * 2


def test_frames_that_hold_no_data_are_passed_over(tmp_path: Path) -> None:
    frame = zstandard.compress(TEXT)

    assert read(put(tmp_path / "pzstd", SKIPPABLE + frame + SKIPPABLE + frame)) == TEXT * 2


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("rest", [b"!", b"garbage", b"t_ns,eth0.rx_bytes\n"])
def test_what_follows_the_last_member_is_named_by_its_place(
    tmp_path: Path, pack: Callable[[bytes], bytes], rest: bytes
) -> None:
    packed = pack(TEXT)
    counters, problems = read_counters(put(tmp_path / "t.csv", packed + rest))

    assert counters[0][2].tolist() == [1, 3]
    assert problems[0].startswith(f"{tmp_path / 't.csv'}: byte {len(packed)}: ")
    assert repr(rest[:16]) in problems[0]


def test_a_member_that_is_cut_in_its_first_bytes_is_one(tmp_path: Path) -> None:
    path = put(tmp_path / "cut", gzip.compress(TEXT) + gzip.compress(TEXT)[:1])
    with pytest.raises(Truncated, match="data end early"):
        read(path)


@pytest.mark.parametrize("pack", PACKS)
def test_a_small_file_that_unpacks_without_end_is_left_after_what_stood_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr("profiler.importers.unpacking.TRUSTED_BYTES", 4 << 20)
    path = put(tmp_path / "bomb", pack(ZEROS * 8) * 16)
    pieces: list[int] = []
    with pytest.raises(BadInput, match=r"looks like a bomb.*unpack it yourself"):
        pieces.extend(map(len, inflated(path)))

    assert 4 << 20 < sum(pieces) < 128 << 20


def test_a_file_that_repeats_itself_as_tables_do_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.unpacking.TRUSTED_BYTES", 1 << 16)
    text = b"t_ns,eth0.rx_bytes\n" + b"".join(b"%d,7\n" % (10**18 + i * 10**6) for i in range(50_000))

    assert read(put(tmp_path / "idle", gzip.compress(text))) == text


def test_a_window_wider_than_that_of_zstd_is_told_with_the_remedy(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=31, compression_level=1)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path = put(tmp_path / "wide", packer.compress(TEXT) + packer.flush())
    with pytest.raises(BadInput, match="zstd -d --long=31"):
        head_of(path)


def test_the_mark_of_utf8_is_no_part_of_a_text(tmp_path: Path) -> None:
    assert read(put(tmp_path / "plain", b"\xef\xbb\xbf" + TEXT)) == TEXT
    assert read(put(tmp_path / "packed", SKIPPABLE + zstandard.compress(b"\xef\xbb\xbf" + TEXT))) == TEXT


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_plain_file_is_itself_and_a_packed_one_a_copy_that_does_not_stay(tmp_path: Path, pack: Any) -> None:
    source = Input(name="x", path=put(tmp_path / "x", pack(TEXT)))
    with source.plain() as path:
        assert path.read_bytes() == TEXT
        assert (path == source.path) is (pack is bytes)

    assert path.exists() is (pack is bytes)


def test_a_copy_that_there_is_no_room_for_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Full:
        name = "x"

        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    @contextmanager
    def full(prefix: str) -> Iterator[_Full]:  # noqa: ARG001 - as of the file that it stands for
        yield _Full()

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    with pytest.raises(BadInput, match=r"^big: cannot be copied to .*: No space left on device; make room"):
        spooled([b"1"], name="big").__enter__()
