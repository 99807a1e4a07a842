"""The lake: what is written is read back, twice is once, and a failure takes nothing away."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiler.errors import BadInput, LakeError, SourceBroken, UsageError
from profiler.schema import arrow_schema
from profiler.store import Lake, LakeWriter, Series, file_digest, manifest, recording_id
from profiler.store.buffer import BUFFER_ROWS
from profiler.store.counters import read_counters
from profiler.store.manifest import Manifest
from tests.profiler.recordings import T0_NS, port, recording, row, write

DAY_NS = 86_400_000_000_000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


def test_statements_bind_values_by_place_alone() -> None:
    """Python 3.12.0 to 3.12.3 warn of numbers, and stop who has warnings as errors."""
    texts = {path.name: path.read_text() for path in Path(manifest.__file__).parent.rglob("*.py")}
    assert "manifest.py" in texts
    assert [name for name, text in texts.items() if re.search(r"[= (]\?\d", text)] == []


# Round trip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    samples=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(T0_NS, T0_NS + 3 * DAY_NS),
            st.integers(-(2**31), 2**31 - 1),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 2**16 - 1),
            st.integers(0, 2**31 - 1),
        ),
        max_size=60,
    )
)
def test_samples_in_any_order_over_several_days_are_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[int, int, int, int, int, int]]
) -> None:
    lake = Lake.open(tmp_path_factory.mktemp("lake"), create=True)
    with lake.writer(recording()) as writer:
        ids = [writer.add_series(port(f"eth{i}")) for i in range(4)]
        for i_series, t_ns, window_ns, value, flags, epoch in samples:
            writer.write_samples(ids[i_series], [t_ns], [value], window_ns=window_ns, flags=flags, epoch=epoch)
    stored = [pq.read_table(path, partitioning=None) for path in lake.files("samples")]
    rows = [tuple(entry.values()) for table in stored for entry in table.to_pylist()]
    assert sorted(rows) == sorted(
        (ids[i], t, window, value, flags, epoch) for i, t, window, value, flags, epoch in samples
    )
    for i_series, series_id in enumerate(ids):
        counter = lake.counter(series_id)
        last = {t: (t, e, v, f) for t, e, v, f in sorted((t, e, v, f) for i, t, _, v, f, e in samples if i == i_series)}
        columns = (counter.t_ns, counter.epoch, counter.value, counter.flags)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == list(last.values())


def test_files_are_sorted_partitioned_by_day_and_delta_packed(lake: Lake) -> None:
    t_ns = np.arange(T0_NS, T0_NS + 2 * DAY_NS, DAY_NS // 1000)
    with lake.writer(recording()) as writer:
        for device in ("eth1", "eth0"):
            writer.write_samples(writer.add_series(port(device)), t_ns, np.arange(len(t_ns)))
    paths = lake.files("samples")
    dates = {path.parent.name for path in paths}
    assert dates == {f"date={np.datetime64(int(t), 'D')}" for t in t_ns // DAY_NS}
    for path in paths:
        assert path.name.startswith("h1-")
        table = pq.read_table(path, partitioning=None)
        assert table.schema.equals(arrow_schema("samples"))
        keys = list(zip(table["series_id"].to_pylist(), table["t_ns"].to_pylist(), strict=True))
        assert keys == sorted(keys)
        assert path.parent.name == f"date={np.datetime64(keys[0][1] // DAY_NS, 'D')}"
        columns = [pq.read_metadata(path).row_group(0).column(i) for i in range(6)]
        assert all(column.compression == "ZSTD" and "DELTA_BINARY_PACKED" in column.encodings for column in columns)


def test_more_rows_than_a_buffer_become_several_files_in_row_groups_of_122880(lake: Lake) -> None:
    n_rows = BUFFER_ROWS + 1000
    with lake.writer(recording()) as writer:
        series_id = writer.add_series(port())
        writer.write_samples(series_id, T0_NS + np.arange(n_rows) * 1000, np.arange(n_rows))
    metadata = [pq.read_metadata(path) for path in lake.files("samples")]
    assert [entry.num_rows for entry in metadata] == [BUFFER_ROWS, 1000]
    assert {metadata[0].row_group(i).num_rows for i in range(metadata[0].num_row_groups)} == {122_880}
    counter = lake.counter(series_id)
    np.testing.assert_array_equal(counter.value, np.arange(n_rows))
    assert row(lake, "a")["n_rows"] == n_rows


def test_a_counter_is_sorted_read_only_and_has_one_reading_a_time(lake: Lake) -> None:
    write(lake, "a", [1, 2, 3])
    series_id = write(lake, "b", [1, 2, 30])
    counter = lake.counter(series_id)
    assert counter.value.tolist() == [1, 2, 30]
    assert len(counter) == 3
    with pytest.raises(ValueError, match="read-only"):
        counter.value[0] = 7


def test_a_series_without_samples_gives_an_empty_counter(lake: Lake) -> None:
    assert len(lake.counter(port("eth7").series_id)) == 0


@pytest.mark.parametrize("block_rows", [1, 700, 10**6])
def test_many_counters_are_the_same_as_each_on_its_own(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr("profiler.store.counters._BLOCK_ROWS", block_rows)
    ids = [write(lake, f"r{i}", list(range(i, 300)), device=f"eth{i}") for i in range(9)]
    wanted = [ids[0], ids[3], ids[5], port("eth99").series_id, ids[3]]
    found = dict(lake.counters(wanted))
    assert list(found) == sorted(set(wanted))
    for series_id, counter in found.items():
        alone = lake.counter(series_id)
        np.testing.assert_array_equal(counter.value, alone.value)
        np.testing.assert_array_equal(counter.t_ns, alone.t_ns)
    assert [len(found[series_id]) for series_id in wanted] == [300, 297, 295, 0, 297]


def test_a_part_of_the_time_is_read_alone(lake: Lake) -> None:
    series_id = write(lake, "a", list(range(10)))
    ((_, part),) = read_counters(
        lake.files("samples"),
        [series_id],
        kinds={series_id: "counter"},
        n_rows=10,
        t_range_ns=(T0_NS + 2_000_000, T0_NS + 5_000_000),
    )
    assert part.value.tolist() == [2, 3, 4]


def test_the_series_id_is_the_hash_that_other_tools_can_compute() -> None:
    import hashlib

    digest = hashlib.sha256(b"h1|eth0||transmit|bytes|netdev").digest()
    assert port().series_id == int.from_bytes(digest[:8], "big")


def test_names_with_a_bar_are_other_series() -> None:
    names = [
        ("a|b", "c", ""),
        ("a", "b|c", ""),
        ("a\\", "b|c", ""),
        ("a", "b", "c"),
        ("a|", "b", "c"),
        ("a\\|b", "c", ""),
    ]
    ids = {
        Series(host=host, device=device, port=port_name, direction="transmit", layer="netdev").series_id
        for host, device, port_name in names
    }
    assert len(ids) == len(names)


def test_values_that_do_not_fit_are_refused_rather_than_wrapped(lake: Lake) -> None:
    with lake.writer(recording()) as writer:
        series_id = writer.add_series(port())
        with pytest.raises(BadInput, match=r"column value: .*18446744073709551615 does not fit int64; reduce"):
            writer.write_samples(series_id, [T0_NS], np.array([2**64 - 1], np.uint64))
        with pytest.raises(BadInput, match="column window_ns: 30000000000"):
            writer.write_samples(series_id, [T0_NS], [1], window_ns=30_000_000_000)
        with pytest.raises(BadInput, match="column flags: -1"):
            writer.write_samples(series_id, [T0_NS], [1], flags=-1)
        with pytest.raises(BadInput, match="column value: expected whole numbers, found float64"):
            writer.write_samples(series_id, [T0_NS], [1.5])
        with pytest.raises(BadInput, match=r"column value: shape \(2,\), but t_ns has \(1,\)"):
            writer.write_samples(series_id, [T0_NS], [1, 2])
        with pytest.raises(UsageError, match="add_series first"):
            writer.write_samples(7, [T0_NS], [1])
        writer.write_samples(series_id, [], [])
    assert row(lake, "a")["n_rows"] == 0


def test_memory_stays_bounded_while_a_long_recording_is_written(lake: Lake) -> None:
    n_rows = 250_000
    values = np.arange(n_rows)
    tracemalloc.start()
    try:
        with lake.writer(recording()) as writer:
            series_id = writer.add_series(port())
            for i_part in range(24):  # 6 million rows: 200 MB if they were kept
                writer.write_samples(series_id, T0_NS + (i_part * n_rows + values) * 1000, values)
            _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 120e6
    assert len(lake.counter(series_id)) == 24 * n_rows


# Recordings


def test_ingesting_twice_is_a_no_op(lake: Lake) -> None:
    assert not lake.holds(recording().recording_id)
    series_id = write(lake, "a", [1, 2, 3])
    assert lake.holds(recording().recording_id)
    with pytest.raises(LakeError, match=r"a\.csv is in the lake already"):
        lake.writer(recording())
    assert lake.counter(series_id).value.tolist() == [1, 2, 3]


def test_a_recording_says_what_it_holds(lake: Lake) -> None:
    write(lake, "a", [1, 2, 3])
    entry = row(lake, "a")
    assert (entry["status"], entry["message"], entry["n_rows"]) == ("ok", None, 3)
    assert (entry["t_first_ns"], entry["t_last_ns"]) == (T0_NS, T0_NS + 2_000_000)
    assert (entry["source"], entry["format"], entry["parameters"]) == ("a.csv", "table", '{"interval_s": 0.001}')


def test_the_key_of_an_input_changes_with_bytes_parser_version_and_parameters(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    digest = file_digest(tmp_path / "x")
    keys = {
        recording_id(digest, parser="csv", parser_version=1),
        recording_id("other", parser="csv", parser_version=1),
        recording_id(digest, parser="pcap", parser_version=1),
        recording_id(digest, parser="csv", parser_version=2),
        recording_id(digest, parser="csv", parser_version=1, parameters={"bin_s": 1}),
    }
    assert len(keys) == 5
    assert recording_id(digest, parser="csv", parser_version=1) in keys
    with pytest.raises(BadInput, match="No such file"):
        file_digest(tmp_path / "missing")


def test_a_broken_source_is_an_error_row_and_its_samples_stay(lake: Lake) -> None:
    with pytest.raises(SourceBroken, match="eth0 vanished"):
        write_and_fail(lake, [5], SourceBroken("eth0 vanished"))
    entry = row(lake, "a")
    assert (entry["status"], entry["message"], entry["n_rows"]) == ("error", "eth0 vanished", 1)
    assert lake.counter(port().series_id).value.tolist() == [5]
    assert not lake.holds(recording().recording_id)


def test_warnings_make_a_recording_partial_and_are_kept_up_to_a_hundred(lake: Lake) -> None:
    with lake.writer(recording()) as writer:
        for i_row in range(250):
            writer.warn(f"row {i_row} skipped")
        assert writer.status == "partial"
    entry = row(lake, "a")
    lines = str(entry["message"]).splitlines()
    assert entry["status"] == "partial"
    assert (lines[0], lines[-1], len(lines)) == ("row 0 skipped", "and 150 more", 101)
    assert lake.holds(recording().recording_id)


def write_and_fail(lake: Lake, values: list[int], failure: BaseException) -> None:
    """Write values into recording "a", and fail before it is complete."""
    with lake.writer(recording("a")) as writer:
        writer.write_samples(writer.add_series(port()), T0_NS + np.arange(len(values)) * 1_000_000, values)
        raise failure


def interrupt(lake: Lake, values: list[int]) -> int:
    """Write values into recording "a" and be interrupted; return the series."""
    with pytest.raises(KeyboardInterrupt):
        write_and_fail(lake, values, KeyboardInterrupt())
    return port().series_id


def test_what_was_sealed_before_an_interrupt_counts_until_the_retry_is_complete(lake: Lake) -> None:
    series_id = interrupt(lake, [1, 2])
    assert row(lake, "a")["status"] == "partial"
    assert not lake.holds(recording("a").recording_id)
    with lake.writer(recording("a")) as writer:
        writer.add_series(port())
        writer.write_samples(series_id, T0_NS + np.arange(4) * 1_000_000, [1, 2, 3, 4])
        assert lake.counter(series_id).value.tolist() == [1, 2]
    assert lake.counter(series_id).value.tolist() == [1, 2, 3, 4]
    assert (row(lake, "a")["status"], row(lake, "a")["n_rows"]) == ("ok", 4)
    assert len(lake.files("samples")) == 1


def test_a_retry_that_fails_takes_nothing_away(lake: Lake) -> None:
    series_id = interrupt(lake, [1, 2])
    with pytest.raises(SourceBroken, match="cut"):
        write_and_fail(lake, [9], SourceBroken("cut"))
    assert lake.counter(series_id).value.tolist() == [1, 2]
    assert row(lake, "a")["n_rows"] == 2
    assert len(lake.files("samples", recording_id=recording("a").recording_id)) == 1


def test_one_recording_has_one_writer_at_a_time_and_two_recordings_have_two(lake: Lake) -> None:
    with lake.writer(recording("a")) as first:
        with pytest.raises(LakeError, match="another process is writing recording"):
            lake.writer(recording("a"))
        with lake.writer(recording("b")) as second:
            for writer, value in ((first, 1), (second, 2)):
                writer.write_samples(writer.add_series(port()), [T0_NS + value], [value])
    assert lake.counter(port().series_id).value.tolist() == [1, 2]


# Live recordings


def seal_each_write(lake: Lake, n_writes: int) -> LakeWriter:
    writer = lake.writer(recording(), seal_every_s=0.0)
    series_id = writer.add_series(port())
    for i_write in range(n_writes):
        writer.write_samples(series_id, [T0_NS + i_write], [i_write])
        writer._sealer.wait()
    return writer


def test_a_live_recording_is_visible_while_it_goes_on_and_leaves_few_files(lake: Lake) -> None:
    writer = seal_each_write(lake, 50)
    with writer:
        assert lake.counter(port().series_id).value.tolist() == list(range(50))
        assert 1 < len(lake.files("samples")) <= 13
        assert row(lake, "a")["n_rows"] == 50
        assert not lake.holds(recording().recording_id)
    assert lake.counter(port().series_id).value.tolist() == list(range(50))
    assert len(lake.files("samples")) == 1


def test_files_that_no_longer_count_stay_for_readers_and_are_swept_later(lake: Lake) -> None:
    with seal_each_write(lake, 3):
        before = lake.files("samples")
    assert all(path.exists() for path in before)
    killed = lake.root / "samples" / ".killed.parquet.tmp"
    killed.write_bytes(b"half a file")
    with Manifest(lake.root, mode="rw") as manifest:
        manifest.announce(["samples/killed.parquet"])
        manifest.sweep(before_ns=1)
        assert all(path.exists() for path in [*before, killed])
        manifest.sweep(before_ns=2**62)
    assert not any(path.exists() for path in [*before, killed])
    assert lake.counter(port().series_id).value.tolist() == [0, 1, 2]


def test_series_are_in_few_files_however_many_recordings_bring_them(lake: Lake) -> None:
    for i_recording in range(70):
        write(lake, f"r{i_recording}", [i_recording], device=f"eth{i_recording % 5}")
    assert len(lake.files("series")) <= 64
    rows = lake.read("series").to_pylist()
    assert sorted(entry["device"] for entry in rows) == [f"eth{i}" for i in range(5)]


def test_of_each_series_the_last_description_counts(lake: Lake) -> None:
    write(lake, "a", [1])
    with lake.writer(recording("b")) as writer:
        writer.add_series(Series(host="h1", device="eth0", direction="transmit", layer="netdev", source="b.csv"))
    assert [entry["source"] for entry in lake.read("series").to_pylist()] == ["b.csv"]
