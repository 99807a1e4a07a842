"""The sampler on a fake kernel tree, the capture file byte by byte, and both on a standing network."""

from __future__ import annotations

import gzip
import struct
from array import array
from typing import TYPE_CHECKING

import pytest

from tests.rig.capture import write_pcap
from tests.rig.sampler import read_counters, write_table
from tests.rig.truth import JobTruth, read_truth, summary_s

if TYPE_CHECKING:
    from pathlib import Path


def test_counters_are_read_on_the_grid_and_never_twice_a_tick(tmp_path: Path) -> None:
    paths = [tmp_path / "rx_bytes", tmp_path / "tx_bytes"]
    for path, value in zip(paths, (7, 2**62), strict=True):
        path.write_text(f"{value}\n", encoding="ascii")
    rows = read_counters(paths, n_rows=50, interval_ns=2_000_000)
    times_ns = rows[::3]
    ticks = [t_ns // 2_000_000 for t_ns in times_ns]
    assert 0 < len(times_ns) <= 50
    assert ticks == sorted(set(ticks))
    assert set(rows[1::3]) == {7}
    assert set(rows[2::3]) == {2**62}


def test_a_table_has_the_columns_that_the_importer_reads(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv.gz", columns=["p1.rx_bytes", "p1.tx_bytes"], rows=array("q", [10, 1, 2, 11, 3, 4]))
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()).decode() == (
        "t_ns,p1.rx_bytes,p1.tx_bytes\n10,1,2\n11,3,4\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv.gz"]


def test_a_capture_is_a_nanosecond_pcap_with_the_length_on_the_wire(tmp_path: Path) -> None:
    write_pcap(tmp_path / "t.pcap", iter([(1_700_000_000, 5, 9014, b"h" * 96), (1_700_000_001, 6, 60, b"s" * 60)]))
    data = (tmp_path / "t.pcap").read_bytes()
    assert struct.unpack("<IHHiIII", data[:24]) == (0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    assert struct.unpack("<IIII", data[24:40]) == (1_700_000_000, 5, 96, 9014)
    assert struct.unpack("<IIII", data[136:152]) == (1_700_000_001, 6, 60, 60)
    assert len(data) == 152 + 60


def test_an_iteration_cut_by_the_end_of_its_job_is_left_out(tmp_path: Path) -> None:
    whole = '{"times_ns": [0, 141000000, 255000000], "pacer": {"n_adjustments": 2}}\n'
    (tmp_path / "A-0.jsonl").write_text(whole + whole[:30], encoding="ascii")
    told = read_truth(tmp_path, ["A"])["A"]
    assert told.iterations == ((0, 141_000_000, 255_000_000),)
    assert told.pacer == {"n_adjustments": 2}
    assert told.durations_s() == [0.255]


def test_communication_of_an_iteration_of_two_steps_is_the_sum_of_both() -> None:
    told = JobTruth(iterations=((0, 100, 150, 250, 280), (280, 380, 440, 540, 580)), pacer={})
    assert told.communication_s() == pytest.approx([80e-9, 100e-9])
    assert told.between(100, 600).iterations == ((280, 380, 440, 540, 580),)


def test_a_summary_gives_the_quantiles_of_arithmetic() -> None:
    assert summary_s([float(i) for i in range(11)]) == {"n": 11, "p50_s": 5.0, "p90_s": 9.0, "mean_s": 5.0}
