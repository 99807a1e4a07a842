"""Collectives that are met are kept or left out by reason, and those that are lost are counted where they are lost."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from profiler.importers import Coverage, Options, ingest
from profiler.importers.inputs import Input
from profiler.importers.registry import IMPORTERS
from profiler.store import Lake
from tests.data import shared
from tests.profiler.dumps import put
from tests.profiler.test_events_recorders import T0_NS, dump, entry, lines, record, records, traced
from tests.profiler.test_events_traces import BASE_NS, kernels, trace

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from profiler.collectives import CollectiveEvents
    from profiler.importers.report import InputReport

NEWEST = "the inspector keeps the newest only"


def taken(path: Path, importer: str) -> tuple[list[CollectiveEvents], Coverage]:
    read_events = IMPORTERS[importer].events
    assert read_events is not None
    coverage = Coverage()
    return read_events(Input(name=path.name, path=path), Options(), coverage=coverage), coverage


def stored(path: Path, tmp_path: Path) -> InputReport:
    (found,) = ingest(path, lake=tmp_path / "lake").inputs
    return found


def numbered(numbers: Iterable[int], *, t_ms: int = 0, step_ms: int = 20, **header: Any) -> list[dict[str, Any]]:
    """Return records of an all-reduce with some numbers, whose times are those of an unbroken count."""
    found = []
    for number in numbers:
        t_us = T0_NS // 1000 + (t_ms + number * step_ms) * 1000
        document = record(t_us + 5000, "AllReduce", 1600, number, **traced(t_us))
        document["header"] |= {name: value for name, value in header.items() if name != "pid"}
        document["metadata"] |= {name: value for name, value in header.items() if name == "pid"}
        found.append(document)
    return found


def lost(path: Path) -> tuple[int, dict[str, str]]:
    _, coverage = taken(path, "nccl_inspector")
    return coverage.totals["n_lost"], {item.what: item.why for item in coverage.skipped}


def test_lost_collectives_are_told_for_each_rank_and_communicator(tmp_path: Path) -> None:
    mine = numbered([1, 2, 5, 6, 9])
    other = numbered([1, 2, 3, 4, 8], id="0xdef")
    third = numbered(range(7), rank=5)
    documents = [document for trio in zip(mine, other, third, strict=False) for document in trio]
    report = stored(put(tmp_path / "r.jsonl", lines(documents)), tmp_path)

    assert report.coverage.totals["n_lost"] == 4 + 3
    assert {item.what: item.why for item in report.skipped} == {
        "node1/rank4/0xabc: 4 AllReduce between those of the file": NEWEST,
        "node1/rank4/0xdef: 3 AllReduce between those of the file": NEWEST,
    }
    assert report.to_dict()["n_lost"] == 7


def test_numbers_of_each_operation_count_on_their_own(tmp_path: Path) -> None:
    assert lost(put(tmp_path / "r.jsonl", lines(records(5)))) == (0, {})


@pytest.mark.parametrize("told", [{}, {"pid": 77}, {"id": "0xdef"}])
def test_a_process_that_starts_again_lost_nothing(tmp_path: Path, told: dict[str, Any]) -> None:
    first, second = numbered(range(900, 1000)), numbered(range(3, 40), t_ms=60_000, **told)

    assert lost(put(tmp_path / "r.jsonl", lines(first + second)))[0] == 0
    second = [document for document in second if document["coll_perf"]["coll_sn"] != 20]
    assert lost(put(tmp_path / "r.jsonl", lines(first + second)))[0] == 1


def test_lines_in_any_order_tell_the_same_loss(tmp_path: Path) -> None:
    documents = numbered(number for number in range(200) if number % 7)
    mixed = [documents[i] for i in np.random.default_rng(1).permutation(len(documents))]

    assert lost(put(tmp_path / "r.jsonl", lines(mixed)))[0] == 28


def test_rows_that_stand_there_twice_count_once(tmp_path: Path) -> None:
    documents = records(4)
    for name, importer, content in (
        ("r.jsonl", "nccl_inspector", lines(documents + documents[3:8])),
        ("t.json", "kineto", json.dumps(trace(kernels() + kernels()[:5]))),
        ("d_0", "flight_recorder", json.dumps({"entries": dump()["entries"] + dump()["entries"][2:7]})),
    ):
        (events,), coverage = taken(put(tmp_path / name, content), importer)
        assert events.n_events == 12
        assert (coverage.n_read, coverage.left_out) == (17, {"written twice": 5})


def test_what_is_read_is_what_is_kept_and_what_is_left_out(tmp_path: Path) -> None:
    odd = [
        entry(1000, "all_reduce", [10], state="scheduled", time_discovered_completed_ns=None),
        entry(1010, "all_reduce", [10], duration_ms=None),
        entry(1020, "all_reduce", [10], input_dtypes=[], output_dtypes=None),
        entry(1030, "barrier", [10], input_dtypes=None, output_dtypes=None, duration_ms=-1),
        entry(1040, "all_reduce", [10], time_created_ns="then"),
        "no entry",
    ]
    found = stored(put(tmp_path / "d_0", json.dumps({"entries": dump()["entries"] + odd})), tmp_path)

    assert found.status == "partial"
    assert (found.coverage.n_read, found.coverage.n_kept) == (18, 12)
    assert dict(found.coverage.left_out) == {
        "not completed when the dump was written": 1,
        "no duration": 1,
        "no size": 1,
        "no size and no duration": 1,
        "no time or no group": 2,
    }
    assert "2 of 18 entries have no time or group" in found.message


def test_events_of_a_trace_that_are_no_collectives_are_counted(tmp_path: Path) -> None:
    events = [*kernels(), {**kernels(1)[0], "ts": "never"}]
    found = stored(put(tmp_path / "t.json", json.dumps(trace(events))), tmp_path)

    assert (found.coverage.n_read, found.coverage.n_kept, dict(found.coverage.left_out)) == (13, 12, {"no time": 1})
    assert [(item.what, item.why) for item in found.skipped] == [("2 of 15 events", "not collectives")]


def test_a_trace_that_names_its_host_is_of_that_host(tmp_path: Path) -> None:
    path = put(tmp_path / "t.json", json.dumps(trace(kernels(), host_name="node7")))
    ((events,), _), read_events = taken(path, "kineto"), IMPORTERS["kineto"].events

    assert (events.host, events.device) == ("node7", "rank3")
    assert read_events is not None
    assert read_events(Input(name="t.json", path=path), Options(host="mine"), coverage=Coverage())[0].host == "mine"


def gloo(name: str, t_us: float, dims: list[int] | None, kind: str = "float") -> dict[str, Any]:
    shapes = {} if dims is None else {"Input Dims": [dims], "Input type": [kind]}
    return {
        "ph": "X",
        "cat": "user_annotation",
        "name": f"gloo:{name}",
        "tid": 8,
        "ts": t_us,
        "dur": 900.5,
        "args": {"External id": 5, "Ev Idx": 0, **shapes},
    }


@pytest.mark.parametrize("groups", [1, 2])
def test_collectives_of_gloo_are_the_ranges_in_which_they_ran(tmp_path: Path, groups: int) -> None:
    named = [{"pg_name": str(i), "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]} for i in range(groups)]
    told = {"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 4, "pg_config": named}}
    ranges = [
        gloo("all_reduce", 1000.25, [100]),
        gloo("all_reduce", 2000.0, [100, 2], "c10::BFloat16"),
        gloo("broadcast", 3000.0, [30], "long int"),
        gloo("all_gather", 4000.0, [10]),
        gloo("all_to_all", 5000.0, [10]),
        gloo("barrier", 6000.0, None),
    ]
    (events,), coverage = taken(put(tmp_path / "t.json", json.dumps(trace(ranges, **told))), "kineto")

    gathered = 160.0 if groups == 1 else -1.0
    assert (events.device, events.port) == ("rank1", "default_pg:0" if groups == 1 else "gloo")
    assert events.start_ns[0] == BASE_NS + 1_000_250
    assert events.duration_ns.tolist() == [900_500.0] * 6
    assert [-1.0 if size != size else size for size in events.bytes] == [400.0, 400.0, 240.0, gathered, -1.0, -1.0]
    assert coverage.n_read == 6


def test_gloo_beside_nccl_is_a_group_of_the_same_rank(tmp_path: Path) -> None:
    path = put(tmp_path / "t.json", json.dumps(trace([*kernels(), gloo("all_reduce", 5.0, [8])])))
    events, _ = taken(path, "kineto")

    assert {(one.device, one.port) for one in events} == {("rank3", "default_pg:0"), ("rank3", "gloo")}


def retired(number: int, *, last: object, **told: Any) -> dict[str, Any]:
    """Return a dump of gloo: no watchdog looks at it, and only its counters tell what ended."""
    unseen = {"state": "scheduled", "time_discovered_completed_ns": None, "duration_ms": None, "retired": True}
    counted = {"collective_seq_id": number, "p2p_seq_id": 0, "is_p2p": False}
    status = {"0": {"last_enqueued_collective": 9, "last_started_collective": -1, "last_completed_collective": last}}
    return {"pg_status": status, "entries": [entry(0, "all_reduce", [10], **{**unseen, **counted, **told})]}


@pytest.mark.parametrize("last", [4, "4"])
@pytest.mark.parametrize("dumps", [pickle.dumps, json.dumps])
def test_a_retired_collective_that_its_group_has_passed_was_completed(tmp_path: Path, dumps: Any, last: object) -> None:
    def n_completed(document: dict[str, Any]) -> int:
        (events,), _ = taken(put(tmp_path / "d_0", dumps(document)), "flight_recorder")
        return events.n_events

    assert n_completed(retired(4, last=last)) == 1
    assert n_completed(retired(5, last=last)) == 0
    assert n_completed(retired(4, last=last, retired=False)) == 0
    assert n_completed(retired(4, last=last, is_p2p=True, p2p_seq_id=5)) == 0
    assert n_completed(retired(4, last="x" * 99)) == 0
    assert n_completed(retired(4, last=None)) == 0


NEW_IN = {
    "2.1": ("time_discovered_completed_ns",),
    "2.2": ("output_dtypes", "input_dtypes"),
    "2.4": ("pg_id", "process_group"),
    "2.10": ("thread_id",),
}


@pytest.mark.parametrize("version", NEW_IN)
def test_keys_that_a_version_has_not_cost_what_they_tell_and_no_more(tmp_path: Path, version: str) -> None:
    document = dump() | {"version": version}
    for one in document["entries"]:
        one["pg_name"] = "0"
        for name in NEW_IN[version]:
            one.pop(name, None)
    (events,), coverage = taken(put(tmp_path / "d_0", pickle.dumps(document, protocol=2)), "flight_recorder")

    assert (events.n_events, coverage.n_read, coverage.problems) == (12, 12, [])
    assert events.port == ("0" if version == "2.4" else "default_pg:0")
    assert bool((events.bytes == events.bytes).all()) is (version != "2.2")


def test_what_the_ring_of_a_recorder_no_longer_holds_is_counted(tmp_path: Path) -> None:
    entries = [entry(i * 10, "all_reduce", [10], record_id=i) for i in (40, 41, 44)]
    _, coverage = taken(put(tmp_path / "d_0", json.dumps({"entries": entries})), "flight_recorder")

    assert coverage.skipped[-1].what == "42 other collectives"
    assert "TORCH_FR_BUFFER_SIZE" in coverage.skipped[-1].why


def test_a_real_dump_of_a_hang_says_that_nothing_was_completed(tmp_path: Path) -> None:
    found = stored(shared("nccl/gpu_error_1st__dump_0.pickle"), tmp_path)

    assert dict(found.coverage.left_out) == {"not completed when the dump was written": 20}
    assert (found.coverage.n_read, found.coverage.n_kept) == (20, 0)


def test_samples_of_a_rank_and_group_in_two_files_are_one_series(tmp_path: Path) -> None:
    for name, documents in (("a.jsonl", numbered(range(5))), ("b.jsonl", numbered(range(5, 10)))):
        put(tmp_path / "in" / name, lines(documents))
    lake = Lake.open(tmp_path / "lake", create=True)
    ingest(tmp_path / "in", lake=lake)

    (row,) = lake.read("series").to_pylist()
    assert int(lake.counter(row["series_id"]).value.sum()) == 10 * 1600


def test_days_of_silence_between_collectives_take_no_room_and_lose_no_byte(tmp_path: Path) -> None:
    day_ms = 86_400_000
    documents = [one for day in range(40) for one in numbered([day], step_ms=day_ms)]
    found = stored(put(tmp_path / "r.jsonl", lines(documents)), tmp_path)
    (row,) = Lake.open(tmp_path / "lake").read("series").to_pylist()
    counter = Lake.open(tmp_path / "lake").counter(row["series_id"])

    assert (found.status, found.coverage.n_kept) == ("read", 40)
    assert counter.t_ns.size == found.coverage.n_samples < 40 * 7
    busy = np.flatnonzero(counter.value)
    assert int(counter.value.sum()) == 40 * 1600
    assert ((counter.t_ns[busy] - 1 - T0_NS) // 1_000_000 % day_ms < 5).all()
    assert (np.diff(counter.t_ns)[busy - 1] == 1_000_000).all()


def test_bytes_are_those_of_each_bin_by_arithmetic_whatever_overlaps(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    starts, runs, sizes = rng.integers(0, 10**5, 200), rng.integers(1, 9000, 200), rng.integers(1, 10**6, 200)
    documents = []
    for i, (start, run, size) in enumerate(zip(starts.tolist(), runs.tolist(), sizes.tolist(), strict=True)):
        kernel = {"event_trace_ts": {"kernel_events": [{"kernel_start_ts": T0_NS // 1000 + start}]}}
        documents.append(record(0, "AllReduce", size, i, coll_exec_time_us=run, **kernel))
    stored(put(tmp_path / "r.jsonl", lines(documents)), tmp_path)
    (row,) = Lake.open(tmp_path / "lake").read("series").to_pylist()
    counter = Lake.open(tmp_path / "lake").counter(row["series_id"])

    edges_us = (counter.t_ns - T0_NS) / 1000
    share = np.clip((edges_us[:, None] - starts) / runs, 0, 1)
    moved = np.diff((share * sizes).sum(axis=1), prepend=0)
    np.testing.assert_allclose(counter.value, moved, atol=1.001)
    assert int(counter.value.sum()) == int(sizes.sum())
