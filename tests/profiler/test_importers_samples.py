"""Samples of one series and time, from whatever inputs: the lake and the memory hold the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.importers import ingest, read_counters
from profiler.importers.sink import MemorySink
from profiler.schema import Flag
from profiler.store import Lake, Series
from tests.profiler.frames import ethernet, ipv4, pcap, ports
from tests.profiler.recordings import T0_NS, port, recording

if TYPE_CHECKING:
    from pathlib import Path

FRAME = ethernet(ipv4(ports(1000, 2000), ("10.0.0.1", "10.0.0.2"), proto=6), 0x0800)
HALVES = (
    pcap([(1, 0, FRAME, 100), (1, 2000, FRAME, 200), (1, 2100, FRAME, 300)]),
    pcap([(1, 2200, FRAME, 400), (1, 4000, FRAME, 500)]),
)
"""A capture of 1500 bytes that was rotated in the middle of a bin of a millisecond."""

DELTAS = Series(host="h1", device="eth0", direction="transmit", layer="netdev", kind="delta")


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    folder = tmp_path / "halves"
    folder.mkdir()
    for i, half in enumerate(HALVES):
        (folder / f"{i}.pcap").write_bytes(half)
    return folder


def test_rotated_capture_is_the_same_in_a_lake_and_in_memory(halves: Path, tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    assert ingest(*sorted(halves.iterdir(), reverse=True), lake=lake).is_complete
    counters, problems = read_counters(halves)

    assert problems == []
    assert {series.metric: int(value.sum()) for series, _, value, _ in counters} == {"bytes": 1500, "packets": 5}
    for series, t_ns, value, flags in counters:
        assert (np.diff(t_ns) > 0).all()
        for stored in (lake.counter(series.series_id), dict(lake.counters([series.series_id]))[series.series_id]):
            np.testing.assert_array_equal(stored.t_ns, t_ns)
            np.testing.assert_array_equal(stored.value, value)
            np.testing.assert_array_equal(stored.flags, flags)


@pytest.mark.parametrize("other", [Flag(0), Flag.MISSED])
def test_deltas_of_one_time_add_with_their_flags_but_one_after_a_missed_time_says_nothing_of_others(
    tmp_path: Path, other: Flag
) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    for name, value, flags in (("a", 5, Flag.MISSED), ("b", 7, Flag.STALE | other), ("c", 7, Flag.STALE | other)):
        with lake.writer(recording(name)) as writer:
            writer.write_samples(writer.add_series(DELTAS), [T0_NS], [value], flags=int(flags))
    counter = lake.counter(DELTAS.series_id)

    assert (counter.t_ns.tolist(), counter.value.tolist()) == ([T0_NS], [12])
    assert counter.flags.tolist() == [Flag.STALE | other]


def test_flags_of_a_lake_are_read_without_another_lake(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    with lake.writer(recording()) as writer:
        writer.write_samples(writer.add_series(port()), [1, 2, 3], [1, 2, 3], flags=[0, int(Flag.SATURATED), 0])
    ((_, _, _, flags),), _ = read_counters(lake.root)

    assert flags.tolist() == [0, Flag.SATURATED, 0]


def test_one_flag_may_stand_for_all_samples() -> None:
    sink = MemorySink()
    sink.add_series(DELTAS)
    sink.write_samples(DELTAS.series_id, np.array([2, 1]), np.array([3, 4]), flags=int(Flag.STALE))
    ((_, t_ns, value, flags),) = sink.counters()

    assert (t_ns.tolist(), value.tolist(), flags.tolist()) == ([1, 2], [4, 3], [Flag.STALE, Flag.STALE])
