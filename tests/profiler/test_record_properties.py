"""From a kernel file through a recording and the lake to a rate: no byte is lost, whatever the counter does."""

from __future__ import annotations

import tempfile
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.collectors import find_sources
from profiler.record import Clock, Timing, record
from profiler.schema import Flag
from profiler.sources import read_rates
from profiler.store import Lake
from tests.profiler.mlx5_host import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.signals import RateSeries
    from profiler.store import Counter

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - each example is a lake, which waits for its disk
INTERVAL_NS = 10_000_000
START_NS = 1_796_000_000_000_000_000
MOVES = st.lists(st.integers(0, 10**9), min_size=20, max_size=60)


class Script:
    """A clock by which a counter's file has the next of some values at each tick, and a tick may be late."""

    def __init__(self, file: Path, values: Sequence[int], late: Sequence[int] = ()) -> None:
        self._file, self._values, self._late = file, values, set(late)
        self._now_ns = START_NS
        count(file, values[0])

    def clock(self) -> Clock:
        return Clock(wall_ns=lambda: self._now_ns, monotonic_ns=lambda: self._now_ns, sleep_s=self._sleep)

    def _sleep(self, seconds: float) -> None:
        before = self._tick()
        self._now_ns += round(seconds * 1e9)
        if self._tick() != before and self._tick() in self._late:
            self._now_ns += 2 * INTERVAL_NS
        count(self._file, self._values[min(self._tick(), len(self._values) - 1)])

    def _tick(self) -> int:
        return (self._now_ns - START_NS) // INTERVAL_NS


def recorded(values: Sequence[int], *, late: Sequence[int] = ()) -> tuple[Counter, RateSeries]:
    """Return what an InfiniBand port that counts such words has sent: its samples in the lake, and its rate."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        port = Path(folder) / "sys/class/infiniband/mlx5_0/ports/1"
        (port / "counters").mkdir(parents=True)
        for name in ("port_xmit_data", "port_rcv_data"):
            (port / "counters" / name).write_text("0\n")
        script = Script(port / "counters" / "port_xmit_data", values, late)
        lake = Lake.open(Path(folder) / "lake", create=True)
        timing = Timing(
            interval_s=INTERVAL_NS / 1e9, duration_s=(len(values) - 1) * INTERVAL_NS / 1e9, clock=script.clock()
        )
        record(
            lake, find_sources(Path(folder) / "sys", devices=["mlx5_0"]), host="h1", timing=timing, stop=lambda: False
        )
        rates, problems = read_rates(lake.root)
        assert problems == []
        sent = next(one for one in lake.read("series").to_pylist() if one["raw_name"] == "port_xmit_data")
        return lake.counter(sent["series_id"]), next(rate for rate in rates if rate.direction == "transmit")


def flagged(rate: RateSeries, flag: Flag) -> int:
    return int(np.count_nonzero(rate.flags & np.uint16(flag)))


@settings(max_examples=8, deadline=None)
@given(start=st.integers(0, 2**55), moves=MOVES)
def test_every_read_is_stored_in_order_and_every_byte_is_counted(start: int, moves: list[int]) -> None:
    values = list(accumulate(moves, initial=start))
    samples, rate = recorded(values)
    assert samples.value.tolist() == [4 * value for value in values]
    assert np.diff(samples.t_ns).tolist() == [INTERVAL_NS] * len(moves)
    assert rate.delta_bytes.sum() == 4 * sum(moves)


@settings(max_examples=8, deadline=None)
@given(moves=MOVES, data=st.data())
def test_a_reset_keeps_what_was_counted_before_and_since(moves: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(moves) - 1))
    before = list(accumulate(moves[:at], initial=2**40))
    since = list(accumulate(moves[at:], initial=0))
    samples, rate = recorded([*before, *since])
    assert samples.value.tolist() == [4 * value for value in (*before, *since)]
    assert rate.delta_bytes.sum() == 4 * sum(moves)
    assert flagged(rate, Flag.RESET) == 1


@settings(max_examples=8, deadline=None)
@given(moves=st.lists(st.integers(600_000, 1_000_000), min_size=40, max_size=60), data=st.data())
def test_a_wrap_of_a_narrow_counter_loses_nothing(moves: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(20, len(moves) - 1))
    start = 2**32 - sum(moves[:at]) - 300_000
    values = [value % 2**32 for value in accumulate(moves, initial=start)]
    _, rate = recorded(values)
    assert rate.delta_bytes.sum() == 4 * sum(moves)
    assert flagged(rate, Flag.WRAP) == 1


@settings(max_examples=8, deadline=None)
@given(moves=MOVES, data=st.data())
def test_ticks_that_go_by_unread_are_flagged_where_they_are_missing_and_their_bytes_kept(
    moves: list[int], data: st.DataObject
) -> None:
    late = data.draw(st.sets(st.integers(2, len(moves) - 4), max_size=3))
    samples, rate = recorded(list(accumulate(moves, initial=5)), late=sorted(late))
    gap = np.diff(samples.t_ns, prepend=samples.t_ns[0] - INTERVAL_NS) > INTERVAL_NS
    np.testing.assert_array_equal(gap, (samples.flags & np.uint16(Flag.MISSED)) != 0)
    assert rate.delta_bytes.sum() == samples.value[-1] - 20


@settings(max_examples=8, deadline=None)
@given(moves=MOVES, data=st.data())
def test_reads_in_any_order_and_twice_are_the_same_counter(moves: list[int], data: st.DataObject) -> None:
    samples, rate = recorded(list(accumulate(moves, initial=1)))
    order = data.draw(st.permutations(range(len(samples.t_ns))))
    places = [*order, *order[: len(order) // 2]]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        table = Path(folder) / "shuffled.csv"
        rows = [f"{samples.t_ns[i]},{samples.value[i]}" for i in places]
        table.write_text("\n".join(["t_ns,mlx5_0.tx_bytes", *rows]) + "\n")
        (again,), _ = read_rates(table)
    assert again.delta_bytes.tolist() == rate.delta_bytes.tolist()
