"""Writing one recording into the lake."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np

from profiler.errors import LakeError, UsageError
from profiler.store.buffer import SampleBuffer
from profiler.store.columns import checked_columns
from profiler.store.hosts import MANY_HOSTS
from profiler.store.locks import LakeLock
from profiler.store.manifest import Manifest
from profiler.store.rows import checked_rows
from profiler.store.sealer import Batch, Sealer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from profiler.store.manifest import Counting
    from profiler.store.recording import Recording
    from profiler.store.series import Series

__all__ = ["LakeWriter"]

_SMALL_FILES: Final = 12
"""Small files of one buffer at which they are merged, so that a slow recording leaves few files too."""

_MESSAGES: Final = 100
"""Warnings kept; of the rest only the number."""

_FLOW_ROWS: Final = 1_000_000
"""Flows that wait before they are sealed."""

_TELLING_PAUSE: Final = 20
"""How much longer than it takes to tell what goes with a sealing to wait until the next one: 5 % of the time."""


class LakeWriter:
    """Writes one recording: rows are buffered, sealed into files, and count from then on.

    Use it as a context manager. Leaving the block normally completes the recording; an exception makes it an ``error``
    row of table ``recordings`` (its sealed files stay); after a kill or an interrupt it stays ``partial``, and the next
    writer of the same recording supersedes it.

    Parameters
    ----------
    root
        Folder of the lake.
    recording
        What is written.
    seal_every_s
        For live recordings: seal what has waited this long, in seconds. None seals by size only.
    counts
        Whether readers see what is sealed at once, or all of it once it is whole, and nothing of it if it never is.

    Raises
    ------
    LakeError
        If the recording is complete already or being written by another process, the disk is full, or the folder is
        read-only. What was sealed before is kept.
    """

    def __init__(
        self, root: Path, recording: Recording, *, seal_every_s: float | None = None, counts: Counting = "at once"
    ) -> None:
        self.recording = recording
        self.n_rows = 0
        self._seal_every_s = seal_every_s
        self._key = recording.recording_id
        with ExitStack() as resources:
            resources.callback(LakeLock(root, self._key, work=f"writing recording {self._key[:12]}").release)
            self._manifest = resources.enter_context(Manifest(root, mode="rw"))
            self._attempt = self._manifest.begin(recording.to_row(), counts=counts)
            self._sealer = Sealer(root, self._manifest, recording_id=self._key, attempt=self._attempt)
            resources.callback(self._sealer.close)
            self._resources = resources.pop_all()
        self._buffer = SampleBuffer()
        self._other_buffer: SampleBuffer | None = None
        self._n_sealed = 0
        self._sealed_s = time.monotonic()
        self._tell: Callable[[], object] = lambda: None
        self._telling_s = 0.0
        self._series: dict[int, Series] = {}
        self._new_series: list[Series] = []
        self._flows: list[pa.Table] = []
        self._replaces_flows = False
        self._messages: list[str] = []
        self._n_messages = 0
        self._replaced: tuple[str, ...] = ()
        self._is_discarded = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._resources:
            sealing_error = self._seal_rest()
            failure = error or sealing_error
            if self._is_discarded:
                self._manifest.drop(self._key)
            elif failure is None:
                self._finish(self.status)
            elif isinstance(failure, Exception):
                with suppress(LakeError):  # the disk may be full; the failure itself is on its way to the caller
                    self._finish("error", failure)
            if error is None and sealing_error is not None:
                raise sealing_error

    @property
    def status(self) -> Literal["ok", "partial"]:
        """``partial`` once something was skipped."""
        return "partial" if self._n_messages else "ok"

    def add_series(self, series: Series) -> int:
        """Note a series, and return its id; adding it again is no error."""
        series_id = series.series_id
        if self._series.get(series_id) != series:
            self._series[series_id] = series
            self._new_series.append(series)
        return series_id

    def write_samples(
        self,
        series_id: int,
        t_ns: ArrayLike,
        value: ArrayLike,
        *,
        window_ns: ArrayLike = 0,
        flags: ArrayLike = 0,
        epoch: ArrayLike = 0,
    ) -> None:
        """Write samples of a series, in any order of time; the columns of table ``samples``.

        Parameters
        ----------
        series_id
            A series that was added.
        t_ns, value
            Integers, shape (n_samples,).
        window_ns, flags, epoch
            Integers, shape (n_samples,), or one for all.

        Raises
        ------
        UsageError
            If the series was not added.
        BadInput
            If a column is not of whole numbers, is of another length, or does not fit its type.
        LakeError
            If an earlier batch could not be sealed.
        """
        if series_id not in self._series:
            raise UsageError(f"series {series_id} is not known to this writer; call add_series first")
        place = f"{self.recording.source}: series of {self._series[series_id].device}"
        columns = {"t_ns": t_ns, "value": value, "window_ns": window_ns, "flags": flags, "epoch": epoch}
        self._append(series_id, checked_columns(place, columns))

    def write_mixed(
        self,
        series_ids: NDArray[np.uint64],
        t_ns: ArrayLike,
        *,
        value: ArrayLike,
        window_ns: ArrayLike = 0,
        flags: ArrayLike = 0,
        epoch: ArrayLike = 0,
    ) -> None:
        """Write samples of many series at once, each with its series; as `write_samples`, which takes longer a call.

        Parameters
        ----------
        series_ids
            Series that were added, shape (n_samples,); those of one series follow one another.
        t_ns, value
            Integers, shape (n_samples,).
        window_ns, flags, epoch
            Integers, shape (n_samples,), or one for all.

        Raises
        ------
        UsageError
            If a series was not added.
        BadInput
            If a column is not of whole numbers, is of another length, or does not fit its type.
        LakeError
            If an earlier batch could not be sealed.
        """
        unknown = sorted(set(np.unique(series_ids).tolist()) - self._series.keys())
        if unknown:
            raise UsageError(f"series {unknown[0]} is not known to this writer; call add_series first")
        given = {"t_ns": t_ns, "value": value, "window_ns": window_ns, "flags": flags, "epoch": epoch}
        columns = checked_columns(self.recording.source, given)
        start = 0
        while start < series_ids.size:
            stop = min(series_ids.size, start + self._buffer.n_free)
            part = {name: column[start:stop] if column.ndim else column for name, column in columns.items()}
            self._buffer.append_mixed(series_ids[start:stop], part)
            self.n_rows += stop - start
            start = stop
            self._seal_when_due()

    def write_flows(self, flows: pa.Table) -> None:
        """Write rows of table ``flows``.

        Raises
        ------
        BadInput
            If a column is missing or of another type.
        """
        self._flows.append(checked_rows("flows", flows))
        if sum(table.num_rows for table in self._flows) >= _FLOW_ROWS:
            self._seal("new")

    def replace_flows(self, flows: Iterable[pa.Table]) -> None:
        """Write rows of table ``flows`` in place of all that this recording has written of it: flows that go on.

        Raises
        ------
        BadInput
            If a column is missing or of another type.
        """
        self._flows, self._replaces_flows = [checked_rows("flows", rows) for rows in flows], True

    def before_seal(self, tell: Callable[[], object]) -> None:
        """Have something called before each sealing: what it writes is sealed, and counts, with the rest."""
        self._tell = tell

    def warn(self, message: str) -> None:
        """Note something that was skipped or wrong, in ``recordings.message``; the recording is then ``partial``."""
        self._n_messages += 1
        if len(self._messages) < _MESSAGES:
            self._messages.append(message)

    def seal_when_due(self) -> None:
        """Seal what has waited long enough: to be called now and then by who may have nothing to write for a while.

        Raises
        ------
        LakeError
            If an earlier batch could not be sealed.
        """
        if len(self._buffer) > self._n_sealed or self._new_series or self._flows:
            self._seal_when_due()

    def seal(self) -> None:
        """Seal what was written so far, and wait until it is safe and counts.

        Raises
        ------
        LakeError
            If it cannot be sealed.
        """
        self._seal("new")
        self._sealer.wait()

    def sealed(self, table: str) -> list[Path]:
        """Seal what was written so far, and return the files of a table that hold it.

        Raises
        ------
        LakeError
            If it cannot be sealed.
        """
        self.seal()
        return self._manifest.sealed(table, self._key, attempt=self._attempt)

    def replace(self, recording_ids: Iterable[str]) -> None:
        """Let this recording take the place of others, at the moment at which it is complete."""
        self._replaced = tuple(recording_ids)

    def at_end(self, call: Callable[[], object]) -> None:
        """Have something called once the recording has ended, however it did."""
        self._resources.callback(call)

    def discard(self) -> None:
        """Forget the recording when the block is left."""
        self._is_discarded = True

    def _finish(self, status: str, failure: Exception | None = None) -> None:
        message = self._message(failure)
        self._manifest.finish(self._key, self._attempt, status=status, message=message, replaces=self._replaced)

    def _append(self, series_id: int, columns: Mapping[str, NDArray[Any]]) -> None:
        n_rows = columns["t_ns"].size
        start = 0
        while start < n_rows:
            stop = min(n_rows, start + self._buffer.n_free)
            part = columns
            if stop - start < n_rows:
                part = {name: column[start:stop] if column.ndim else column for name, column in columns.items()}
            self._buffer.append(series_id, stop - start, part)
            self.n_rows += stop - start
            start = stop
            self._seal_when_due()

    def _seal_when_due(self) -> None:
        if not self._buffer.n_free:
            self._seal("last")
        elif self._is_late() and not self._sealer.is_busy:  # a live recording does not wait for a slow disk
            self._seal("all" if self._sealer.n_small >= _SMALL_FILES else "new")

    def _is_late(self) -> bool:
        if self._seal_every_s is None:
            return False
        return time.monotonic() - self._sealed_s >= max(self._seal_every_s, _TELLING_PAUSE * self._telling_s)

    def _seal(self, part: Literal["new", "all", "last"]) -> None:
        began_s = time.monotonic()
        self._tell()
        self._telling_s = time.monotonic() - began_s
        hosts = {series.host for series in self._series.values()}
        self._sealer.submit(
            Batch(
                rows=self._buffer.rows(self._n_sealed if part == "new" else 0),
                part=part,
                series=tuple(self._new_series),
                flows=tuple(self._flows),
                replaces_flows=self._replaces_flows,
                host=hosts.pop() if len(hosts) == 1 else MANY_HOSTS,
            )
        )
        self._new_series, self._flows, self._replaces_flows = [], [], False
        self._n_sealed, self._sealed_s = len(self._buffer), time.monotonic()
        if part == "last":
            self._turn_over()

    def _turn_over(self) -> None:
        """Go on with the buffer that is not in flight: to touch new memory costs as much as to sort."""
        self._buffer, self._other_buffer = self._other_buffer or SampleBuffer(), self._buffer
        self._buffer.clear()
        self._n_sealed = 0

    def _seal_rest(self) -> LakeError | None:
        try:
            self._seal("last")
            self._sealer.wait()
        except LakeError as error:
            return error
        return None

    def _message(self, failure: Exception | None = None) -> str | None:
        lines = list(self._messages)
        if self._n_messages > _MESSAGES:
            lines.append(f"and {self._n_messages - _MESSAGES} more")
        if failure is not None:
            lines.append(str(failure) or type(failure).__name__)
        return "\n".join(lines) or None
