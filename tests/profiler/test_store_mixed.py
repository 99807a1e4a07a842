"""Samples of many series in one call are those of a call a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.errors import BadInput, UsageError
from profiler.store import Lake, Recording, Series, recording_id

if TYPE_CHECKING:
    from pathlib import Path

SERIES = [Series(host="h", device=f"eth{i}", direction="transmit", layer="netdev") for i in range(7)]


def recording(name: str) -> Recording:
    return Recording(recording_id=recording_id(name, parser="made", parser_version=1), source=name, format="made")


def test_mixed_rows_are_read_back_as_those_of_one_series_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("profiler.store.buffer.BUFFER_ROWS", 1000)
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 700, len(SERIES))
    ids = np.repeat(np.array([series.series_id for series in SERIES], dtype=np.uint64), lengths)
    t_ns = np.concatenate([np.cumsum(rng.integers(1, 10**6, n)) for n in lengths])
    value = rng.integers(0, 10**9, t_ns.size)
    flags = rng.integers(0, 3, t_ns.size).astype(np.uint16)
    together, apart = (Lake.open(tmp_path / name, create=True) for name in ("together", "apart"))
    with together.writer(recording("a")) as writer:
        for series in SERIES:
            writer.add_series(series)
        writer.write_mixed(ids, t_ns, value=value, window_ns=5, flags=flags)
        assert writer.n_rows == t_ns.size
    with apart.writer(recording("a")) as writer:
        for series in SERIES:
            writer.add_series(series)
            mine = ids == series.series_id
            writer.write_samples(series.series_id, t_ns[mine], value[mine], window_ns=5, flags=flags[mine])

    for series in SERIES:
        found, expected = (lake.counter(series.series_id) for lake in (together, apart))
        for column in ("t_ns", "value", "flags"):
            np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
        assert len(found)


def test_mixed_rows_of_an_unknown_series_or_of_no_whole_numbers_are_refused(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    with lake.writer(recording("a")) as writer:
        writer.add_series(SERIES[0])
        ids = np.array([SERIES[0].series_id, 5], dtype=np.uint64)
        with pytest.raises(UsageError, match="series 5 is not known"):
            writer.write_mixed(ids, [1, 2], value=[1, 2])
        with pytest.raises(BadInput, match="expected whole numbers"):
            writer.write_mixed(ids[:1], [1], value=[0.5])
