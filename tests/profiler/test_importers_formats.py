"""Every counter format in every wrapping: the same values, and each reading that was met accounted for."""

from __future__ import annotations

import gzip
import io
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from profiler.errors import BadInput
from profiler.importers import Options, ingest, read_counters, read_mapping
from profiler.store import Lake
from tests.profiler.counter_dumps import DIRTY, DUMPS, NS, Dirty, Dump

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profiler.importers.sink import Counters

DUMP = pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name)
TEXT = pytest.mark.parametrize("dump", [dump for dump in DUMPS if dump.is_text], ids=lambda dump: dump.name)


def values_of(counters: Counters) -> dict[tuple[str, str], list[int]]:
    return {(series.direction, series.metric): value.tolist() for series, _, value, _ in counters}


def put(folder: Path, dump: Dump, content: bytes) -> Path:
    path = folder / dump.name
    path.write_bytes(content)
    return path


@DUMP
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("is_forced", [False, True])
def test_values_are_the_same_in_any_wrapping(
    tmp_path: Path, dump: Dump, pack: Callable[[bytes], bytes], *, is_forced: bool
) -> None:
    path = put(tmp_path, dump, pack(dump.content))

    counters, problems = read_counters(path, format=dump.importer if is_forced else None, mapping=dump.mapping)

    assert problems == []
    assert values_of(counters) == dump.values
    assert [t_ns.tolist() for _, t_ns, _, _ in counters] == [[round(t_s * NS) for t_s in dump.times_s]] * len(counters)


@DUMP
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_standard_input_gives_what_the_file_gives(
    monkeypatch: pytest.MonkeyPatch, dump: Dump, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(dump.content))))
    counters, problems = read_counters("-", mapping=dump.mapping)

    assert problems == []
    assert values_of(counters) == dump.values


@TEXT
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_text_of_any_system_is_read(tmp_path: Path, dump: Dump, start: bytes, newline: bytes) -> None:
    counters, problems = read_counters(
        put(tmp_path, dump, start + dump.content.replace(b"\n", newline)), mapping=dump.mapping
    )

    assert problems == []
    assert values_of(counters) == dump.values


@TEXT
def test_text_in_16_bits_is_refused_with_the_remedy(tmp_path: Path, dump: Dump) -> None:
    with pytest.raises(BadInput, match="UTF-16 text"):
        read_counters(put(tmp_path, dump, dump.content.decode().encode("utf-16")), mapping=dump.mapping)


@DUMP
@pytest.mark.parametrize("content", [b"", b"\n", b"{", b"[]", b"{}", b"#\n", b"\x00"])
@pytest.mark.parametrize("is_forced", [False, True])
def test_next_to_nothing_is_refused(tmp_path: Path, dump: Dump, content: bytes, *, is_forced: bool) -> None:
    with pytest.raises(BadInput):
        read_counters(put(tmp_path, dump, content), format=dump.importer if is_forced else None, mapping=dump.mapping)


@pytest.mark.parametrize("dump", [dump for dump in DUMPS if b"\n" in dump.content and dump.is_text])
def test_first_line_alone_is_refused(tmp_path: Path, dump: Dump) -> None:
    first, _, _ = dump.content.partition(b"\n")
    with pytest.raises(BadInput):
        read_counters(put(tmp_path, dump, first + b"\n"), mapping=dump.mapping)


# What may be missing after a cut: nothing but the end, and no digit of a counter.


@DUMP
def test_a_cut_at_any_byte_takes_nothing_but_the_end(tmp_path: Path, dump: Dump) -> None:
    n_silent = 0
    step = 1 if dump.content.startswith(b"{") else 3 if dump.importer != "sysfs" else 13
    for n_bytes in range(0, len(dump.content), step if dump.is_text else 97):
        path = put(tmp_path, dump, dump.content[:n_bytes])
        try:
            counters, problems = read_counters(path, mapping=dump.mapping)
        except BadInput:
            continue
        for series, _, value, _ in counters:
            whole = dump.values[series.direction, series.metric]
            is_begun = value.tolist() == whole[: value.size]
            if not is_begun and series.kind != "counter":  # the last digits of an amount may be missing unseen
                n_silent += not problems
                is_begun = value.tolist()[:-1] == whole[: value.size - 1]
            assert is_begun, dump.content[:n_bytes][-60:]
    assert n_silent <= 1


# Coverage


def ingested(lake: Lake, path: Path, mapping: str | None = None, **told: Any) -> dict[str, Any]:
    options = Options(mapping=None if mapping is None else read_mapping(mapping))
    (report,) = ingest(path, lake=lake, options=options, **told).inputs
    return report.to_dict()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "lake", create=True)


@DUMP
def test_every_reading_of_a_sound_file_is_accounted_for(lake: Lake, tmp_path: Path, dump: Dump) -> None:
    told = ingested(lake, put(tmp_path, dump, dump.content), dump.mapping)

    assert told["status"] == "read"
    assert told["n_read"] == dump.n_readings
    assert told["n_kept"] == told["n_samples"] == sum(map(len, dump.values.values()))
    assert told["n_read"] == told["n_kept"] + sum(told["left_out"].values())


@pytest.mark.parametrize("dirty", DIRTY, ids=lambda dirty: dirty.name)
def test_every_reading_of_a_file_with_faults_is_accounted_for(lake: Lake, tmp_path: Path, dirty: Dirty) -> None:
    path = tmp_path / dirty.name
    path.write_bytes(dirty.content)

    told = ingested(lake, path, dirty.mapping)

    assert told["left_out"] == dirty.left_out
    assert told["n_read"] == dirty.n_kept + sum(dirty.left_out.values())
    assert told["n_kept"] == told["n_samples"] == dirty.n_kept
    assert told["status"] == ("partial" if dirty.is_faulty else "read"), told["message"]


def test_every_importer_of_counters_has_a_file_with_faults() -> None:
    of_counters = {dump.importer for dump in DUMPS}

    assert {dirty.importer for dirty in DIRTY} == of_counters
    assert Counter(dump.importer for dump in DUMPS).keys() == of_counters


@DUMP
@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_what_damage_in_the_middle_costs_is_told(lake: Lake, tmp_path: Path, dump: Dump, at: float) -> None:
    i_byte = int(len(dump.content) * at)
    damaged = dump.content[:i_byte] + b"\xff\x00}]\n" + dump.content[i_byte + 5 :]
    told = ingested(lake, put(tmp_path, dump, damaged), dump.mapping)

    assert told["status"] in ("read", "partial", "failed")
    if told["status"] == "read" and told["n_samples"] < sum(map(len, dump.values.values())):
        assert told["skipped"]
