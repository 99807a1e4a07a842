"""Traces of the PyTorch profiler."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from profiler.errors import BadInput
from profiler.events import profile_events
from profiler.sources import read_sources
from tests.data import shared
from tests.profiler.dumps import put
from tests.profiler.programs import kineto_event

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.collectives import CollectiveEvents

BASE_NS = 1_700_000_000_000_000_000
BEGINNINGS = (0.0, 20_000.0, 50_000.0)
"""Three all-reduces of 1000, 2000 and 3000 elements, each 5 ms, every 100 ms; microseconds."""


def kernels(n: int = 4, **told: Any) -> list[dict[str, object]]:
    return [
        kineto_event(i * 100_000.0 + start + 0.25, 5000.0, **{"elements": 1000 * (j + 1), **told})
        for i in range(n)
        for j, start in enumerate(BEGINNINGS)
    ]


def trace(events: list[dict[str, object]], **keys: object) -> dict[str, object]:
    host_side = {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 1.0, "dur": 9e6, "args": {}}
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "ts": 0.0, "dur": 77_000.0}
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "traceEvents": [host_side, *events, step],
        "baseTimeNanoseconds": BASE_NS,
        **keys,
    }


def read(path: Path) -> tuple[list[CollectiveEvents], list[str]]:
    rates, events, problems = read_sources(path)
    assert not rates
    return events, problems


def _has_no_sizes(events: CollectiveEvents) -> bool:
    return bool((events.bytes != events.bytes).all())


def test_kernels_of_the_gpu_are_read_and_what_the_host_says_is_not(tmp_path: Path) -> None:
    (events,), problems = read(put(tmp_path / "job.json", json.dumps(trace(kernels()))))

    assert problems == []
    assert (events.host, events.device, events.port, events.n_events) == ("job", "rank3", "default_pg:0", 12)
    assert events.start_ns[:2].tolist() == [BASE_NS + 250, BASE_NS + 20_000_250]
    assert set(events.duration_ns.tolist()) == {5e6}
    assert events.bytes[:3].tolist() == [2000.0, 4000.0, 6000.0]
    assert profile_events(events).period_s == pytest.approx(0.1)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
@pytest.mark.parametrize("indent", [None, 2])
def test_traces_are_read_however_they_are_packed_and_laid_out(tmp_path: Path, pack: Any, indent: int | None) -> None:
    text = json.dumps(trace(kernels()), indent=indent).encode()

    (events,), problems = read(put(tmp_path / "t.bin", pack(text)))
    assert (events.n_events, problems) == (12, [])


def test_a_list_of_events_alone_is_a_trace_too(tmp_path: Path) -> None:
    (events,), problems = read(put(tmp_path / "t.json", json.dumps(kernels())))

    assert (events.device, events.n_events, problems) == ("gpu0", 12, [])


def test_keys_after_the_events_count_as_those_before(tmp_path: Path) -> None:
    document = trace(kernels())
    del document["distributedInfo"]
    late = {**document, "distributedInfo": {"rank": 5}, "deviceProperties": [{"id": 0}, {"id": 1}, {"id": 2}]}

    (events,), problems = read(put(tmp_path / "t.json", json.dumps(late)))
    assert (events.device, problems) == ("rank5", [])


def test_each_process_group_and_each_gpu_is_a_series(tmp_path: Path) -> None:
    events = [*kernels(group="dp"), *kernels(group="tp"), *kernels(group="tp", gpu=1)]

    found, _ = read(put(tmp_path / "t.json", json.dumps(trace(events))))
    assert [(one.device, one.port) for one in found] == [
        ("rank3-gpu0", "default_pg:dp"),
        ("rank3-gpu0", "default_pg:tp"),
        ("rank3-gpu1", "default_pg:tp"),
    ]


def test_a_trace_that_names_no_group_is_told_apart_by_stream_and_has_no_sizes(tmp_path: Path) -> None:
    events = [*kernels(elements=None, stream=84), *kernels(elements=None, stream=203)]

    found, _ = read(put(tmp_path / "t.json", json.dumps(trace(events))))
    assert [one.port for one in found] == ["stream203", "stream84"]
    assert all(_has_no_sizes(one) for one in found)


def test_a_type_that_is_not_known_makes_no_size(tmp_path: Path) -> None:
    event = kineto_event(1.0, 5.0)
    event["args"] = {**event["args"], "dtype": "Quaternion"}  # type: ignore[dict-item]

    (events,), _ = read(put(tmp_path / "t.json", json.dumps(trace([event]))))
    assert _has_no_sizes(events)


def test_a_trace_cut_anywhere_gives_the_events_before_the_cut(tmp_path: Path) -> None:
    text = json.dumps(trace(kernels(20)))
    rng = random.Random(5)  # noqa: S311 - no secret

    for cut in [text.index("traceEvents") + 600, *(rng.randrange(1500, len(text) - 1) for _ in range(40))]:
        (events,), problems = read(put(tmp_path / "t.json", text[:cut]))
        whole = text[:cut].count('"grid"')
        assert whole - 1 <= events.n_events <= whole
        assert "ends early" in problems[0]


def test_a_missing_bracket_loses_nothing(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": kernels()})

    (events,), problems = read(put(tmp_path / "t.json", text[:-2]))
    assert events.n_events == 12
    assert "ends early, after an event" in problems[0]


def test_the_zero_of_a_clock_that_was_cut_off_is_said_to_be_unknown(tmp_path: Path) -> None:
    text = json.dumps(trace(kernels()))

    _, problems = read(put(tmp_path / "t.json", text[: text.index("baseTime") - 3]))
    assert any("dates are not known" in problem for problem in problems)


def test_compressed_data_cut_in_the_middle_are_read_up_to_there(tmp_path: Path) -> None:
    rng = random.Random(1)  # noqa: S311 - no secret
    noisy = [{**event, "id": rng.randbytes(40).hex()} for event in kernels(400)]
    packed = gzip.compress(json.dumps(trace(noisy)).encode())

    (events,), problems = read(put(tmp_path / "t.json.gz", packed[: len(packed) // 2]))
    assert 400 < events.n_events < 1200
    assert "gzip data end early" in problems[0]


def test_a_damaged_event_is_passed_over_and_the_next_is_read(tmp_path: Path) -> None:
    events = [json.dumps(event) for event in kernels(60)]
    for i in (50, 178):
        events[i] = events[i].replace('"ts":', '"ts"')

    (found,), problems = read(put(tmp_path / "t.json", '{"traceEvents": [' + ", ".join(events) + "]}"))
    assert found.n_events == 178
    assert "2 damaged events were passed over" in problems[0]


def test_an_event_that_holds_objects_is_one_event(tmp_path: Path) -> None:
    parts = [{"rank": i} for i in range(12)]
    nested = [{**event, "ranks": parts} for event in kernels()]

    (events,), problems = read(put(tmp_path / "t.json", json.dumps(trace(nested))))
    assert (events.n_events, problems) == (12, [])


def test_numbers_that_json_has_not_do_no_harm(tmp_path: Path) -> None:
    strange = [{**event, "occupancy": float("nan")} for event in kernels()] + [kineto_event(float("nan"), 5.0)]

    (events,), problems = read(put(tmp_path / "t.json", json.dumps(trace(strange))))
    assert (events.n_events, problems) == (12, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schemaVersion": 1, "traceEvents": []}', "0 events and no NCCL kernel"),
        (json.dumps(trace([])), "2 events and no NCCL kernel among them; record a rank that communicates"),
        ('{"schemaVersion": 1, "traceEvents"', "has no list of traceEvents"),
        ('{"schemaVersion": 1}', "has no list of traceEvents"),
        ('{"schemaVersion": 1, "traceEvents": [' + "[" * 100_000, "no NCCL kernel"),
        ('{"answer": 42}', "looks like JSON"),
    ],
)
def test_what_holds_no_collective_is_refused_with_a_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_sources(put(tmp_path / "t.json", text))


def test_the_iteration_of_a_real_trace_is_that_between_its_collectives() -> None:
    (events,), problems = read(shared("kineto/hta_nccl_data.json.gz"))
    found = profile_events(events)

    assert problems == []
    assert (found.status, found.device, found.port, found.n_cycles) == ("periodic", "rank0", "default_pg:0", 3.0)
    assert (found.period_s or 0.0) * 1e3 == pytest.approx(220.10, abs=0.005)
    assert events.n_events == 21
    assert events.busy_ns / 1e6 == pytest.approx(46.9, abs=0.05)
    assert events.span_s * 1e3 == pytest.approx(630.8, abs=0.05)
    assert (found.mean_bps or 0.0) * (found.period_s or 0.0) == pytest.approx(
        8 * (4 * (2049000 + 7875584 + 6563840 + 6637568 + 2431040 + 53120) + 8 * 53)
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_two_steps_whose_kernels_wait_for_other_ranks_are_not_enough(rank: int) -> None:
    events, _ = read(shared(f"kineto/hta_sampled_rank-{rank}.json.gz"))
    found = [profile_events(one) for one in events]

    assert [(one.device, one.port) for one in found] == [(f"rank{rank}", "stream203"), (f"rank{rank}", "stream84")]
    assert {one.status for one in found} == {"insufficient"}
    assert all((one.need_more_s or 0.0) > 0.6 for one in found)
    assert sum(one.n_events for one in events) == 10


@pytest.mark.parametrize("duration_us", [0, 9e10, 1e298, -5.0, "5"])
def test_a_duration_that_no_collective_has_is_not_known_and_said(tmp_path: Path, duration_us: Any) -> None:
    made = kernels()
    for event in made:
        event["dur"] = duration_us

    (events,), _ = read(put(tmp_path / "t.json", json.dumps(trace(made))))
    found = profile_events(events)
    assert found.period_s == pytest.approx(0.1)
    assert [(phase.kind, phase.width_s) for phase in found.phases] == [("up", found.period_s)]
    believed = "12 of 12 collectives took no time or more than a day" in " ".join(found.warnings)
    assert believed == (isinstance(duration_us, int | float) and duration_us >= 0)
    assert any("no duration is known for 12 of 12" in warning for warning in found.warnings)


def test_a_message_larger_than_any_memory_has_no_rate(tmp_path: Path) -> None:
    made = kernels(elements=10**299)
    (events,), _ = read(put(tmp_path / "t.json", json.dumps(trace(made))))
    found = profile_events(events)
    assert found.period_s is None or found.mean_bps is None
    assert all(phase.rate_bps != phase.rate_bps for phase in found.phases if phase.kind == "up")
    assert _has_no_sizes(events)


def test_what_stands_in_place_of_a_name_is_not_followed(tmp_path: Path) -> None:
    deep = "[" * 990 + "]" * 990
    text = json.dumps(trace(kernels(group="DEEP"))).replace('"DEEP"', deep).replace('"allreduce"', deep)
    (events,), _ = read(put(tmp_path / "t.json", text))
    assert events.port == "default_pg:[[?]]"
    assert profile_events(events).period_s == pytest.approx(0.1)


def test_single_durations_that_are_not_known_cost_no_phase(tmp_path: Path) -> None:
    made = kernels(8)
    made[4]["dur"] = made[11]["dur"] = 0

    (events,), _ = read(put(tmp_path / "t.json", json.dumps(trace(made))))
    found = profile_events(events)
    ups = [(phase.start_s, phase.width_s) for phase in found.phases if phase.kind == "up"]
    assert ups == [pytest.approx(up) for up in [(0.0, 0.005), (0.02, 0.005), (0.05, 0.005)]]
    assert any("no duration is known for 2 of 24 collectives: they are taken" in one for one in found.warnings)
