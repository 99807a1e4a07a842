"""Damaged tables: what is sound is read, what is not is named by its place."""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from profiler.errors import BadInput
from profiler.importers import read_counters
from tests.profiler.tables import table

if TYPE_CHECKING:
    from pathlib import Path


def test_bad_cells_name_their_line_column_and_value_and_the_rest_is_read(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes,a.tx_bytes\n1,1,1\n\n2,oops,2\n3,3\n4,4,-4\nnever,5,5\n6,6,6\n"
    counters, problems = read_counters(table(tmp_path, text))

    assert [value.tolist() for _, _, value, _ in counters] == [[1, 4, 6], [1, 2, 6]]
    said = "\n".join(problems)
    assert "line 4: column a.rx_bytes: 'oops' cannot be read; cells like it (1)" in said
    assert "line 6: column a.tx_bytes: '-4' cannot be read" in said
    assert "line 7: column t_ns: 'never' cannot be read" in said
    assert "line 5: '3,3': not the 3 cells of the header; lines like it (1)" in said


def test_bad_cell_of_a_later_block_names_its_line(tmp_path: Path) -> None:
    rows = [f"{1_796_003_288_000_000_000 + i},{i}" for i in range(400_000)]
    rows[350_000] = "1796003288000350000,oops"
    _, problems = read_counters(table(tmp_path, "t_ns,a.rx_bytes\n" + "\n".join(rows) + "\n"))

    assert len(problems) == 1
    assert "line 350002: column a.rx_bytes: 'oops'" in problems[0]


def test_bytes_that_are_no_utf8_cost_their_own_cells_only(tmp_path: Path) -> None:
    counters, problems = read_counters(table(tmp_path, b"t_ns,a.rx_bytes,note\n1,1,x\n2,\xff,x\n3,3,\xc3\n"))

    assert [value.tolist() for _, _, value, _ in counters] == [[1, 3]]
    assert "line 3" in problems[-1]
    assert "not UTF-8" in problems[-1]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lzma.compress])
def test_cut_compression_keeps_the_sound_rows(tmp_path: Path, pack: Any) -> None:
    rng = np.random.default_rng(3)
    steps = rng.integers(1, 10**9, 60_000).cumsum()
    text = "t_ns,a.rx_bytes\n" + "".join(f"{i},{step}\n" for i, step in enumerate(steps))
    packed = pack(text.encode())
    counters, problems = read_counters(table(tmp_path, packed[: len(packed) // 2]))

    _, t_ns, value, _ = counters[0]
    assert 10_000 < t_ns.size < 50_000
    np.testing.assert_array_equal(value, steps[: t_ns.size])
    assert f"data end early, after {len(packed) // 2} bytes" in problems[0]


def test_garbage_inside_gzip_keeps_what_stood_before(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes\n" + "".join(f"{i},{i * i * 7919}\n" for i in range(100_000))
    packed = bytearray(gzip.compress(text.encode()))
    packed[len(packed) // 2 :] = bytes(len(packed) - len(packed) // 2)
    counters, problems = read_counters(table(tmp_path, bytes(packed)))

    assert counters[0][1].size > 10_000
    assert "gzip data damaged near byte" in problems[0] or "end early" in problems[0]


def test_parquet_cut_or_of_another_type_says_so(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"t_ns": [1], "a.rx_bytes": [[1]]}), path)
    with pytest.raises(BadInput, match=r"column a.rx_bytes: expected numbers, found list"):
        read_counters(path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BadInput, match="not a readable Parquet file"):
        read_counters(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "looks like blank text"),
        (b"t_ns,a.rx_bytes\n", "a header and no rows"),
        (b"<!DOCTYPE html><p>404", "looks like HTML page"),
        (b"\x89PNG\r\n\x1a\n\0\0", "looks like PNG image"),
        (b'{"t_ns": 1}', "looks like JSON"),
        (b"#\n# Topology file: generated on Wed Aug  6", "give it to offbeat analyze with --cluster"),
        (b"\xff\xfet\0_\0n\0s\0", "looks like UTF-16 text"),
        (b"PK\x03\x04....", "looks like zip archive"),
        (gzip.compress(b"\0\1\2\3", mtime=0), "looks like binary data"),
        (b"\x1f\x8bnot gzip at all", "gzip data damaged near byte 0"),
        (b"when,a.rx_bytes\n1,2\n", "first column is 'when', expected t_ns or t_s"),
        (b"t_ns,a.bytes\n1,2\n", r"no column \{device\}.rx_bytes"),
        (b"t_ns,a.rx_bytes,a.rx_bytes\n1,2,3\n", "column 'a.rx_bytes' stands there twice"),
        (b"t_ns,a\xe9.rx_bytes\n1,2\n", "line 1: not UTF-8"),
        (b"t_ns,a.rx_bytes\nx,y\n", "'x' cannot be read"),
    ],
)
def test_file_that_is_not_what_its_name_says_fails_with_a_reason(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_counters(table(tmp_path, content))


def test_line_without_an_end_is_no_table_and_fills_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("profiler.importers.text_table.BLOCK_BYTES", 1000)
    monkeypatch.setattr("profiler.importers.text_table.LONGEST_LINE_BYTES", 4000)
    path = table(tmp_path, gzip.compress(b"t_ns,a.rx_bytes\n1,1\n2," + b"9" * 10_000_000))
    counters, problems = read_counters(path)

    assert counters[0][2].tolist() == [1]
    assert f"{path}: a line longer than 4000 bytes begins with b'2,9999" in problems[0]


def test_damage_is_named_after_the_member_or_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{i},{i * i * 7919}\n" for i in range(50_000))
    packed = gzip.compress(f"t_ns,a.rx_bytes\n{rows}".encode())[:-1000]
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        archive.add(table(tmp_path, packed, "cut.csv.gz"), "x/cut.csv.gz")
    _, problems = read_counters(tmp_path / "all.tar")
    assert [problem.partition(": gzip data end early")[0] for problem in problems] == [
        f"{tmp_path / 'all.tar'}!x/cut.csv.gz"
    ]

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    _, problems = read_counters("-")
    assert [problem.partition(": gzip data end early")[0] for problem in problems] == ["-"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x1f\x8bnot gzip at all")))
    with pytest.raises(BadInput, match=r"^-: gzip data damaged"):
        read_counters("-")
