"""Hosts of tables that name none: a file's name serves, unless two hosts would become one by it."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.schema import arrow_schema
from profiler.store.reading import read_segments

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.importers.inputs import Input
    from profiler.store import Lake, Series

__all__ = ["Held", "HostGuard", "KnownSeries", "shared_stems", "with_host"]


class Held(NamedTuple):
    """What is known of a series: times in order, values, and the input that they came from."""

    t_ns: NDArray[np.int64]
    value: NDArray[np.int64]
    source: str


def shared_stems(paths: Iterable[str | Path]) -> frozenset[str]:
    """Return the names, without extensions, that files of several folders have; archives are not looked into."""
    folders: dict[str, set[Path]] = {}
    for path in map(Path, paths):
        below = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
        for file in below or [path]:
            folders.setdefault(file.name.split(".")[0], set()).add(file.absolute().parent)
    return frozenset(stem for stem, parents in folders.items() if len(parents) > 1)


def with_host(source: Input, *, shared: frozenset[str]) -> Input:
    """Return an input with its folder's name before its own as host, if its own is shared."""
    if source.stem not in shared:
        return source
    member = source.name.rpartition("!")[2]
    return replace(source, host=f"{Path(member).absolute().parent.name}-{source.stem}")


class KnownSeries:
    """The series of a lake by host; what was added since the last look is all that is read.

    Parameters
    ----------
    lake
        Where they are.
    """

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._seen: set[Path] = set()
        self._sources: dict[str, dict[int, str]] = {}

    def of_host(self, host: str) -> Callable[[int], Held | None] | None:
        """Return what looks up the series of a host; None if there are none of that host.

        Raises
        ------
        LakeError
            If a file that counts is missing or damaged.
        """
        self._look()
        sources = self._sources.get(host)
        return None if sources is None else functools.partial(self._held, dict(sources))

    def _held(self, sources: dict[int, str], series_id: int) -> Held | None:
        if series_id not in sources:
            return None
        counter = self.lake.counter(series_id)
        return Held(counter.t_ns, counter.value, sources[series_id])

    def _look(self) -> None:
        new = [path for path in self.lake.files("series") if path not in self._seen]
        if new:
            rows = read_segments(new, arrow_schema("series")).select(["series_id", "host", "source"])
            for row in rows.to_pylist():
                self._sources.setdefault(row["host"], {})[row["series_id"]] = row["source"]
            self._seen.update(new)


class HostGuard:
    """A sink that stores nothing, and knows whether the samples of an input contradict those of another.

    Where both have samples of a series, those of one must be among those of the other, as when a table that grew is
    read again. Other values, or other times, are those of another host; one alone is that of a row that was cut.

    Parameters
    ----------
    source
        What is read.
    held
        Looks up a series; None if nothing is known of it.
    """

    def __init__(self, source: Input, held: Callable[[int], Held | None]) -> None:
        self._source = source
        self._look_up = held
        self._series: dict[int, Series] = {}
        self._held: dict[int, Held] = {}
        self._last_ns: dict[int, int] = {}
        self._n_contradictions: Counter[int] = Counter()

    def add_series(self, series: Series) -> None:
        """Look up what is held of a series; see `Sink`."""
        if series.series_id in self._series or series.host != self._source.default_host:
            return
        held = self._look_up(series.series_id)
        self._series[series.series_id] = series
        if held is not None and held.t_ns.size:
            self._held[series.series_id] = held

    def write_samples(
        self,
        series_id: int,
        t_ns: NDArray[np.int64],
        value: NDArray[np.int64],
        *,
        window_ns: NDArray[np.int32] | int = 0,  # noqa: ARG002 - as in Sink
        flags: NDArray[np.uint16] | int = 0,  # noqa: ARG002 - as in Sink
        epoch: NDArray[np.int32] | int = 0,  # noqa: ARG002 - as in Sink
    ) -> None:
        """Compare samples with those held since the samples before."""
        if series_id not in self._held or not t_ns.size:
            return
        held = self._held[series_id]
        first_ns, last_ns = int(t_ns.min()), int(t_ns.max())
        since_ns = min(first_ns, self._last_ns.get(series_id, first_ns) + 1)
        self._last_ns[series_id] = max(last_ns, self._last_ns.get(series_id, last_ns))
        self._n_contradictions[series_id] += _n_contradictions(held, t_ns, value, since_ns=since_ns, until_ns=last_ns)

    def write_flows(self, flows: pa.Table) -> None:
        """Pass over flows; see `Sink`."""

    def replace_flows(self, flows: Iterable[pa.Table]) -> None:
        """Pass over flows; see `Sink`."""

    def check(self) -> None:
        """Refuse the input if it contradicts what is held.

        Raises
        ------
        BadInput
            If it is not of the same host.
        """
        series_id, n_contradictions = max(self._n_contradictions.items(), key=itemgetter(1), default=(0, 0))
        if n_contradictions > 1:
            series, held = self._series[series_id], self._held[series_id]
            raise BadInput(
                f"{self._source.name}: {series.device} {series.direction}: it names no host, and as host {series.host} "
                f"it contradicts {held.source}, which has other values at that time; nothing of it was taken; if they "
                "are of different hosts, give each its --host"
            )


def _n_contradictions(
    held: Held, t_ns: NDArray[np.int64], value: NDArray[np.int64], *, since_ns: int, until_ns: int
) -> int:
    """Return how many samples of the one that has fewer, where both reach, the other does not have."""
    since_ns, until_ns = max(since_ns, int(held.t_ns[0])), min(until_ns, int(held.t_ns[-1]))
    start, stop = np.searchsorted(held.t_ns, [since_ns, until_ns + 1])
    inside = (t_ns >= since_ns) & (t_ns <= until_ns)
    n_held, n_new = max(0, int(stop - start)), int(np.count_nonzero(inside))
    places = np.minimum(np.searchsorted(held.t_ns, t_ns[inside]), held.t_ns.size - 1)
    is_same = (held.t_ns[places] == t_ns[inside]) & (held.value[places] == value[inside])
    return min(n_held, n_new) - int(np.count_nonzero(is_same))
