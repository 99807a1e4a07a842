"""Snapshots without a time of their own: dated by their files, unless copying made those dates meaningless."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from profiler.errors import BadInput
from profiler.importers.hosts import Held
from profiler.importers.instants import whole_ns
from profiler.importers.timestamps import time_in
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink
    from profiler.store import Lake, Series

__all__ = ["SnapshotGuard", "held_near", "is_named_by_time"]

_NEAREST_NS: Final = NS_PER_S // 2
"""Files that are written one after the other by hand or by a script are further apart; those of a copy are not."""


def is_named_by_time(source: Input, options: Options) -> bool:
    """Return whether the name of an input, and not its modification, dates what has no time of its own."""
    return options.time_from == "name" or (options.time_from == "auto" and time_in(source.name) is not None)


def held_near(lake: Lake, source: Input) -> Callable[[int], Held | None]:
    """Return what looks up the samples of a series in a lake, those about the time at which an input was modified."""
    t_ns = whole_ns(source.dated_s)

    @functools.cache
    def near() -> dict[int, Held]:
        return _samples_between(lake, t_ns - _NEAREST_NS, t_ns + _NEAREST_NS)

    return lambda series_id: near().get(series_id)


def _samples_between(lake: Lake, first_ns: int, last_ns: int) -> dict[int, Held]:
    """Return the samples of some time by series; only files of recordings that reach into it are opened."""
    recordings = lake.read("recordings")
    reaches = pc.and_(
        pc.less_equal(recordings["t_first_ns"], last_ns), pc.greater_equal(recordings["t_last_ns"], first_ns)
    )
    found: dict[int, Held] = {}
    for recording in recordings.filter(reaches).to_pylist():
        for path in lake.files("samples", recording_id=recording["recording_id"]):
            inside = [("t_ns", ">=", first_ns), ("t_ns", "<=", last_ns)]
            rows = pq.read_table(path, columns=["series_id", "t_ns", "value"], filters=inside)
            series_ids = rows["series_id"].to_numpy()
            for series_id in np.unique(series_ids).tolist():
                own = rows.filter(pc.equal(rows["series_id"], pa.scalar(series_id, pa.uint64())))
                found[series_id] = Held(own["t_ns"].to_numpy(), own["value"].to_numpy(), recording["source"])
    return found


class SnapshotGuard:
    """A sink before another one; it refuses a snapshot that its file dates next to another of the same series.

    Copying a folder gives all its files one time. Rates between such snapshots would be wrong by orders of magnitude.

    Parameters
    ----------
    source
        What is read.
    sink
        Where samples go.
    held
        Looks up what is known of a series; None if nothing is.
    """

    def __init__(self, source: Input, sink: Sink, held: Callable[[int], Held | None]) -> None:
        self._source = source
        self._sink = sink
        self._look_up = held
        self._t_ns = whole_ns(source.dated_s)

    def add_series(self, series: Series) -> object:
        """Announce a series; see `Sink`."""
        return self._sink.add_series(series)

    def write_samples(
        self,
        series_id: int,
        t_ns: NDArray[np.int64],
        value: NDArray[np.int64],
        *,
        window_ns: NDArray[np.int32] | int = 0,
        flags: NDArray[np.uint16] | int = 0,
        epoch: NDArray[np.int32] | int = 0,
    ) -> object:
        """Pass samples on; a `BadInput` if they are dated by their file, next to others.

        Raises
        ------
        BadInput
            If nothing tells which came first, and by how much.
        """
        if t_ns.size == 1 and int(t_ns[0]) == self._t_ns:
            self._check(series_id, int(value[0]))
        return self._sink.write_samples(series_id, t_ns, value, window_ns=window_ns, flags=flags, epoch=epoch)

    def write_flows(self, flows: pa.Table) -> object:
        """Pass flows on; see `Sink`."""
        return self._sink.write_flows(flows)

    def replace_flows(self, flows: Iterable[pa.Table]) -> object:
        """Pass flows on; see `Sink`."""
        return self._sink.replace_flows(flows)

    def _check(self, series_id: int, value: int) -> None:
        held = self._look_up(series_id)
        if held is None or not held.t_ns.size:
            return
        distance_ns = np.abs(held.t_ns - self._t_ns)
        i_nearest = int(np.argmin(distance_ns))
        is_same = distance_ns[i_nearest] == 0 and int(held.value[i_nearest]) == value
        if distance_ns[i_nearest] < _NEAREST_NS and not is_same:
            raise BadInput(
                f"{self._source.name}: neither it nor its name says when its readings were taken, and by its "
                f"modification it is {distance_ns[i_nearest] / NS_PER_S:g} s from {held.source}, as copies are; name "
                "it by its time, as in eth0-1700000000.5.txt, or give --time-from mtime if both are no copies"
            )
