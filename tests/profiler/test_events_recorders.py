"""Dumps of PyTorch's flight recorder and records of NCCL Inspector."""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.errors import BadInput
from profiler.events import profile_events
from profiler.importers.traces import plain_pickle
from profiler.importers.traces.plain_pickle import load_plain
from profiler.sources import read_sources
from tests.data import shared
from tests.profiler.dumps import put

T0_NS = 1_758_610_505_000_000_000
MS = 1_000_000


class Payload:
    """Calls ``os.system`` when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.command = f"touch {target}"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def entry(t_ms: float, name: str, shape: list[int], **told: Any) -> dict[str, Any]:
    return {
        "record_id": 1,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "profiling_name": f"nccl:{name}",
        "time_created_ns": T0_NS + round(t_ms * MS),
        "duration_ms": 4.0,
        "input_sizes": [shape],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [shape],
        "output_dtypes": ["BFloat16"],
        "state": "completed",
        "time_discovered_completed_ns": T0_NS + 10**12,
        **told,
    }


def dump(n: int = 4, **told: Any) -> dict[str, Any]:
    block = [("all_gather", [1000, 4]), ("all_reduce", [10]), ("reduce_scatter", [500])]
    entries = [entry(i * 100 + j * 20, name, shape, **told) for i in range(n) for j, (name, shape) in enumerate(block)]
    return {"version": "2.9", "pg_config": {}, "nccl_version": "2.27.3", "entries": entries}


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickled_dump_becomes_the_profile_of_its_collectives(tmp_path: Path, protocol: int) -> None:
    path = put(tmp_path / "nccl_trace_rank_12", pickle.dumps(dump(), protocol=protocol))

    _, (events,), problems = read_sources(path)
    found = profile_events(events)
    assert (problems, events.device, events.port) == ([], "rank12", "default_pg:0")
    assert events.bytes[:3].tolist() == [8000.0, 20.0, 1000.0]
    assert found.status == "periodic"
    assert found.period_s == pytest.approx(0.1)
    assert any("when the host queued" in warning for warning in found.warnings)


def test_a_dump_in_json_says_the_same(tmp_path: Path) -> None:
    as_json, as_pickle = (
        read_sources(put(tmp_path / kind / "d_0", content))[1][0]
        for kind, content in (("a", json.dumps(dump())), ("b", pickle.dumps(dump(), protocol=2)))
    )

    for column in ("start_ns", "duration_ns", "bytes"):
        np.testing.assert_array_equal(getattr(as_json, column), getattr(as_pickle, column))


def test_without_timing_the_period_is_known_and_phases_are_not(tmp_path: Path) -> None:
    _, (events,), _ = read_sources(put(tmp_path / "d_0", json.dumps(dump(duration_ms=None))))

    found = profile_events(events)
    assert found.period_s == pytest.approx(0.1)
    assert [phase.kind for phase in found.phases] == ["up"]


def test_collectives_that_were_not_completed_moved_nothing_known(tmp_path: Path) -> None:
    document = dump()
    document["entries"] += [
        entry(450, "all_reduce", [7], state="scheduled", time_discovered_completed_ns=0),
        entry(460, "all_reduce", [7], state="started", time_discovered_completed_ns=None),
    ]

    _, (events,), _ = read_sources(put(tmp_path / "d_0", json.dumps(document)))
    assert events.n_events == 12
    assert any(note.startswith("2 collectives of the dump that were not completed") for note in events.notes)


def test_entries_that_are_none_are_counted_and_left_out(tmp_path: Path) -> None:
    document = dump()
    document["entries"] += [7, {}, {"time_created_ns": -1, "process_group": ["0", ""]}]

    _, (events,), problems = read_sources(put(tmp_path / "d_0", json.dumps(document)))
    assert events.n_events == 12
    assert problems == [f"{tmp_path / 'd_0'}: 3 of 15 entries have no time or group"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_a_command_runs_nothing(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "touched"
    path = put(tmp_path / "d.pickle", pickle.dumps({"entries": [Payload(target)]}, protocol=protocol))

    with pytest.raises(BadInput):
        read_sources(path)
    assert not target.exists()


def test_a_hostile_pickle_is_refused_at_the_place_where_it_imports() -> None:
    data = pickle.dumps([1, Payload(Path("x"))], protocol=4)

    with pytest.raises(BadInput, match=r"d: byte \d+: the pickle wants to run code \(STACK_GLOBAL posix\.system\)"):
        load_plain(data, name="d")


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(np.zeros(3)),
        pickle.dumps(Path("x")),
        pickle.dumps({1, 2}, protocol=4),
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
        b"\x80\x02cposix\nsystem\n.",
        b"\x80\x02(iposix\nsystem\n.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02Ppersistent\n.",
        b"\x80\x05\x97.",
    ],
)
def test_nothing_but_plain_values_is_let_through(data: bytes) -> None:
    with pytest.raises(BadInput, match="run code"):
        load_plain(data, name="d")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04Nr\xff\xff\xff\x7f.",
        b"\x80\x04X\xff\xff\xff\x7fabc.",
        b"\x80\x04\x8b\xff\xff\xff\x7f1.",
        b"\x80\x04]q\x00(",
        b"\x80\x04h\x05.",
        b"\x80\x04}Ns.",
        b"\x80\x04.",
        b"\x80\x09N.",
        b"",
    ],
)
def test_a_damaged_pickle_is_said_to_be_and_fills_no_memory(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^d: "):
        load_plain(data, name="d")


DOUBLED = b"".join(b"q%c](%be" % (i, b"h%c" % i * 2000) for i in range(1, 4))
"""Puts what is on the stack into a list 2000 times, and that list again, and that."""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02}N" + b"\x85" * 3_000_000 + b"Ns.", "more than 16 deep"),
        (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "more than 16 deep"),
        (b"\x80\x02" + b"(" * 100_000 + b"l" * 100_000 + b".", "more than 16 deep"),
        (b"\x80\x02}" + b"(" * 17 + b"K\x01" + b"t" * 17 + b"Ns.", "more than 16 deep"),
        (b"\x80\x02]N" + b"".join(b"q%ch%ch%c\x87" % (i, i, i) for i in range(1, 20)) + b".", "more than 16 deep"),
        (b"\x80\x02]q\x00h\x00a.", "holds itself"),
        (b"\x80\x02]q\x00\x85h\x00K\x01a.", "grows after another holds it"),
        (b"\x80\x02}N\x85Ns.", "key is neither"),
        (b"\x80\x02(N\x85Nd.", "key is neither"),
        (b"\x80\x02}(N\x85Nu.", "key is neither"),
        (b"\x80\x02N" + DOUBLED + b".", "more than 100000000 values"),
        (pickle.dumps(["x" * 2_000_000] * 1000), "more than 100000000 values"),
    ],
)
def test_values_deeper_or_larger_than_a_dump_are_refused_before_one_is_made(
    data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_pickle, "_PlainUnpickler", None)
    with pytest.raises(BadInput, match=rf"^d: byte \d+: .*{message}"):
        load_plain(data, name="d")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda parts: (
        st.lists(parts) | st.lists(parts).map(tuple) | st.dictionaries(st.text() | st.integers() | st.none(), parts)
    ),
)


@given(PLAIN, st.integers(3, pickle.HIGHEST_PROTOCOL))
def test_any_plain_value_comes_through(value: Any, protocol: int) -> None:
    shared = [value, [value, value]]
    assert load_plain(pickle.dumps(shared, protocol=protocol), name="d") == shared


@pytest.mark.parametrize("place", ["profiling_name", "input_dtypes", "output_sizes", "process_group", "state"])
def test_lists_of_lists_in_place_of_names_and_sizes_are_not_followed(tmp_path: Path, place: str) -> None:
    document = dump()
    document["entries"][4][place] = "DEEP"
    text = json.dumps(document).replace('"DEEP"', "[" * 990 + '"x"' + "]" * 990)
    document["entries"][4][place] = [[[["x"]]]]

    for name, content in (("json_0", text), ("pickle_0", pickle.dumps(document))):
        _, found, problems = read_sources(put(tmp_path / name, content))
        assert sum(events.n_events for events in found) == 12
        assert problems == []


@pytest.mark.parametrize("shape", [[10**200, 10**200], [1e154, 1.5e154], [1 << 45], ["9"], [-1], [float("inf")], [[3]]])
def test_a_size_that_no_tensor_has_is_not_known_and_costs_no_other(tmp_path: Path, shape: list[Any]) -> None:
    document = dump()
    document["entries"][4].update(input_sizes=[shape] * 3, output_sizes=[shape] * 3)

    _, (events,), _ = read_sources(put(tmp_path / "d_0", pickle.dumps(document)))
    assert np.flatnonzero(np.isnan(events.bytes)).tolist() == [4]


def test_an_empty_group_and_long_names_are_read_as_any_other(tmp_path: Path) -> None:
    document = dump(process_group=[])
    for i, given_entry in enumerate(document["entries"]):
        given_entry["profiling_name"] = "x" * 100_000 + str(i % 3)

    _, (events,), _ = read_sources(put(tmp_path / "d_0", json.dumps(document)))
    assert events.port == ""
    assert profile_events(events).period_s == pytest.approx(0.1)
    assert len(set(events.key.tolist())) == 3
    assert events.key.dtype.itemsize <= 4 * 120


def test_plain_values_come_through_as_they_were() -> None:
    value = {"a": [1, -2, 3.5, None, True, "é", 2**80, (1, (2,))], "b": {}, "c": "x" * 70_000}

    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert load_plain(pickle.dumps(value, protocol=protocol), name="d") == value


def test_what_is_no_dump_is_refused(tmp_path: Path) -> None:
    for content, message in (
        (pickle.dumps([1]), "holds a list"),
        (pickle.dumps({"entries": 5}), "has no list of entries"),
        (b'{"entries": [}, "pg_config": {}', "damaged JSON"),
        (pickle.dumps({"entries": [1]}), "1 of 1 entries have no time or group"),
    ):
        with pytest.raises(BadInput, match=message):
            read_sources(put(tmp_path / "d", content))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_real_dump_of_a_hang_names_its_groups_and_completed_nothing(rank: int) -> None:
    _, events, problems = read_sources(shared(f"nccl/gpu_error_1st__dump_{rank}.pickle"))
    found = [profile_events(one) for one in events]

    assert problems == []
    assert len(found) == 6
    assert {one.device for one in found} == {f"rank{rank}"}
    assert {one.status for one in found} == {"no_data"}
    assert found[0].warnings == ("20 collectives of the dump that were not completed are left out",)


def record(t_us: int, coll: str, size: int, number: int, **told: Any) -> dict[str, Any]:
    return {
        "header": {"id": "0xabc", "rank": 4, "n_ranks": 8, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": t_us, "hostname": "node1"},
        "coll_perf": {
            "coll": coll,
            "coll_sn": number,
            "coll_msg_size_bytes": size,
            "coll_exec_time_us": 4000,
            **told,
        },
    }


def traced(t_us: int) -> dict[str, Any]:
    kernel = {"channel_id": 0, "kernel_start_ts": t_us + 10, "kernel_stop_ts": t_us + 4010}
    later = {"channel_id": 1, "kernel_start_ts": t_us + 15, "kernel_stop_ts": t_us + 4010}
    return {"event_trace_ts": {"coll_start_ts": t_us, "kernel_events": [later, kernel]}}


def records(n: int = 4, *, verbose: bool = True) -> list[dict[str, Any]]:
    found = []
    for i in range(n):
        for j, (coll, size) in enumerate((("AllGather", 800), ("AllReduce", 1600), ("ReduceScatter", 400))):
            t_us = T0_NS // 1000 + i * 100_000 + j * 20_000
            found.append(record(t_us + 5000, coll, size, i, **(traced(t_us) if verbose else {})))
    return found


def lines(documents: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def test_records_of_the_inspector_become_the_profile_of_their_collectives(tmp_path: Path) -> None:
    _, (events,), problems = read_sources(put(tmp_path / "r.jsonl", lines(records())))

    found = profile_events(events)
    assert (problems, events.notes) == ([], ())
    assert (events.host, events.device, events.port) == ("node1", "rank4", "0xabc")
    assert events.start_ns[0] == T0_NS + 10_000
    assert events.bytes[:3].tolist() == [800.0, 1600.0, 400.0]
    assert found.status == "periodic"
    assert (found.period_s, found.duty_frac) == pytest.approx((0.1, 0.12))


def test_records_without_event_times_begin_where_the_dump_allows_and_say_so(tmp_path: Path) -> None:
    _, (events,), _ = read_sources(put(tmp_path / "r.jsonl", lines(records(verbose=False))))

    assert events.start_ns[0] == T0_NS + 1_000_000
    assert "NCCL_INSPECTOR_DUMP_VERBOSE=1" in events.notes[0]


def test_collectives_that_the_inspector_missed_are_counted(tmp_path: Path) -> None:
    kept = [document for i, document in enumerate(records(8)) if i not in (10, 11, 14)]

    _, (events,), _ = read_sources(put(tmp_path / "r.jsonl", lines(kept)))
    assert events.notes == ("3 collectives between those of the file are missing: the inspector keeps the newest only",)


def test_lines_that_are_no_records_are_left_out_and_the_first_is_named(tmp_path: Path) -> None:
    text = lines(records(2)) + "{broken\n\n" + '{"coll_perf": {}}\n[1]\n' + lines(records(3)[6:])[:-30]

    _, (events,), problems = read_sources(put(tmp_path / "r.jsonl", text))
    assert events.n_events == 6 + 2
    assert problems == [f"{tmp_path / 'r.jsonl'}: line 7: no record of a collective; lines like it (4) left out"]


def test_real_records_are_read_with_their_sizes_and_times() -> None:
    _, (first, second), problems = read_sources(shared("nccl/nccl_inspector_readme_examples.jsonl"))

    assert problems == []
    assert (first.device, first.bytes[0], first.duration_ns[0]) == ("rank2", 17179869184, 61974e3)
    assert (second.port, second.start_ns[0]) == ("0xe62dedaa97644a", 1752867229235181000)
    assert profile_events(first).status == "insufficient"


def test_sizes_of_several_types_or_of_none_are_not_known(tmp_path: Path) -> None:
    document = dump(input_dtypes=["Float", "Long"], input_sizes=[[1], [2]])

    _, (events,), _ = read_sources(put(tmp_path / "d_0", json.dumps(document)))
    assert all(math.isnan(size) for size in events.bytes)
