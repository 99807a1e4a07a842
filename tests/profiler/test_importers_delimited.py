"""Counter tables: exact to the last byte, whatever their shape."""

from __future__ import annotations

import gzip
import lzma
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.importers import read_counters
from tests.data import shared
from tests.profiler.tables import LEAF, PLAIN, first, read, table

if TYPE_CHECKING:
    from pathlib import Path

# Plain tables


def test_plain_table_needs_no_mapping(tmp_path: Path) -> None:
    assert read(table(tmp_path, PLAIN, "leaf-1.csv")) == {
        ("leaf-1", "eth0", "receive"): ([1000, 2000, 3000], [1, 3, 5]),
        ("leaf-1", "eth0", "transmit"): ([1000, 2000, 3000], [2, 4, 6]),
    }


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_any_delimiter_newline_and_byte_order_mark(tmp_path: Path, delimiter: str, newline: str, start: str) -> None:
    text = start + PLAIN.replace(",", delimiter).replace("\n", newline)

    assert read(table(tmp_path, text)) == read(table(tmp_path, PLAIN))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lzma.compress])
def test_compression_is_told_by_content(tmp_path: Path, pack: Any) -> None:
    assert read(table(tmp_path, pack(PLAIN.encode()))) == read(table(tmp_path, PLAIN))


def test_last_line_without_newline_and_blank_lines_count_as_they_should(tmp_path: Path) -> None:
    assert read(table(tmp_path, PLAIN.replace("\n2000", "\n\n2000").rstrip())) == read(table(tmp_path, PLAIN))


def test_parquet_gives_what_csv_gives(tmp_path: Path) -> None:
    columns = {"t_ns": [1000, 2000, 3000], "eth0.rx_bytes": [1, 3, 5], "eth0.tx_bytes": [2, 4, 6]}
    for kind in (pa.int64(), pa.uint64(), pa.uint32(), pa.float64(), pa.string(), pa.decimal128(20, 0)):
        path = tmp_path / "table.csv"
        pq.write_table(pa.table({name: pa.array(cells).cast(kind) for name, cells in columns.items()}), path)
        assert read(path) == read(table(tmp_path, PLAIN)), kind


def test_host_is_what_the_caller_says_else_the_name_of_the_file(tmp_path: Path) -> None:
    path = table(tmp_path, PLAIN, "run.csv.gz")

    assert {host for host, _, _ in read(path)} == {"run"}
    assert {host for host, _, _ in read(path, host="leaf-9")} == {"leaf-9"}


def test_seconds_as_decimals_keep_every_nanosecond(tmp_path: Path) -> None:
    text = "t_s,a.rx_bytes\n1796003288.176825199,1\n1796003289,2\n1796003290.5,3\n1796003291.1234567891,4\n"

    assert first(table(tmp_path, text))[1] == [
        1796003288_176_825_199,
        1796003289_000_000_000,
        1796003290_500_000_000,
        1796003291_123_456_789,
    ]


def test_columns_that_are_no_counters_are_passed_over(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes,note,a.rx_packets\n1,5,x,7\n2,6,y,8\n"

    assert read(table(tmp_path, text, "h.csv")) == {("h", "a", "receive"): ([1, 2], [5, 6])}


def test_absent_cells_leave_their_column_alone_out(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes,b.rx_bytes\n1,5,\n2,N/A (no PMA),8\n3,7,9\n"

    assert read(table(tmp_path, text, "h.csv")) == {
        ("h", "a", "receive"): ([1, 3], [5, 7]),
        ("h", "b", "receive"): ([2, 3], [8, 9]),
    }


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=40),
    start_ns=st.integers(0, 2**62),
    unit=st.sampled_from(["t_ns", "t_s"]),
)
def test_what_is_written_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], start_ns: int, unit: str
) -> None:
    times_ns = [start_ns + i * 1_000_003 for i in range(len(values))]
    written = [str(t) if unit == "t_ns" else f"{t // 10**9}.{t % 10**9:09}" for t in times_ns]
    rows = "".join(f"{t},{value}\n" for t, value in zip(written, values, strict=True))

    _, t_ns, value = first(table(tmp_path_factory.mktemp("tables"), f"{unit},a.rx_bytes\n{rows}"))

    assert (t_ns, value) == (times_ns, values)


def test_rows_of_many_blocks_are_all_there(tmp_path: Path) -> None:
    n_rows = 400_000
    rows = "".join(f"{1_796_003_288_000_000_000 + i * 1000},{7 * i}\n" for i in range(n_rows))
    _, t_ns, value = first(table(tmp_path, f"t_ns,a.rx_bytes\n{rows}"))

    assert len(t_ns) == n_rows
    assert value == list(range(0, 7 * n_rows, 7))


# Order


def test_late_rows_are_put_in_order_and_repeated_ones_dropped(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes\n1,10\n4,40\n2,20\n4,40\n3,30\n"

    assert first(table(tmp_path, text))[1:] == ([1, 2, 3, 4], [10, 20, 30, 40])


def test_deltas_of_one_time_add_and_repeated_rows_do_not(tmp_path: Path) -> None:
    mapping = table(tmp_path, LEAF, "leaf.toml")
    text = "when,switch,port,in,out\n1,s,p,10,1\n2,s,p,20,1\n2,s,p,20,1\n2,s,p,5,1\n3,s,p,7,1\n"

    found = read(table(tmp_path, text), mapping=mapping)

    assert found["s", "p", "receive"] == ([10**6, 2 * 10**6, 3 * 10**6], [10, 25, 7])
    assert found["s", "p", "transmit"] == ([10**6, 2 * 10**6, 3 * 10**6], [1, 1, 1])


# Real tables


@pytest.mark.parametrize("name", ["Leaf-5_3_1", "Leaf-16_3_2"])
def test_dump_of_a_switch_keeps_every_byte(name: str) -> None:
    path = shared(f"zhejianglab/{name}.csv.gz")
    counters, problems = read_counters(path, mapping="zhejianglab")
    rows = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]]

    assert problems == []
    assert {(series.direction, int(value.sum())) for series, _, value, _ in counters} == {
        ("receive", sum(int(row[5]) for row in rows)),
        ("transmit", sum(int(row[7]) for row in rows)),
    }
    for series, t_ns, _, _ in counters:
        assert t_ns.tolist() == [int(row[1]) * 10**6 for row in rows]
        assert (series.kind, series.layer, series.host) == ("delta", "wire", rows[0][2])


def test_archive_of_all_ports_of_a_switch_is_read_without_being_unpacked() -> None:
    counters, problems = read_counters(shared("zhejianglab/Leaf-14_all_ports.tar.xz"), mapping="zhejianglab")

    assert problems == []
    assert len({series.device for series, _, _, _ in counters}) == 95
    assert len(counters) == 190


@pytest.mark.parametrize("name", ["solo", "free", "paced", "unequal"])
def test_counters_of_the_rig_are_read_exactly(name: str) -> None:
    path = shared(f"rig/{name}.csv.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    expected = np.array([line.split(",") for line in lines[1:]], dtype=np.int64)
    counters, problems = read_counters(path)

    assert problems == []
    assert [f"{s.device}.{s.direction[0]}x_bytes" for s, _, _, _ in counters] == lines[0].split(",")[1:]
    for i, (_, t_ns, value, _) in enumerate(counters, start=1):
        np.testing.assert_array_equal(t_ns, expected[:, 0])
        np.testing.assert_array_equal(value, expected[:, i])
