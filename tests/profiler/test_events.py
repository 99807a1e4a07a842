from __future__ import annotations

import json
import math

import numpy as np
import pytest

from profiler.collectives import CollectiveEvents
from profiler.errors import BadInput
from profiler.events import profile_events
from profiler.phases import TrafficProfile
from tests.profiler.programs import T0_NS, Program, layers

MS = 1_000_000
DDP = [("a", 0.0, 4.0), ("b", 20.0, 6.0), ("c", 40.0, 2.0)]
"""Three buckets: 12 of 100 ms."""


def test_three_iterations_that_repeat_exactly_are_enough() -> None:
    found = profile_events(Program(DDP, period_ms=100.0, n=3).events())

    assert (found.status, found.layer, found.n_cycles) == ("periodic", "collective", 3.0)
    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert found.label == "h/rank0/dp:0/transmit"
    assert found.confidence is not None
    assert found.confidence > 0.9


def test_two_iterations_are_answered_with_less_confidence() -> None:
    two, three = (profile_events(Program(DDP, period_ms=100.0, n=n).events()) for n in (2, 3))

    assert two.period_s == pytest.approx(0.1, abs=1e-9)
    assert (two.confidence or 1.0) < (three.confidence or 0.0)


def test_phases_are_the_collectives_and_the_pauses_between_them() -> None:
    found = profile_events(Program(DDP, period_ms=100.0, n=4, bytes_each=1e6).events())

    phases = [(phase.kind, round(phase.start_s * 1e3, 6), round(phase.width_s * 1e3, 6)) for phase in found.phases]
    assert phases == [
        ("up", 0.0, 4.0),
        ("down", 4.0, 16.0),
        ("up", 20.0, 6.0),
        ("down", 26.0, 14.0),
        ("up", 40.0, 2.0),
        ("down", 42.0, 58.0),
    ]
    assert [phase.rate_bps for phase in found.phases[::2]] == pytest.approx([8e6 / 4e-3, 8e6 / 6e-3, 8e6 / 2e-3])
    assert found.mean_bps == pytest.approx(3 * 8e6 / 0.1)
    assert found.peak_bps == pytest.approx(8e6 / 2e-3)
    assert found.duty_frac == pytest.approx(0.12)
    assert found.anchor_ns == T0_NS + 300 * MS


def test_kernels_that_overlap_are_one_burst_and_their_time_counts_once() -> None:
    overlapping = [("a", 0.0, 10.0), ("b", 4.0, 10.0), ("c", 50.0, 5.0)]
    events = Program(overlapping, period_ms=100.0, n=3).events()

    found = profile_events(events)
    assert events.busy_ns == 3 * (14 + 5) * MS
    assert [round(phase.width_s * 1e3, 6) for phase in found.phases if phase.kind == "up"] == [14.0, 5.0]
    assert found.phases[0].rate_bps == pytest.approx(2 * 8e6 / 14e-3)


def test_a_trace_that_begins_and_ends_amid_iterations_is_read_from_its_longest_pause() -> None:
    found = profile_events(Program(DDP, period_ms=100.0, n=5).events(slice(2, -2)))

    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert [round(phase.start_s * 1e3, 6) for phase in found.phases if phase.kind == "up"] == [0.0, 20.0, 40.0]


@pytest.mark.parametrize("tail", [[], [("reduce_scatter", 130.0, 8.0)]])
@pytest.mark.parametrize("n", [3, 4, 12])
def test_24_equal_all_gathers_are_one_iteration(n: int, tail: list[tuple[str, float, float]]) -> None:
    found = profile_events(Program([*layers(24), *tail], period_ms=400.0, n=n).events())

    assert found.status == "periodic"
    assert found.period_s == pytest.approx(0.4, rel=1e-6)
    assert len([phase for phase in found.phases if phase.kind == "up"]) == 24 + len(tail)


def test_layers_told_from_iterations_by_one_pause_alone_are_not_enough() -> None:
    found = profile_events(Program(layers(24), period_ms=400.0, n=2).events())

    assert (found.status, found.period_s) == ("insufficient", None)
    assert found.need_more_s is not None
    assert "layers" in found.reason


def test_layers_with_a_slight_pause_after_the_last_are_not_read_as_iterations() -> None:
    found = profile_events(Program(layers(24), period_ms=24 * 5.0 + 0.5, n=6).events())

    assert found.period_s == pytest.approx(0.1205, rel=1e-6)
    assert any("24 equal blocks" in warning for warning in found.warnings)
    assert (found.confidence or 1.0) <= 0.7


def test_one_collective_again_and_again_may_be_a_part_of_an_iteration() -> None:
    found = profile_events(Program([("a", 0.0, 10.0)], period_ms=100.0, n=50).events())

    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert found.confidence == 0.5
    assert any("one collective is all that repeats" in warning for warning in found.warnings)


def test_micro_batches_are_no_iterations() -> None:
    micro = [(key, 50.0 * i + start, 3.0) for i in range(4) for key, start in (("g", 0.0), ("h", 9.0), ("s", 20.0))]
    found = profile_events(Program(micro, period_ms=300.0, n=6).events())

    assert found.period_s == pytest.approx(0.3, rel=1e-6)


def test_a_checkpoint_is_an_outlier_and_leaves_the_period_alone() -> None:
    job = Program(DDP, period_ms=100.0, n=40, late_ms={13: 5000.0}, inserted={12: [("barrier", 90.0, 1.0)]})
    found = profile_events(job.events())

    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert [outlier.t_ns for outlier in found.outliers] == [T0_NS + 1200 * MS]
    assert found.outliers[0].duration_s == pytest.approx(5.1)
    assert any("1 collective outside the repeating block" in warning for warning in found.warnings)


def test_a_log_every_tenth_iteration_makes_no_longer_one() -> None:
    job = Program(DDP, period_ms=100.0, n=60, inserted={i: [("loss", 60.0, 0.1)] for i in range(9, 60, 10)})
    sizes = np.where([key == "loss" for key, _, _ in job.rows()], 4.0, 1e6)
    events = job.events()
    found = profile_events(
        CollectiveEvents(start_ns=events.start_ns, duration_ns=events.duration_ns, bytes=sizes, key=events.key)
    )

    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert found.outliers == ()


def test_jitter_widens_the_interval_and_lowers_the_confidence() -> None:
    job = Program(DDP, period_ms=100.0, n=20)
    late_ms = np.repeat(np.cumsum(np.random.default_rng(3).normal(0.0, 2.0, 20)), 3)
    found, exact = profile_events(job.events(jitter_ms=late_ms)), profile_events(job.events())

    assert found.period_low_s is not None
    assert found.period_high_s is not None
    assert found.period_low_s < 0.1 < found.period_high_s
    assert 0.005 < (found.jitter_frac or 0.0) < 0.05
    assert (found.confidence or 1.0) < (exact.confidence or 0.0)


def test_two_iterations_that_disagree_say_how_much_longer_to_look() -> None:
    late_ms = [0.0, 0.0, 0.0, 0.0, 30.0, 25.0]
    found = profile_events(Program(DDP, period_ms=100.0, n=2).events(jitter_ms=late_ms))

    assert (found.status, found.period_s, found.phases) == ("insufficient", None, ())
    assert "100 ms" in found.reason
    assert found.need_more_s is not None
    assert found.need_more_s >= 0.1


def test_sizes_that_are_not_known_are_no_zeros() -> None:
    events = Program(DDP, period_ms=100.0, n=4, bytes_each=math.nan).events()

    found = profile_events(events)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert [phase["rate_bps"] for phase in document["phases"]] == [None, 0.0, None, 0.0, None, 0.0]
    assert (document["mean_bps"], document["peak_bps"]) == (None, None)
    assert document["duty_frac"] == pytest.approx(0.12)
    assert any("no size is known for 12 of 12 collectives" in warning for warning in found.warnings)
    with pytest.raises(BadInput, match="rate_bps"):
        TrafficProfile.from_dict(document)


def test_durations_that_are_not_known_leave_the_mean_rate() -> None:
    events = Program(DDP, period_ms=100.0, n=4).events()
    found = profile_events(CollectiveEvents(start_ns=events.start_ns, bytes=events.bytes, key=events.key))

    assert found.period_s == pytest.approx(0.1, abs=1e-9)
    assert [phase.kind for phase in found.phases] == ["up"]
    assert (found.phases[0].width_s, found.phases[0].rate_bps) == pytest.approx((0.1, 3 * 8e6 / 0.1))
    assert any("Up and Down cannot be told" in warning for warning in found.warnings)


def test_more_bursts_than_a_solver_can_use_are_joined_over_their_shortest_pauses() -> None:
    found = profile_events(Program([*layers(100, every_ms=3.0), ("r", 400.0, 5.0)], period_ms=500.0, n=3).events())

    ups = [phase for phase in found.phases if phase.kind == "up"]
    assert len(ups) <= 64
    assert sum(phase.rate_bps * phase.width_s for phase in ups) == pytest.approx(101 * 8e6)
    assert sum(phase.width_s for phase in found.phases) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(30))
def test_collectives_in_no_order_are_never_periodic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    starts_s = np.cumsum(rng.exponential(0.1, n))
    events = CollectiveEvents(
        start_ns=T0_NS + (starts_s * 1e9).astype(np.int64),
        duration_ns=np.full(n, 1e6),
        bytes=np.full(n, 1e6),
        key=[str(key) for key in rng.integers(0, rng.integers(1, 6), n)],
    )

    found = profile_events(events)
    assert found.status in ("aperiodic", "insufficient")
    assert found.phases == ()


def test_no_collective_one_and_several_at_one_time_have_a_status_and_a_reason() -> None:
    def found(starts_ns: list[int]) -> tuple[str, str]:
        n = len(starts_ns)
        profile = profile_events(
            CollectiveEvents(start_ns=starts_ns, duration_ns=[1.0] * n, bytes=[1.0] * n, key=["a"] * n)
        )
        return profile.status, profile.reason

    assert found([]) == ("no_data", "no collective was completed")
    assert found([5]) == ("insufficient", "one collective only")
    assert found([5] * 20) == ("insufficient", "all 20 collectives start at one time")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("duration_ns", -1.0, r"duration_ns\[1\] = -1"),
        ("bytes", math.inf, r"bytes\[1\] = inf"),
        ("start_ns", math.nan, r"start_ns\[1\] = nan"),
        ("start_ns", 1e30, r"start_ns\[1\] = 1e\+30"),
    ],
)
def test_amounts_that_cannot_be_are_refused_with_their_place(column: str, value: float, message: str) -> None:
    columns: dict[str, list[float]] = {"start_ns": [0, 1], "duration_ns": [1, 1], "bytes": [1, 1]}
    columns[column][1] = value

    with pytest.raises(BadInput, match=message):
        CollectiveEvents(
            start_ns=columns["start_ns"],
            duration_ns=columns["duration_ns"],
            bytes=columns["bytes"],
            key=["a", "b"],
        )


def test_durations_and_sizes_may_be_left_out() -> None:
    events = CollectiveEvents(start_ns=[0, 1], key=["a", "b"])

    assert np.isnan(events.duration_ns).all()
    assert np.isnan(events.bytes).all()


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(BadInput, match="1 of bytes for 2 events"):
        CollectiveEvents(start_ns=[0, 1], duration_ns=[1, 1], bytes=[1], key=["a", "b"])


def test_events_are_put_in_order_and_cannot_be_changed() -> None:
    events = CollectiveEvents(start_ns=[9, 3], duration_ns=[1, 2], bytes=[5, math.nan], key=["late", "early"])

    assert events.key.tolist() == ["early", "late"]
    assert events.duration_ns.tolist() == [2, 1]
    with pytest.raises(ValueError, match="read-only"):
        events.start_ns[0] = 0
