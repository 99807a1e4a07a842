"""Where importers put what they read: the lake's writer, or memory; both fit `Sink`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from profiler.importers.ordering import in_order
from profiler.store.series import Series

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Counters", "MemorySink", "Sink"]

Counters = list[tuple[Series, NDArray[np.int64], NDArray[np.int64]]]
"""Series with times (ns, increasing) and values; the bytes of ``value[i]`` of a delta came after ``t_ns[i - 1]``."""


class Sink(Protocol):
    """What an importer needs of the place that it writes to."""

    def add_series(self, series: Series) -> object:
        """Announce a series before its first sample; doing so again is harmless."""

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
        """Take samples of one series; arrays have shape (n_samples,)."""

    def write_flows(self, flows: pa.Table) -> object:
        """Take rows of table ``flows``."""


class MemorySink:
    """A sink that keeps all it is given, for one file that is wanted without a lake."""

    def __init__(self) -> None:
        self._series: dict[int, Series] = {}
        self._samples: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
        self.flows: list[pa.Table] = []

    def add_series(self, series: Series) -> None:
        """Announce a series; see `Sink`."""
        self._series[series.series_id] = series
        self._samples.setdefault(series.series_id, [])

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
        """Keep samples; see `Sink`."""
        self._samples[series_id].append((t_ns, value))

    def write_flows(self, flows: pa.Table) -> None:
        """Keep flows; see `Sink`."""
        self.flows.append(flows)

    def counters(self) -> Counters:
        """Return every series with its samples, one a time and in order of it; series as they were announced."""
        return [(series, *self._ordered(key)) for key, series in self._series.items()]

    def _ordered(self, series_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        parts = self._samples[series_id] or [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        rows = in_order(
            np.concatenate([t_ns for t_ns, _ in parts]),
            np.concatenate([value for _, value in parts]),
            kind=self._series[series_id].kind,
        )
        return rows.t_ns, rows.value
