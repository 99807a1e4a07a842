"""Traces, captures and their packings: the same series, however they are packed and wherever they come from."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import sys
import tarfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zstandard

from profiler.importers import ingest, read_counters
from profiler.store import Lake
from tests.profiler.dumps import CAPTURE, put
from tests.profiler.test_events_recorders import dump, lines, records
from tests.profiler.test_events_traces import kernels, trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENTS = {
    "capture": CAPTURE,
    "kineto": json.dumps(trace(kernels())).encode(),
    "nccl_inspector": lines(records()).encode(),
    "flight_recorder": pickle.dumps(dump(), protocol=2),
    "flight_recorder_json": json.dumps(dump()).encode(),
}
PACKS = [bytes, gzip.compress, zstandard.compress, lzma.compress, bz2.compress]


def values(path: Path | str) -> list[tuple[list[int], list[int]]]:
    counters, problems = read_counters(path, host="n1")
    assert problems == []
    assert counters
    return [(t_ns.tolist(), value.tolist()) for _, t_ns, value, _ in counters]


def in_tar(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("run/rank_0")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("pack", [*PACKS, in_tar])
def test_a_packing_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, pack: Callable[[bytes], bytes]
) -> None:
    plain = values(put(tmp_path / "rank_0", CONTENTS[name]))
    packed = pack(CONTENTS[name])

    assert values(put(tmp_path / "in" / "rank_0.csv", packed)) == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert values("-") == plain


@pytest.mark.parametrize("name", CONTENTS)
def test_what_was_kept_of_packets_and_collectives_adds_up(tmp_path: Path, name: str) -> None:
    (found,) = ingest(put(tmp_path / "rank_0", CONTENTS[name]), lake=tmp_path / "lake").inputs
    stored: Any = found.to_dict()

    assert stored["n_read"] == (2 if name == "capture" else 12)
    assert (stored["n_kept"], stored["left_out"]) == (stored["n_read"], {})


def test_samples_of_another_lake_are_read_and_kept_one_by_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (told,) = ingest(put(tmp_path / "c.pcap", CAPTURE), lake=first).inputs
    (copied,) = ingest(first, lake=second).inputs

    assert copied.coverage.n_read == copied.coverage.n_kept == copied.coverage.n_samples == told.coverage.n_samples
    for row in Lake.open(first).read("series").to_pylist():
        mine, other = (Lake.open(lake).counter(row["series_id"]) for lake in (first, second))
        np.testing.assert_array_equal(mine.value, other.value)
