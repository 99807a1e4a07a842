"""Files of a lake that are read in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from profiler.errors import LakeError
from profiler.schema import arrow_schema
from profiler.store.reading import Segments, read_segments

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = arrow_schema("samples")
COLUMNS = ["series_id", "t_ns", "value"]


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, path in enumerate(paths):
        series_id = np.repeat(np.array([i, i + 10, i + 20], np.uint64), 4)
        rows = {"series_id": series_id, "t_ns": np.tile(np.arange(4), 3), "value": np.arange(12) + 100 * i}
        pq.write_table(pa.table(rows), path, row_group_size=4)
    return paths


def _between(first: int, last: int) -> pc.Expression:
    return (pc.field("series_id") >= first) & (pc.field("series_id") <= last)


def test_parts_are_those_that_files_read_one_by_one_have(paths: list[Path]) -> None:
    segments = Segments(paths, SCHEMA)
    for first, last in ((0, 1), (2, 12), (13, 99), (100, 200)):
        chosen = _between(first, last)
        part = segments.read(columns=COLUMNS, filters=chosen)
        assert part.equals(read_segments(paths, SCHEMA, columns=COLUMNS, filters=chosen))
    assert Segments([], SCHEMA).read(columns=COLUMNS, filters=_between(0, 1)).num_rows == 0


def test_a_footer_is_read_once(paths: list[Path]) -> None:
    segments = Segments(paths, SCHEMA)
    assert segments.read(columns=COLUMNS, filters=_between(0, 99)).num_rows == 36
    for path in paths[1:]:
        path.unlink()
    # What a footer tells not to hold the series is not opened again.
    assert segments.read(columns=COLUMNS, filters=_between(10, 10)).num_rows == 4


def test_the_file_that_cannot_be_read_is_named(paths: list[Path]) -> None:
    paths[1].write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(LakeError, match=r"1\.parquet: the manifest names it"):
        Segments(paths, SCHEMA).read(columns=COLUMNS, filters=_between(0, 99))
