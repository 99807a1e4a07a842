"""The sampler's clock: when it reads, what it misses, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.collectors import CounterSpec, ProbedCounter, Source, find_sources
from profiler.errors import UsageError
from profiler.record import Chunk, Clock, Sampler, Timing, opened, stop_on_signals
from profiler.schema import Flag
from profiler.store import Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiler.collectors import AnyCounter

MS = 1_000_000
WALL_NS = 1_796_000_000_000_000_000
READ_NS = 100


class FakeClock:
    """Time that passes by `READ_NS` a look and as asked for by sleeps, which can be late."""

    def __init__(self, late: dict[int, int] | None = None, on_sleep: Callable[[int], None] = lambda _n: None) -> None:
        self.now_ns = 5_000 * MS
        self.n_sleeps = 0
        self.late = late or {}
        self.on_sleep = on_sleep

    def monotonic_ns(self) -> int:
        self.now_ns += READ_NS
        return self.now_ns

    def wall_ns(self) -> int:
        return self.monotonic_ns() - 5_000 * MS + WALL_NS

    def sleep_s(self, duration_s: float) -> None:
        self.now_ns += round(duration_s * 1e9) + self.late.get(self.n_sleeps, 0)
        self.on_sleep(self.n_sleeps)
        self.n_sleeps += 1

    def clock(self) -> Clock:
        return Clock(wall_ns=self.wall_ns, monotonic_ns=self.monotonic_ns, sleep_s=self.sleep_s)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with two interfaces."""
    for i_iface, name in enumerate(("eth0", "eth1")):
        folder = tmp_path / "class" / "net" / name / "statistics"
        folder.mkdir(parents=True)
        for i_file, file in enumerate(("tx_bytes", "rx_bytes", "tx_packets", "rx_packets")):
            (folder / file).write_text(f"{100 * i_iface + i_file}\n")
    return tmp_path


@pytest.fixture
def counters(tree: Path) -> Iterator[tuple[AnyCounter, ...]]:
    with ExitStack() as files:
        yield files.enter_context(opened(find_sources(tree), host="h1")).counters


def run(sampler: Sampler, *, duration_s: float | None, stop: Callable[[], bool] = lambda: False) -> list[Chunk]:
    return list(sampler.chunks(stop=stop, duration_s=duration_s))


def test_ticks_stand_an_interval_apart_for_the_time_asked(counters: tuple[AnyCounter, ...]) -> None:
    sampler = Sampler(counters, interval_s=0.001, clock=FakeClock().clock())
    chunks = run(sampler, duration_s=1.0)
    t_ns = np.concatenate([chunk.t_ns for chunk in chunks], axis=1)
    assert t_ns.shape == (8, 1001)
    assert [chunk.value.shape for chunk in chunks] == [(8, 250)] * 4 + [(8, 1)]
    assert (sampler.n_ticks, sampler.n_missed) == (1001, 0)
    assert np.all(np.abs(np.diff(t_ns, axis=1) - MS) <= 10 * READ_NS)
    assert abs(int(t_ns[0, 0]) - WALL_NS) < 50 * READ_NS
    assert not any(chunk.flags.any() for chunk in chunks)


def test_each_value_is_stamped_just_after_its_own_read_with_the_time_the_read_took(
    counters: tuple[AnyCounter, ...],
) -> None:
    (chunk,) = run(Sampler(counters, interval_s=0.001, clock=FakeClock().clock()), duration_s=0.01)
    np.testing.assert_array_equal(np.diff(chunk.t_ns, axis=0), READ_NS)
    np.testing.assert_array_equal(chunk.window_ns, READ_NS)
    assert chunk.value[:, 0].tolist() == [0, 1, 2, 3, 100, 101, 102, 103]
    assert chunk.counters == counters


def test_dithered_ticks_stand_in_their_intervals_and_none_is_missed(counters: tuple[AnyCounter, ...]) -> None:
    draws = np.random.default_rng(1)
    sampler = Sampler(counters, interval_s=0.01, clock=FakeClock().clock(), dither=draws.random)

    (chunk,) = run(sampler, duration_s=0.2)

    places = np.diff(chunk.t_ns[0]) / (10 * MS)
    assert sampler.n_missed == 0
    assert len(chunk.t_ns[0]) == 21
    assert places.min() < 0.6
    assert places.max() > 1.4
    assert (chunk.t_ns[0] - chunk.t_ns[0][0] < np.arange(1, 22) * 10 * MS).all()


def test_missed_ticks_are_counted_and_the_next_sample_is_flagged(counters: tuple[AnyCounter, ...]) -> None:
    clock = FakeClock(late={20: 3 * MS + MS // 2})
    sampler = Sampler(counters, interval_s=0.001, clock=clock.clock())
    chunks = run(sampler, duration_s=0.1)
    flags = np.concatenate([chunk.flags for chunk in chunks], axis=1)
    t_ns = np.concatenate([chunk.t_ns for chunk in chunks], axis=1)
    assert sampler.n_missed == 3, "ticks 21, 22 and 23 went by; 24 was read half a ms late"
    assert sampler.n_ticks == 98
    (flagged,) = np.flatnonzero(flags[0] & Flag.MISSED)
    assert flagged == np.argmax(np.diff(t_ns[0])) + 1, "the sample after the gap is flagged"
    assert np.all(flags[:, flagged] == Flag.MISSED)
    assert flags.astype(bool).sum() == len(counters)
    assert abs(int(t_ns[0, -1] - t_ns[0, 0]) - 100 * MS) < 50 * READ_NS, "lateness must not add up"


def test_a_late_tick_is_not_a_missed_one(counters: tuple[AnyCounter, ...]) -> None:
    clock = FakeClock(late=dict.fromkeys(range(0, 100, 3), 7 * MS // 10))
    sampler = Sampler(counters, interval_s=0.001, clock=clock.clock())
    run(sampler, duration_s=0.1)
    assert (sampler.n_ticks, sampler.n_missed) == (101, 0)


def test_a_stop_is_heeded_within_50_ms_and_keeps_the_ticks_read(counters: tuple[AnyCounter, ...]) -> None:
    fake = FakeClock()
    sampler = Sampler(counters, interval_s=60.0, clock=fake.clock())
    start_ns = fake.now_ns
    chunks = run(sampler, duration_s=None, stop=lambda: fake.now_ns - start_ns > 61_000 * MS)
    assert sum(chunk.t_ns.shape[1] for chunk in chunks) == 2
    assert fake.now_ns - start_ns < 61_060 * MS


def test_a_counter_that_vanishes_is_dropped_and_the_others_go_on(tree: Path, counters: tuple[AnyCounter, ...]) -> None:
    def vanish(n_sleeps: int) -> None:
        if n_sleeps == 100:
            for file in (tree / "class/net/eth0/statistics").iterdir():
                file.write_text("")

    sampler = Sampler(counters, interval_s=0.001, clock=FakeClock(on_sleep=vanish).clock())
    chunks = run(sampler, duration_s=0.2)
    assert [chunk.t_ns.shape for chunk in chunks] == [(8, 101), (4, 99)]
    assert {counter.source.name for counter in sampler.counters} == {"eth1"}
    assert len(sampler.broken) == 4
    assert "eth0/statistics/tx_bytes: expected a whole number, found b''" in str(sampler.broken[0])
    assert chunks[1].flags[0, 0] == Flag.MISSED
    assert sampler.n_missed == 1


def test_it_ends_when_no_counter_is_left(tree: Path, counters: tuple[AnyCounter, ...]) -> None:
    def vanish(n_sleeps: int) -> None:
        if n_sleeps == 10:
            for file in tree.rglob("statistics/*"):
                file.write_text("gone\n")

    sampler = Sampler(counters, interval_s=0.001, clock=FakeClock(on_sleep=vanish).clock())
    (chunk,) = run(sampler, duration_s=None)
    assert chunk.t_ns.shape == (8, 11)
    assert sampler.counters == ()


def test_what_no_counter_can_hold_is_flagged_and_cut_off(tmp_path: Path) -> None:
    port = tmp_path / "class/infiniband/mlx5_0/ports/1/counters"
    port.mkdir(parents=True)
    for name, text in (
        ("port_xmit_data", str(2**62)),
        ("port_rcv_data", str(2**32 - 1)),
        ("port_xmit_packets", "-1"),
        ("port_rcv_packets", str(2**70)),
    ):
        (port / name).write_text(text)
    with opened(find_sources(tmp_path, devices=["mlx5_0"]), host="h1") as found:
        (chunk,) = run(Sampler(found.counters, interval_s=0.001, clock=FakeClock().clock()), duration_s=0.001)
    limit, rows = 2**63 - 1, (chunk.counters, chunk.value, chunk.flags)
    assert {counter.series.raw_name: (int(v[0]), int(f[0])) for counter, v, f in zip(*rows, strict=True)} == {
        "port_xmit_data": (limit // 4 * 4, Flag.IMPOSSIBLE),
        "port_rcv_data": (4 * (2**32 - 1), Flag.SATURATED),
        "port_xmit_packets": (limit, Flag.IMPOSSIBLE),
        "port_rcv_packets": (limit, Flag.IMPOSSIBLE),
    }


@pytest.mark.parametrize("interval_s", [0.0, 0.0004999, -1.0])
def test_an_interval_that_cannot_be_kept_is_refused(counters: tuple[AnyCounter, ...], interval_s: float) -> None:
    with pytest.raises(UsageError, match=r"too short to be kept; take 0\.5 ms or more"):
        Sampler(counters, interval_s=interval_s)


def test_progress_is_told_in_seconds_and_words(counters: tuple[AnyCounter, ...]) -> None:
    sampler = Sampler(counters, interval_s=0.001, clock=FakeClock().clock())
    run(sampler, duration_s=1.0)
    assert sampler.elapsed_s == pytest.approx(1.001)
    assert sampler.describe() == "1001 ticks of 8 counters, 0.00% missed"


def test_the_first_signal_is_noted_and_the_second_interrupts() -> None:
    import os
    import signal

    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


class Flaky:
    """A probe that fails at every other read."""

    remarks: Sequence[str] = ()
    lost: Sequence[str] = ()
    counts: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.n_reads = 0

    def read(self) -> list[int]:
        self.n_reads += 1
        if self.n_reads % 2:
            raise OSError("resource busy")
        return [self.n_reads]

    def counters(self) -> tuple[ProbedCounter, ...]:
        spec = CounterSpec(file="n", metric="bytes", direction="transmit", help="reads")
        series = Series(host="h1", device="flaky", direction="transmit", layer="netdev", raw_name="n")
        source = Source(collector="fake", device="flaky", folder=Path("/none"), is_up=True)
        return (ProbedCounter(source=source, spec=spec, series=series, probe=self, i_value=0),)

    def close(self) -> None:
        pass


def test_a_counter_that_fails_now_and_then_is_named_and_costs_the_others_few_ticks(tree: Path) -> None:
    with opened([*find_sources(tree), Flaky()], host="h1") as found:
        sampler = Sampler(found.counters, interval_s=0.01, clock=FakeClock().clock())
        run(sampler, duration_s=3.0)
    assert sampler.n_missed <= 8
    assert [str(error).partition(";")[0] for error in sampler.broken] == [
        "flaky: n: resource busy",
        "flaky: n: resource busy, 3 times",
    ]


def test_a_time_too_short_for_two_reads_is_refused() -> None:
    with pytest.raises(UsageError, match="1 s is shorter than an interval of 60 min"):
        Timing(interval_s=3600.0, duration_s=1.0)
