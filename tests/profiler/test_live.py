"""Counters that are watched: what is told of changes, pauses and ends, and what is not told of jitter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler import synth
from profiler.errors import BadInput
from profiler.live import LiveCounter, LiveEvent
from profiler.phases import Phase, TrafficProfile, profile
from profiler.schema import Flag
from tests.profiler.streams import GPT, ONE_BURST, SERIES, T0_NS, job, joined, played, silence

if TYPE_CHECKING:
    from profiler.signals import RateSeries

T_S = 0.25
SLOW_DT_S = 0.05
"""For half an hour of iterations of a second: fewer samples, at a fraction of the cost."""
TWO_BURSTS = (synth.Burst(0.05, 0.25, 400e6), synth.Burst(0.5, 0.15, 320e6))


def kinds(events: list[LiveEvent]) -> list[str]:
    return [event.kind for event in events]


def seconds(t_ns: int) -> float:
    return (t_ns - T0_NS) / 1e9


@pytest.mark.parametrize("jitter_frac", [0.0, 0.05])
@pytest.mark.parametrize("factor", [0.5, 0.7, 1.3, 2.0])
def test_a_change_of_period_is_told_within_five_iterations(factor: float, jitter_frac: float) -> None:
    new_s = factor * T_S
    stream = joined(
        job(T_S, duration_s=20.11, jitter_frac=jitter_frac, seed=2),
        job(new_s, duration_s=10.0, jitter_frac=jitter_frac, seed=7),
    )
    counter, events = played(stream)
    assert kinds(events) == ["found", "changed"]
    changed = events[1]
    # The stretch begins somewhere in an iteration, and five whole ones follow.
    assert changed.noticed_ns <= stream.joints_ns[0] + (1 + 5) * new_s * 1e9
    assert abs(changed.t_ns - stream.joints_ns[0]) <= 2 * max(T_S, new_s) * 1e9
    assert changed.old_period_s == pytest.approx(T_S, rel=0.03)
    assert changed.new_period_s == pytest.approx(new_s, rel=0.02 + 2 * jitter_frac)
    assert counter.state().lock == "held"
    assert counter.state().period_s == pytest.approx(new_s, rel=0.005 + jitter_frac)


@pytest.mark.parametrize("factor", [0.96, 1.04])
def test_a_change_of_four_per_cent_is_told_within_five_iterations_of_a_steady_job(factor: float) -> None:
    stream = joined(job(T_S, duration_s=20.11), job(factor * T_S, duration_s=10.0, seed=7))
    _, events = played(stream)
    assert kinds(events) == ["found", "changed"]
    assert events[1].noticed_ns <= stream.joints_ns[0] + 6 * factor * T_S * 1e9
    assert events[1].new_period_s == pytest.approx(factor * T_S, rel=0.005)


def test_two_nearly_equal_bursts_that_speed_up_are_not_taken_for_half_the_period() -> None:
    stream = joined(
        job(T_S, duration_s=30.0, bursts=GPT, jitter_frac=0.02),
        job(1.3 * T_S, duration_s=20.0, bursts=GPT, jitter_frac=0.02, seed=3),
    )
    _, events = played(stream)
    assert kinds(events) == ["found", "changed"]
    assert events[1].new_period_s == pytest.approx(1.3 * T_S, rel=0.03)


@pytest.mark.parametrize("bursts", [ONE_BURST, TWO_BURSTS], ids=["one burst", "two bursts"])
def test_half_an_hour_of_jitter_is_no_event(bursts: tuple[synth.Burst, ...]) -> None:
    stretch = job(1.0, duration_s=1800.0, bursts=bursts, jitter_frac=0.07, dt_s=SLOW_DT_S)
    counter, events = played(joined(stretch, dt_s=SLOW_DT_S), chunk_s=2.0, dt_s=SLOW_DT_S)
    assert kinds(events) == ["found"]
    assert counter.state().period_s == pytest.approx(1.0, rel=0.02)


def test_detections_at_half_and_twice_the_period_are_no_event_while_iterations_come() -> None:
    draw = np.random.default_rng(5)

    def flighty(series: RateSeries) -> TrafficProfile:
        found = profile(series)
        if found.period_s is None or series.duration_s < 30:
            return found
        period_s = draw.choice([0.5, 1.0, 2.0]) * found.period_s
        return replace(found, period_s=period_s, phases=(Phase(kind="up", start_s=0.0, width_s=0.4, rate_bps=4e8),))

    stream = joined(job(1.0, duration_s=1800.0, jitter_frac=0.05, dt_s=SLOW_DT_S), dt_s=SLOW_DT_S)
    counter = LiveCounter(SERIES, detect=flighty)
    _, events = played(stream, counter=counter, chunk_s=2.0, dt_s=SLOW_DT_S)
    assert kinds(events) == ["found"]
    assert counter.state().period_s == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("family", ["poisson_transfers", "serving", "telegraph"])
def test_half_an_hour_without_a_period_is_no_event(family: str) -> None:
    make = synth.NON_PERIODIC[family]
    traffic = make(np.random.default_rng(3), duration_s=1800.0, dt_s=0.2).series.delta_bytes
    counter, events = played(joined(traffic, dt_s=0.2), chunk_s=5.0, dt_s=0.2)
    assert events == []
    assert counter.state().period_s is None


def test_a_pause_is_named_and_not_averaged_in() -> None:
    stream = joined(job(T_S, duration_s=30.0), silence(30.03), job(T_S, duration_s=20.0, seed=3))
    counter, events = played(stream)
    assert kinds(events) == ["found", "paused", "resumed"]
    stopped_ns, restarted_ns = stream.joints_ns
    assert abs(events[1].t_ns - stopped_ns) <= T_S * 1e9
    assert abs(events[2].t_ns - restarted_ns) <= T_S * 1e9
    assert events[2].gap_s == pytest.approx(30.03, abs=T_S)
    assert counter.state().period_s == pytest.approx(T_S, rel=0.001)


def test_a_checkpoint_at_line_rate_is_named_by_its_traffic() -> None:
    checkpoint = np.full(750, 400e6 * 0.004 / 8)
    stream = joined(job(T_S, duration_s=20.0), checkpoint, job(T_S, duration_s=20.0, seed=2))
    counter, events = played(stream)
    assert kinds(events) == ["found", "lost", "resumed"]
    assert "traffic goes on" in events[1].reason
    assert events[2].gap_s == pytest.approx(3.0, abs=2 * T_S)
    assert counter.state().period_s == pytest.approx(T_S, rel=0.001)


def test_one_late_iteration_is_no_event() -> None:
    stream = joined(job(T_S, duration_s=20.0), silence(0.2), job(T_S, duration_s=20.0, seed=1))
    assert kinds(played(stream)[1]) == ["found"]


def test_a_job_that_ends_goes_idle_and_the_next_one_is_found_anew() -> None:
    stream = joined(job(T_S, duration_s=20.0), silence(150.0), job(0.4, duration_s=10.0, seed=2))
    counter, events = played(stream)
    assert kinds(events) == ["found", "paused", "ended", "found"]
    assert abs(events[2].t_ns - stream.joints_ns[0]) <= 2 * T_S * 1e9
    assert seconds(events[2].noticed_ns) == pytest.approx(20.0 + 120.0, abs=1.0)
    assert seconds(events[3].noticed_ns) < 170.0 + 8.0
    assert counter.state().period_s == pytest.approx(0.4, rel=0.01)


def test_after_the_end_the_counter_is_idle_until_traffic_comes() -> None:
    counter, events = played(joined(job(T_S, duration_s=15.0), silence(200.0)))
    assert kinds(events) == ["found", "paused", "ended"]
    assert counter.state().lock == "ended"
    assert counter.state().period_s is None


def test_a_job_that_restarts_at_another_pace_is_told_as_changed() -> None:
    stream = joined(job(T_S, duration_s=20.0), silence(30.0), job(0.4, duration_s=20.0, seed=2))
    counter, events = played(stream)
    assert kinds(events) == ["found", "paused", "changed"]
    assert events[2].new_period_s == pytest.approx(0.4, rel=0.01)
    assert seconds(events[2].noticed_ns) <= 50.0 + 6 * 0.4
    assert counter.state().lock == "held"


def test_a_weaker_job_that_joins_does_not_take_the_period_over() -> None:
    first = job(T_S, duration_s=60.0, jitter_frac=0.03)
    second = job(0.6, duration_s=40.0, bursts=(synth.Burst(0.3, 0.4, 150e6),), jitter_frac=0.03, seed=9)
    first[-second.size :] += second
    counter, events = played(joined(first))
    assert kinds(events) == ["found"]
    assert counter.state().period_s == pytest.approx(T_S, rel=0.02)


@pytest.mark.parametrize("joining_s", [0.4, 0.6])
def test_a_job_of_the_same_size_that_joins_is_no_change(joining_s: float) -> None:
    first = job(T_S, duration_s=45.0, jitter_frac=0.03, seed=2)
    second = job(joining_s, duration_s=25.0, jitter_frac=0.03, seed=102)
    first[-second.size :] += second
    counter, events = played(joined(first))
    assert kinds(events) == ["found"]
    assert counter.state().lock == "held"
    assert counter.state().period_s == pytest.approx(T_S, rel=0.02)


def test_the_next_burst_is_foretold() -> None:
    made = synth.training_job(
        np.random.default_rng(1), period_s=1.0, bursts=(synth.Burst(0.3, 0.4, 400e6),), duration_s=60.0, dt_s=0.004
    )
    state = played(joined(made.series.delta_bytes[: 55 * 250]))[0].state()
    starts_s = made.up_s[:, 0]
    next_s = starts_s[starts_s > seconds(state.t_ns)][0]
    assert seconds(state.next_burst_ns or 0) == pytest.approx(next_s, abs=0.02)
    assert state.phase_s == pytest.approx(seconds(state.t_ns) - (next_s - 1.0), abs=0.02)
    assert state.moved_s == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize(
    ("period_s", "dt_s", "duration_s"), [(0.02, 0.001, 6.0), (125.0, 0.1, 2400.0)], ids=["20 ms", "125 s"]
)
def test_the_shortest_and_the_longest_periods_are_found(period_s: float, dt_s: float, duration_s: float) -> None:
    stretch = job(period_s, duration_s=duration_s, dt_s=dt_s)
    counter, events = played(joined(stretch, dt_s=dt_s), chunk_s=250 * dt_s, dt_s=dt_s)
    assert kinds(events) == ["found"]
    assert counter.state().period_s == pytest.approx(period_s, rel=0.01)


def test_the_size_of_chunks_changes_nothing_of_what_is_told_of_a_change() -> None:
    stream = joined(job(T_S, duration_s=20.0), job(1.3 * T_S, duration_s=10.0, seed=3))
    told = [played(stream, chunk_s=chunk_s)[1][1] for chunk_s in (0.1, 0.5)]
    assert told[0].new_period_s == pytest.approx(told[1].new_period_s, rel=0.01)
    assert abs(told[0].noticed_ns - told[1].noticed_ns) <= 0.1 * T_S * 1e9


def test_readings_of_nonsense_are_refused_and_change_nothing() -> None:
    counter = LiveCounter(SERIES)
    counter.add([1, 2], [0, 10])
    for t_ns, value in (([3], [float("nan")]), ([3], [-1]), ([3, 4], [1]), ([3], [float("inf")]), ([3], ["a"])):
        with pytest.raises(BadInput):
            counter.add(t_ns, value)
    assert counter.state().t_ns == 2
    assert counter.look() == []


def test_readings_that_come_again_or_go_back_are_left_out() -> None:
    stream = joined(job(T_S, duration_s=20.0))
    once, _ = played(stream)
    counter = LiveCounter(SERIES)
    for first in range(0, stream.t_ns.size, 60):
        t_ns, value = stream.t_ns[first : first + 62], stream.value[first : first + 62]
        counter.add(t_ns, value)
        counter.add(t_ns[::-1], value[::-1])
        counter.look()
    assert counter.state().period_s == pytest.approx(once.state().period_s, rel=0.005)


@pytest.mark.parametrize("back_s", [5.0, 3600.0])
def test_a_clock_that_is_set_back_is_told_and_the_job_is_found_anew(back_s: float) -> None:
    stream = joined(job(T_S, duration_s=40.0))
    is_after = np.arange(stream.t_ns.size) >= 5000
    set_back = replace(stream, t_ns=stream.t_ns - is_after * round(back_s * 1e9))
    counter, events = played(set_back)
    assert kinds(events) == ["found", "lost", "found"]
    assert "set back by" in events[1].reason
    assert events[1].t_ns == stream.t_ns[4999]
    assert counter.state().t_ns == set_back.t_ns[-1]
    assert counter.state().period_s == pytest.approx(T_S, rel=0.005)


def test_a_reading_from_the_future_does_not_stop_the_watch() -> None:
    stream = joined(job(T_S, duration_s=40.0))
    t_ns = stream.t_ns.copy()
    t_ns[5000] += 600 * 10**9
    counter, _ = played(replace(stream, t_ns=t_ns))
    assert counter.state().lock == "held"
    assert counter.state().t_ns == t_ns[-1]


@pytest.mark.parametrize("chunk_s", [0.25, 100.0])
def test_after_hours_without_a_reading_watching_begins_anew(chunk_s: float) -> None:
    stream = joined(job(T_S, duration_s=40.0))
    is_after = np.arange(stream.t_ns.size) >= 5000
    counter, events = played(replace(stream, t_ns=stream.t_ns + is_after * 86_400 * 10**9), chunk_s=chunk_s)
    if chunk_s < 1:
        assert kinds(events) == ["found", "lost", "found"]
        assert events[1].reason == "no samples for 24 h"
    # What came before the break is no part of the answer.
    assert counter.answer().period_s == pytest.approx(T_S, rel=0.005)
    assert counter.answer().n_cycles == pytest.approx(80, abs=3)


def test_a_counter_that_wraps_and_one_that_is_reset_keep_their_beat() -> None:
    stream = joined(job(T_S, duration_s=60.0))
    reset = np.where(np.arange(stream.value.size) < 10_000, stream.value, stream.value - stream.value[10_000])
    for value in (stream.value, reset):
        counter = LiveCounter(SERIES)
        events = []
        for first in range(0, stream.t_ns.size, 62):
            events += counter.add(stream.t_ns[first : first + 62], value[first : first + 62])
            events += counter.look()
        assert kinds(events) == ["found"]


def test_a_live_state_is_json() -> None:
    document = played(joined(job(T_S, duration_s=10.0)))[0].state().to_dict()
    assert document["lock"] == "held"
    assert document["status"] == "periodic"
    assert [event["kind"] for event in document["events"]] == ["found"]


def test_readings_flagged_impossible_are_left_out_and_the_largest_possible_are_taken() -> None:
    most = 2**63 - 1
    counter = LiveCounter(SERIES)
    flags = np.array([0, Flag.IMPOSSIBLE, 0], dtype=np.uint16)
    counter.add(T0_NS + np.arange(3), np.array([most - 10, 2**64 - 1, most], dtype=np.uint64), flags=flags)
    assert counter.answer().mean_bps == pytest.approx(10 * 8 / 2e-9)
