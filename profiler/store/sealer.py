"""Buffered rows to files that count, in a thread of its own, so that a live recording never waits for a disk."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from profiler.schema import arrow_schema
from profiler.store.arrays import column_of_values
from profiler.store.hosts import host_in_name
from profiler.store.reading import read_segments
from profiler.store.rows import last_of_each_key
from profiler.store.segments import write_segment
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from profiler.store.buffer import SampleRows
    from profiler.store.manifest import Manifest
    from profiler.store.series import Series

__all__ = ["SWEEP_AFTER_S", "Batch", "Sealer"]

SWEEP_AFTER_S: Final = 3600
"""Age at which a file that no longer counts is deleted: longer than any reader holds a list of files."""

_SERIES_FILES: Final = 64
"""Files of table ``series`` at which they are merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows to seal together.

    Parameters
    ----------
    rows
        Samples: of the whole buffer, or those that came since the last batch.
    part
        ``new``: rows since the last batch. ``all``: the whole buffer, in place of the small files sealed from it.
        ``last``: as ``all``, and the buffer ends with it.
    flows, replaces_flows
        Flows, and whether they take the place of those sealed before.
    """

    rows: SampleRows
    part: Literal["new", "all", "last"]
    series: Sequence[Series] = ()
    flows: Sequence[pa.Table] = ()
    replaces_flows: bool = False
    host: str = ""


class Sealer:
    """Seals batches one after another, at most one in flight."""

    def __init__(self, root: Path, manifest: Manifest, *, recording_id: str, attempt: int) -> None:
        self._root = root
        self._manifest = manifest
        self._recording_id = recording_id
        self._attempt = attempt
        self._n_files = 0
        # A recording that was dropped may come again, while its files wait to be swept.
        self._name = f"{recording_id}/{attempt}/{time.time_ns()}"
        self._small_paths: list[str] = []
        self._flow_paths: list[str] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sealer")
        self._batch: Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a batch is in flight."""
        return self._batch is not None and not self._batch.done()

    @property
    def n_small(self) -> int:
        """Files sealed from the present buffer; exact when not busy."""
        return len(self._small_paths)

    def submit(self, batch: Batch) -> None:
        """Seal a batch once the one before is sealed; raises what went wrong with that one."""
        self.wait()
        self._batch = self._thread.submit(self._seal, batch)

    def wait(self) -> None:
        """Wait until nothing is in flight; raises what went wrong with the last batch."""
        if self._batch is not None:
            self._batch.result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    def _seal(self, batch: Batch) -> None:
        files = list(self._plan(batch))
        self._manifest.announce(file.path for file in files)
        segments = [
            write_segment(self._root, file.path, file.pieces, table=file.table, t_range_ns=file.t_range_ns)
            for file in files
        ]
        old_flows = self._flow_paths if batch.replaces_flows else []
        self._manifest.seal(
            segments,
            recording_id=self._recording_id,
            attempt=self._attempt,
            replaces=old_flows if batch.part == "new" else [*old_flows, *self._small_paths],
        )
        self._flow_paths = [path for path in self._flow_paths if path not in old_flows]
        self._flow_paths += [segment.path for segment in segments if segment.table == "flows"]
        sealed = [segment.path for segment in segments if segment.table == "samples"]
        self._small_paths = {"new": self._small_paths + sealed, "all": sealed, "last": []}[batch.part]
        if batch.part == "last" and batch.series:
            self._merge_series()
        if batch.part != "new":
            self._manifest.sweep(before_ns=time.time_ns() - SWEEP_AFTER_S * NS_PER_S)

    def _plan(self, batch: Batch) -> Iterator[_File]:
        if batch.series:
            yield _File(path=f"series/{self._next_hash()}.parquet", table="series", pieces=[_series_rows(batch.series)])
        if batch.flows:
            yield _File(
                path=f"flows/{self._next_hash()}.parquet", table="flows", pieces=[pa.concat_tables(batch.flows)]
            )
        host = host_in_name(batch.host)
        for day in batch.rows.by_day():
            t_range_ns = day.t_range_ns
            path = f"samples/date={day.date}/{host}-{t_range_ns[0]}-{self._next_hash()}.parquet"
            yield _File(path=path, table="samples", pieces=day.pieces(), t_range_ns=t_range_ns)

    def _merge_series(self) -> None:
        """Keep the files of series few: each recording brings one."""
        paths = self._manifest.files("series")
        if len(paths) <= _SERIES_FILES:
            return
        rows = last_of_each_key("series", read_segments(paths, arrow_schema("series")))
        merged = f"series/{self._next_hash()}.parquet"
        self._manifest.announce([merged])
        self._manifest.merge(
            [str(path.relative_to(self._root)) for path in paths],
            write_segment(self._root, merged, [rows], table="series"),
        )

    def _next_hash(self) -> str:
        self._n_files += 1
        return hashlib.sha256(f"{self._name}/{self._n_files}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file of a batch before it is written."""

    path: str
    table: str
    pieces: Iterable[pa.Table]
    t_range_ns: tuple[int, int] | None = None


def _series_rows(series: Sequence[Series]) -> pa.Table:
    schema = arrow_schema("series")
    # A column at a time: a capture has a hundred thousand series, and as many rows take a hundred megabytes.
    columns = [column_of_values([getattr(found, field.name) for found in series], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)
