"""Counter tables: exact to the last byte, whatever their shape, and sound in part where they are damaged."""

from __future__ import annotations

import gzip
import lzma
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.errors import BadInput
from profiler.importers import read_counters
from profiler.importers.cells import counts, times
from profiler.importers.mapping import COUNTER_UNITS, TimeColumn
from tests.data import shared

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.store import Series

PLAIN = "t_ns,eth0.rx_bytes,eth0.tx_bytes\n1000,1,2\n2000,3,4\n3000,5,6\n"
LEAF = """host = { column = "switch" }
device = { column = "port" }
[time]
column = "when"
unit = "ms"
[[counter]]
column = "in"
direction = "in"
kind = "delta"
[[counter]]
column = "out"
direction = "out"
kind = "delta"
"""


def table(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, **told: Any) -> dict[tuple[str, str, str], tuple[list[int], list[int]]]:
    """Return times and values by host, device and direction; nothing may be wrong."""
    counters, problems = read_counters(path, **told)
    assert problems == []
    return {(s.host, s.device, s.direction): (t_ns.tolist(), value.tolist()) for s, t_ns, value in counters}


def first(path: Path, **told: Any) -> tuple[Series, list[int], list[int]]:
    counters, problems = read_counters(path, **told)
    assert problems == []
    series, t_ns, value = counters[0]
    return series, t_ns.tolist(), value.tolist()


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


# Mappings


def test_long_table_gives_one_series_for_each_port(tmp_path: Path) -> None:
    mapping = table(tmp_path, LEAF, "leaf.toml")
    text = "when;switch;port;in;out\n1;s;p1;1;2\n1;s;p2;3;4\n2;s;p1;5;6\n2;t;p1;7;8\n"

    found = read(table(tmp_path, text), mapping=mapping)

    ms = 10**6
    assert found == {
        ("s", "p1", "receive"): ([ms, 2 * ms], [1, 5]),
        ("s", "p1", "transmit"): ([ms, 2 * ms], [2, 6]),
        ("s", "p2", "receive"): ([ms], [3]),
        ("s", "p2", "transmit"): ([ms], [4]),
        ("t", "p1", "receive"): ([2 * ms], [7]),
        ("t", "p1", "transmit"): ([2 * ms], [8]),
    }


def test_mapping_of_a_wide_table_by_pattern_unit_and_width(tmp_path: Path) -> None:
    mapping = table(
        tmp_path,
        """
        host = "h7"
        [time]
        column = "time"
        unit = "s"
        [[counter]]
        column = "{device}/{port} port_xmit_data"
        direction = "out"
        unit = "words4"
        width_bits = 32
        layer = "rdma_vport"
        [[counter]]
        column = "eth kbytes in"
        device = "eth"
        direction = "in"
        unit = "kB"
        """,
        "wide.toml",
    )
    text = "eth kbytes in,time,mlx5_0/1 port_xmit_data,other\n1.5,1,100,x\n2.25,2,200,x\n"
    counters, problems = read_counters(table(tmp_path, text), mapping=mapping)

    assert problems == []
    words, kbytes = sorted(counters, key=lambda counter: counter[0].device, reverse=True)
    assert (words[0].host, words[0].device, words[0].port) == ("h7", "mlx5_0", "1")
    assert (words[0].raw_scale, words[0].width_bits, words[0].layer) == (4.0, 32, "rdma_vport")
    assert words[2].tolist() == [400, 800]
    assert kbytes[2].tolist() == [1500, 2250]


@pytest.mark.parametrize(
    ("time", "cell"),
    [
        ('format = "iso"', "2024-05-24T00:00:00.939Z"),
        ('format = "iso"', "2024-05-24 00:00:00.939"),
        ('format = "iso"', "2024-05-24T08:00:00.939+08:00"),
        ('format = "iso"\ntimezone = "Asia/Shanghai"', "2024-05-24 08:00:00.939"),
        ('format = "%d/%m/%Y %H:%M:%S.%f"', "24/05/2024 00:00:00.939"),
        ('unit = "us"', "1716508800939000"),
        ('unit = "ms"', "1716508800939.0"),
    ],
)
def test_times_of_every_form_are_the_same_instant(tmp_path: Path, time: str, cell: str) -> None:
    counter = '[[counter]]\ncolumn = "{device}.in"\ndirection = "rx"\n'
    mapping = table(tmp_path, f'[time]\ncolumn = "t"\n{time}\n{counter}', "times.toml")

    _, t_ns, _ = first(table(tmp_path, f"t,a.in\n{cell},5\n"), mapping=mapping)

    assert t_ns == [1716508800_939_000_000]


def test_timestamps_of_parquet_are_times(tmp_path: Path) -> None:
    mapping = table(
        tmp_path,
        '[time]\ncolumn = "t"\nformat = "iso"\n[[counter]]\ncolumn = "{device}.in"\ndirection = "rx"\n',
        "times.toml",
    )
    path = tmp_path / "t.parquet"
    stamps = pa.array([1_716_508_800_939_001], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"t": stamps, "a.in": [5]}), path)

    assert first(path, mapping=mapping)[1] == [1_716_508_800_939_001_000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[time]", "[times]"), r"time: expected table, found nothing"),
        (('unit = "ms"', 'unit = "fortnight"'), r"\[time\]: unit = 'fortnight': expected one of ns, us, ms, s"),
        (('direction = "in"', 'direction = "up"'), r"\[\[counter\]\] 1: direction = 'up': expected one of in, rx"),
        (('kind = "delta"', 'kind = "delta"\nspeed = 3'), r"\[\[counter\]\] 1: speed: not a key"),
        (('unit = "ms"', 'unit = "ms"\nformat = "iso"'), r"unit and format: give one of them"),
        (('unit = "ms"', 'timezone = "Mars/Olympus"\nunit = "ms"'), r"timezone = 'Mars/Olympus': not a time zone"),
        (('device = { column = "port" }', ""), r"\[\[counter\]\] 1: no device"),
        (('device = { column = "port" }', "device = 3"), r"device: expected text or table, found 3"),
        (("[time]", "[time"), r"not TOML"),
        (('kind = "delta"', 'kind = "delta"\nwidth_bits = 65'), r"width_bits = 65: expected 1 to 64"),
    ],
)
def test_mapping_that_makes_no_sense_says_which_key_and_why(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    mapping = table(tmp_path, LEAF.replace(*change, 1), "wrong.toml")

    with pytest.raises(BadInput, match=message):
        read_counters(table(tmp_path, PLAIN), mapping=mapping)


# Cells


@settings(max_examples=150, deadline=None)
@given(
    cells=st.lists(
        st.decimals(0, 10**20, allow_nan=False, allow_infinity=False, places=3) | st.integers(0, 2**64).map(Decimal),
        min_size=1,
        max_size=20,
    ),
    unit=st.sampled_from(sorted(COUNTER_UNITS)),
    form=st.sampled_from(["f", "e", ""]),
)
def test_text_becomes_the_whole_number_that_exact_arithmetic_gives(cells: list[Decimal], unit: str, form: str) -> None:
    texts = [f"{cell:f}" if form == "f" else f"{cell:.30e}" if form == "e" else str(cell) for cell in cells]
    scale = COUNTER_UNITS[unit]

    found = counts(pa.array(texts), scale)

    for i, cell in enumerate(cells):
        exact = int(Fraction(cell) * scale)
        if exact < 2**63 - 2 * max(scale.numerator, 1):
            assert (bool(found.known[i]), int(found.value[i])) == (True, exact)
        elif exact >= 2**63:
            assert (bool(found.known[i]), bool(found.bad[i])) == (False, True)


@pytest.mark.parametrize(
    "cell", ["-1", "0x10", "1,5", "1e400", "Infinity", "9223372036854775808", "1.2.3", "1e99999999999"]
)
def test_cells_that_are_no_counts_are_bad_and_not_zero(cell: str) -> None:
    found = counts(pa.array(["5", cell, None]), Fraction(1))

    assert found.known.tolist() == [True, False, False]
    assert found.bad.tolist() == [False, True, False]


def test_times_that_int64_cannot_hold_are_bad() -> None:
    column = pa.array(["2024-05-24", "9999-01-01", "1900-01-01", "yesterday", None])
    found = times(column, TimeColumn(column="t", format="iso"))

    assert found.known.tolist() == [True, False, False, False, False]
    assert found.bad.tolist() == [False, True, True, True, False]


# Damage


def test_bad_cells_name_their_line_column_and_value_and_the_rest_is_read(tmp_path: Path) -> None:
    text = "t_ns,a.rx_bytes,a.tx_bytes\n1,1,1\n\n2,oops,2\n3,3\n4,4,-4\nnever,5,5\n6,6,6\n"
    counters, problems = read_counters(table(tmp_path, text))

    assert [value.tolist() for _, _, value in counters] == [[1, 4, 6], [1, 2, 6]]
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

    assert [value.tolist() for _, _, value in counters] == [[1, 3]]
    assert "line 3" in problems[-1]
    assert "not UTF-8" in problems[-1]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lzma.compress])
def test_cut_compression_keeps_the_sound_rows(tmp_path: Path, pack: Any) -> None:
    rng = np.random.default_rng(3)
    steps = rng.integers(1, 10**9, 60_000).cumsum()
    text = "t_ns,a.rx_bytes\n" + "".join(f"{i},{step}\n" for i, step in enumerate(steps))
    packed = pack(text.encode())
    counters, problems = read_counters(table(tmp_path, packed[: len(packed) // 2]))

    (_, t_ns, value) = counters[0]
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
        (b"\xff\xfet\0_\0n\0s\0", "looks like UTF-16 text"),
        (b"PK\x03\x04....", "looks like zip archive"),
        (gzip.compress(b"\0\1\2\3"), "looks like binary data"),
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


# Real tables


@pytest.mark.parametrize("name", ["Leaf-5_3_1", "Leaf-16_3_2"])
def test_dump_of_a_switch_keeps_every_byte(name: str) -> None:
    path = shared(f"zhejianglab/{name}.csv.gz")
    counters, problems = read_counters(path, mapping="zhejianglab")
    rows = [line.split(",") for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]]

    assert problems == []
    assert {(series.direction, int(value.sum())) for series, _, value in counters} == {
        ("receive", sum(int(row[5]) for row in rows)),
        ("transmit", sum(int(row[7]) for row in rows)),
    }
    for series, t_ns, _ in counters:
        assert t_ns.tolist() == [int(row[1]) * 10**6 for row in rows]
        assert (series.kind, series.layer, series.host) == ("delta", "wire", rows[0][2])


def test_archive_of_all_ports_of_a_switch_is_read_without_being_unpacked() -> None:
    counters, problems = read_counters(shared("zhejianglab/Leaf-14_all_ports.tar.xz"), mapping="zhejianglab")

    assert problems == []
    assert len({series.device for series, _, _ in counters}) == 95
    assert len(counters) == 190


@pytest.mark.parametrize("name", ["solo", "free", "paced", "unequal"])
def test_counters_of_the_rig_are_read_exactly(name: str) -> None:
    path = shared(f"rig/{name}.csv.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    expected = np.array([line.split(",") for line in lines[1:]], dtype=np.int64)
    counters, problems = read_counters(path)

    assert problems == []
    assert [f"{s.device}.{s.direction[0]}x_bytes" for s, _, _ in counters] == lines[0].split(",")[1:]
    for i, (_, t_ns, value) in enumerate(counters, start=1):
        np.testing.assert_array_equal(t_ns, expected[:, 0])
        np.testing.assert_array_equal(value, expected[:, i])
