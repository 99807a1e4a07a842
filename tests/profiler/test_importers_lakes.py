"""Lakes into lakes: recording by recording, each once, the unfinished ones again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from profiler.errors import BadInput
from profiler.importers import ingest, read_counters
from profiler.store import Lake
from tests.profiler.dumps import CAPTURE, TABLE, n_samples, put, statuses
from tests.profiler.recordings import port, recording, write


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def recorded(tmp_path: Path) -> Lake:
    """Return a lake with two recordings, as a recorder on another host leaves it."""
    other = Lake.open(tmp_path / "other", create=True)
    write(other, "first", [1, 2, 3])
    write(other, "second", [1, 2, 3, 4, 5], device="eth1")
    return other


def test_lake_is_merged_recording_by_recording_once(lake: Lake, recorded: Lake) -> None:
    report = ingest(recorded.root, lake=lake)

    assert statuses(report) == ["read", "read"]
    assert n_samples(lake) == n_samples(recorded) == 8
    keys = [row["recording_id"] for row in recorded.read("recordings").to_pylist()]
    assert [row["recording_id"] for row in lake.read("recordings").to_pylist()] == keys
    for series_id in recorded.read("series")["series_id"].to_pylist():
        np.testing.assert_array_equal(lake.counter(series_id).value, recorded.counter(series_id).value)
    assert statuses(ingest(recorded.root, lake=lake)) == ["already there", "already there"]
    assert statuses(ingest(lake.root, lake=recorded)) == ["already there", "already there"]


def test_flows_of_a_lake_are_merged(lake: Lake, tmp_path: Path) -> None:
    other = Lake.open(tmp_path / "other", create=True)
    ingest(put(tmp_path / "c.pcap", CAPTURE), lake=other)
    ingest(other.root, lake=lake)

    assert lake.read("flows").to_pylist() == other.read("flows").to_pylist()


def test_lake_among_other_files_of_a_folder_is_one_input(lake: Lake, recorded: Lake, tmp_path: Path) -> None:
    put(tmp_path / "a.csv", TABLE)
    report = ingest(tmp_path, lake=lake)

    found = {Path(item.source.split(":")[0]).name: item.status for item in report.inputs}
    assert found == {"a.csv": "read", "lake": "skipped", "other": "read"}
    assert n_samples(lake) == 2 + n_samples(recorded)


def _write_and_fail(lake: Lake, name: str) -> None:
    with lake.writer(recording(name)) as writer:
        writer.write_samples(writer.add_series(port("eth2")), [1, 2], [1, 2])
        raise BadInput(name)


def test_unfinished_recording_is_copied_now_and_again_when_it_is_finished(lake: Lake, recorded: Lake) -> None:
    with pytest.raises(BadInput):
        _write_and_fail(recorded, "third")
    report = ingest(recorded.root, lake=lake)

    assert statuses(report) == ["read", "read", "partial"]
    assert "ingest again to complete it" in report.inputs[2].message
    write(recorded, "third", list(range(7)), device="eth2")
    assert statuses(ingest(recorded.root, lake=lake)) == ["already there", "already there", "read"]
    assert n_samples(lake) == 3 + 5 + 7


def test_one_file_of_a_lake_is_refused_since_it_does_not_say_what_its_series_are(lake: Lake, recorded: Lake) -> None:
    report = ingest(recorded.files("samples")[0], lake=lake)

    assert statuses(report) == ["failed"]
    assert "give the lake's folder" in report.inputs[0].message


def test_series_of_a_lake_are_read_without_another_lake(recorded: Lake) -> None:
    counters, problems = read_counters(recorded.root)

    assert problems == []
    assert {series.device: value.size for series, _, value, _ in counters} == {"eth0": 3, "eth1": 5}


def test_damaged_lake_says_so_and_the_others_are_read(lake: Lake, recorded: Lake, tmp_path: Path) -> None:
    recorded.files("samples")[0].write_bytes(b"damaged")
    report = ingest(recorded.root, put(tmp_path / "a.csv", TABLE), lake=lake)

    assert statuses(report) == ["failed", "read", "read"]
