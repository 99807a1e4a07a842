"""Times on lines of their own, between what tools print: zones that are told, and those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from profiler.importers import ingest, read_counters
from tests.profiler.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.coverage import Coverage

NS = 10**9
T0_S = 1_700_000_000
"""2023-11-14 22:13:20 UTC."""
PERFQUERY = "# Port extended counters: Lid 7 port 1 (CapMask: 0x1)\nPortXmitData:...1\n"
ETHTOOL = "NIC statistics:\n     tx_bytes: 4\n"
PAGE = 'node_network_transmit_bytes_total{device="eth0"} 4\n'


def coverage_of(path: Path) -> Coverage:
    (report,) = ingest(path, lake=path.parent / "lake").inputs
    assert report.coverage is not None
    return report.coverage


@pytest.mark.parametrize("printed", [PERFQUERY, ETHTOOL, PAGE])
def test_a_time_without_a_zone_is_taken_for_utc_and_said_to_be(tmp_path: Path, printed: str) -> None:
    text = f"2023-11-14 22:13:20\n{printed}2023-11-14 22:14:20\n{printed}"

    found = coverage_of(table(tmp_path, text, "n1.txt"))

    assert (found.t_first_ns, found.t_last_ns) == (T0_S * NS, (T0_S + 60) * NS)
    (said,) = [item for item in found.skipped if item.what.startswith("time zone")]
    assert said.what == "time zone of 2 times"
    assert "'2023-11-14 22:13:20'; they were taken for UTC" in said.why


@pytest.mark.parametrize(
    ("stamp", "offset_s"),
    [
        ("2023-11-14 22:13:20-0500", 5 * 3600),
        ("2023-11-14 22:13:20 -0500", 5 * 3600),
        ("2023-11-14T22:13:20.5+05:30", -5.5 * 3600 + 0.5),
        ("2023-11-14 22:13:20+08", -8 * 3600),
        ("2023-11-14 22:13:20 UTC", 0),
        ("2023-11-14T22:13:20Z", 0),
        ("1700000000.25", 0.25),
    ],
)
def test_a_zone_that_is_told_counts_and_needs_no_word(tmp_path: Path, stamp: str, offset_s: float) -> None:
    found = coverage_of(table(tmp_path, f"{stamp}\n{PERFQUERY}", "n1.txt"))

    assert found.t_first_ns == T0_S * NS + int(offset_s * NS)
    assert not [item for item in found.skipped if item.what.startswith("time zone")]


def test_pages_appended_with_times_between_them_are_one_series(tmp_path: Path) -> None:
    text = "".join(f"{T0_S + i}\n# TYPE x counter\n{PAGE.replace(' 4', f' {i}')}" for i in range(3))

    ((series, t_ns, value, _),), problems = read_counters(table(tmp_path, text, "n1.prom"))

    assert problems == []
    assert series.device == "eth0"
    assert (t_ns.tolist(), value.tolist()) == ([(T0_S + i) * NS for i in range(3)], [0, 1, 2])


def test_a_count_of_thousands_of_digits_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = table(tmp_path, f"{ETHTOOL}     rx_bytes: {'9' * 5000}\n", f"n1-{T0_S}.txt")

    counters, (problem,) = read_counters(path)

    assert [value.tolist() for _, _, value, _ in counters] == [[4]]
    assert "line 3: 'rx_bytes: 999" in problem


def test_a_label_without_a_name_is_no_metric(tmp_path: Path) -> None:
    text = PAGE + 'node_network_transmit_bytes_total{device="eth1",\t=evice="x"} 4\n'

    counters, (problem,) = read_counters(table(tmp_path, text, f"n1-{T0_S}.prom"))

    assert [series.device for series, _, _, _ in counters] == ["eth0"]
    assert "line 2" in problem
