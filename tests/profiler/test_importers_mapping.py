"""Column mappings: what the columns of a table are, and what is wrong with a mapping that makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiler.errors import BadInput
from profiler.importers import Options, ingest, read_counters, read_mapping
from tests.profiler.tables import LEAF, PLAIN, first, read, table

if TYPE_CHECKING:
    from pathlib import Path


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
    ("unit", "cell", "bytes_per_s"),
    [("bytes", "1000", 1000), ("Gbit", "12.5", 1_562_500_000), ("Mbit", "0.008", 1000), ("kbit", "1e3", 125_000)],
)
def test_a_column_of_rates_is_a_gauge_of_bytes_per_second(
    tmp_path: Path, unit: str, cell: str, bytes_per_s: int
) -> None:
    rate = LEAF.replace('kind = "delta"', f'kind = "gauge"\nunit = "{unit}"', 1)
    mapping = table(tmp_path, rate, "rates.toml")

    series, _, value = first(table(tmp_path, f"when,switch,port,in,out\n1,s,p,{cell},7\n"), mapping=mapping)

    assert (series.kind, series.metric, series.unit, series.width_bits) == ("gauge", "bytes_per_s", "bytes/s", None)
    assert value == [bytes_per_s]


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


def test_delimiter_of_a_mapping_counts(tmp_path: Path) -> None:
    mapping = table(tmp_path, 'delimiter = " "\n' + LEAF, "leaf.toml")

    assert read(table(tmp_path, "when switch port in out\n1 s p 5 6\n"), mapping=mapping)["s", "p", "receive"][1] == [5]


def test_table_that_a_mapping_does_not_fit_names_what_is_missing(tmp_path: Path) -> None:
    mapping = table(tmp_path, LEAF, "leaf.toml")

    with pytest.raises(BadInput, match="no column when, in, out, expected by mapping leaf; its columns are t_ns"):
        read_counters(table(tmp_path, PLAIN), mapping=mapping)


def test_an_hour_that_summer_time_repeats_is_left_out_with_the_remedy(tmp_path: Path) -> None:
    berlin = LEAF.replace('unit = "ms"', 'format = "iso"\ntimezone = "Europe/Berlin"')
    rows = [("00:30", 1), ("02:30", 2), ("02:30", 3), ("03:00", 4)]
    text = "when,switch,port,in,out\n" + "".join(f"2023-10-29 {hour}:00,s,p,{n},0\n" for hour, n in rows)

    counters, problems = read_counters(table(tmp_path, text), mapping=table(tmp_path, berlin, "berlin.toml"))

    assert counters[0][2].tolist() == [1, 4]
    assert "line 3: column when: '2023-10-29 02:30:00'" in problems[0]
    assert "write them in UTC, or with their offset" in problems[1]


def test_a_counter_of_the_mapping_that_no_column_is_of_is_said(tmp_path: Path) -> None:
    mapping = table(tmp_path, LEAF.replace('"out"\ndirection', '"otu"\ndirection', 1), "leaf.toml")
    text = "when;switch;port;in;out\n1;s;p1;1;2\n2;s;p1;5;6\n"

    options = Options(mapping=read_mapping(mapping))
    (report,) = ingest(table(tmp_path, text), lake=tmp_path / "lake", options=options).inputs

    assert report.coverage is not None
    assert [item.what for item in report.coverage.skipped] == ["columns out", "counter otu"]


@pytest.mark.parametrize(("first", "whats"), [(1_700_000_000, ["clock"]), (1_700_000_000_000, []), (1_000, [])])
def test_times_that_another_unit_makes_dates_are_said_to_be(tmp_path: Path, first: int, whats: list[str]) -> None:
    mapping = table(tmp_path, LEAF, "leaf.toml")
    text = f"when;switch;port;in;out\n{first};s;p1;1;2\n{first + 1};s;p1;5;6\n"

    options = Options(mapping=read_mapping(mapping))
    (report,) = ingest(table(tmp_path, text), lake=tmp_path / "lake", options=options).inputs

    assert report.coverage is not None
    assert [item.what for item in report.coverage.skipped] == whats
