"""Times and values that no table holds, and bytes that no text has: left out and named, and the others are read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiler.errors import BadInput
from profiler.importers import ingest, read_counters
from tests.profiler.dumps import statuses
from tests.profiler.tables import PLAIN, table
from tests.profiler.test_importers_nsys import MS, T0_NS, export

if TYPE_CHECKING:
    from pathlib import Path

INT64 = 1 << 63


def sadf(*dates: str) -> str:
    records = [
        {
            "timestamp": {"date": date, "time": "23:13:20", "utc": 1, "interval": 1},
            "network": {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 2.0}]},
        }
        for date in dates
    ]
    return json.dumps({"sysstat": {"hosts": [{"nodename": "n1", "statistics": records}]}})


def collectl(*stamps: str) -> str:
    rows = "".join(f"{stamp} 1 2\n" for stamp in stamps)
    return "# Host: n1  TZ: +0000\n#Date Time [NET:eth0]RxKB [NET:eth0]TxKB\n" + rows


@pytest.mark.parametrize("text", [sadf("2023-11-14", "9999-12-31"), collectl("20231114 22:13:20", "99991231 22:13:20")])
def test_a_year_that_no_table_holds_is_named_and_the_rest_read(tmp_path: Path, text: str) -> None:
    path = table(tmp_path, text, "n1.txt")

    counters, (problem,) = read_counters(path)

    assert {len(value) for _, _, value, _ in counters} == {1}
    assert "9999" in problem


def test_a_header_of_collectl_with_numbers_that_are_none_is_read_without_them(tmp_path: Path) -> None:
    text = collectl("20231114 22:13:20").replace("+0000", "+9900").replace("TZ", "Options: n Interval: 1..5 TZ")

    counters, problems = read_counters(table(tmp_path, text, "n1.txt"))

    assert problems == []
    assert counters[0][1].tolist() == [T0_NS]


@pytest.mark.parametrize(
    ("end_ns", "value"),
    [(INT64 - 1, 5), (-T0_NS - 1, 5), (2 * MS, 9 * 10**18), (2 * MS, float("inf"))],
    ids=["late", "early", "large", "infinite"],
)
def test_a_sample_of_nsys_that_no_table_holds_is_left_out_and_counted(
    tmp_path: Path, end_ns: int, value: float
) -> None:
    path = export(tmp_path / "r.sqlite", n_windows=1)
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO NET_NIC_METRIC VALUES (?, ?, 77, 1, 0, 6, ?)", (end_ns - 1, end_ns, value))
        database.commit()

    (report,) = ingest(path, lake=tmp_path / "lake").inputs

    assert report.coverage is not None
    assert (report.coverage.n_samples, report.coverage.left_out["no window, value or NIC"]) == (2, 1)
    assert (report.coverage.t_first_ns, report.coverage.t_last_ns) == (T0_NS + MS, T0_NS + MS)


def test_a_parquet_file_whose_description_is_no_text_costs_itself_alone(tmp_path: Path) -> None:
    bad = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"t_ns": [1, 2], "eth0.rx_bytes": [1, 2]}), bad)
    bad.write_bytes(bad.read_bytes().replace(b"eth0.rx_bytes", b"eth0.rx_byte\xff"))
    with pytest.raises(BadInput, match=r"bad\.parquet: not a readable Parquet file"):
        read_counters(bad)

    assert statuses(ingest(bad, table(tmp_path, PLAIN), lake=tmp_path / "lake")) == ["failed", "read"]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_row_of_too_many_cells_that_are_not_utf8_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = table(tmp_path, PLAIN.encode() + b"3500,2,3,caf\xe9\n4000,7,8\n")

    counters, (problem,) = read_counters(path)

    assert [value.tolist() for _, _, value, _ in counters] == [[1, 3, 5, 7], [2, 4, 6, 8]]
    assert "line 5" in problem


def test_what_is_not_utf8_in_a_column_that_is_not_read_is_no_fault(tmp_path: Path) -> None:
    path = table(tmp_path, b"t_ns,eth0.rx_bytes,remark\n1000,1,caf\xe9\n2000,2,x\n")

    counters, problems = read_counters(path)

    assert problems == []
    assert counters[0][2].tolist() == [1, 2]


@pytest.mark.parametrize("when", ["1e308", "-1e308", "999999999999999999"])
def test_a_time_of_a_metric_that_no_table_holds_is_left_out(tmp_path: Path, when: str) -> None:
    line = 'node_network_transmit_bytes_total{{device="eth0"}} 4 {}\n'
    page = table(tmp_path, line.format(1_700_000_000_000) + line.format(when), "page.prom")
    values = f'[[1700000000, "4"], [{when}, "5"]]'
    metric = '{"__name__": "node_network_transmit_bytes_total", "device": "eth0"}'
    answer = table(
        tmp_path,
        f'{{"status": "success", "data": {{"resultType": "matrix", "result": [{{"metric": {metric}, '
        f'"values": {values}}}]}}}}',
        "answer.json",
    )

    for path in (page, answer):
        ((_, t_ns, value, _),), problems = read_counters(path)
        assert (t_ns.tolist(), value.tolist(), problems) == ([T0_NS], [4], [])


def test_a_name_of_a_metric_with_a_comma_in_it_is_no_metric(tmp_path: Path) -> None:
    line = 'node_network_transmit_bytes{}total{{device="eth0"}} {} 1700000000000\n'

    ((_, _, value, _),), (problem,) = read_counters(
        table(tmp_path, line.format("_", 4) + line.format(",", 5), "p.prom")
    )

    assert value.tolist() == [4]
    assert "line 2" in problem


def test_rows_that_end_as_those_of_old_spreadsheets_are_counted_as_lines(tmp_path: Path) -> None:
    text = "t_ns,eth0.rx_bytes\n1000,1\r2000,2\r3000,3,9\r4000,x\n"

    counters, problems = read_counters(table(tmp_path, text))

    assert counters[0][2].tolist() == [1, 2]
    assert [problem.partition(": ")[2].partition(":")[0] for problem in problems] == ["line 5", "line 4"]
