"""The series of a capture: which flow belongs to which, and their bins on the way to a sink."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from profiler.importers.captures.bins import BIN, SERIES
from profiler.importers.captures.layout import N_KEY, PLACE, TRANSPORT
from profiler.importers.captures.names import FlowName, read_name
from profiler.importers.captures.rates import NEVER, samples_of
from profiler.importers.sink import Rows, write_mixed
from profiler.store.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiler.importers.sink import Sink

__all__ = ["SeriesBy", "SeriesTable"]

SeriesBy = Literal["pair", "flow"]

MOST_SERIES: Final = 1 << 17
"""Series that are told apart; the bytes of further ones go to series 0, called ``other``."""

MOST_ROWS_AT_ONCE: Final = 1 << 13
"""Bins made into samples at once, which bounds the zeros that are made with them."""

_LARGEST_EPOCH: Final = (1 << 31) - 1
"""An epoch is an int32."""

_METRICS: Final = ("bytes", "packets")
_PROTOCOLS: Final = {1: "icmp", 6: "tcp", 17: "udp", 27: "ib", 47: "gre", 58: "icmp6", 132: "sctp"}


class SeriesTable:
    """Every series of a capture.

    Parameters
    ----------
    sink
        Takes their samples.
    bin_ns
        Width of a bin.
    by
        What one series is: all traffic from one address to another, or one flow.
    source
        The capture.
    """

    def __init__(self, sink: Sink, *, bin_ns: int, by: SeriesBy, source: str) -> None:
        self.n_samples = 0
        self.n_left_out = 0
        self.first_ns = 0
        """When the first packet came, as far as is known before anything is written; UTC epoch ns."""
        self._sink = sink
        self._bin_ns = bin_ns
        self._by = by
        self._source = source
        self._of_flow = np.zeros(1 << 12, dtype=np.int64)
        self._n_flows = 1
        self._epoch = 0
        self._numbers: dict[bytes, int] = {}
        self._keys = np.zeros((MOST_SERIES, N_KEY), dtype=np.int64)
        self._last_bin = np.full(MOST_SERIES, NEVER, dtype=np.int64)
        self._ids = np.zeros((MOST_SERIES, 2), dtype=np.uint64)

    def of_flows(self, flow_keys: NDArray[np.int64], flows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the series of each flow, shape (n_flows,); ``flow_keys`` has all flows so far."""
        self._know(flow_keys)
        series: NDArray[np.int64] = self._of_flow[flows]
        return series

    def write(self, bins: NDArray[np.int64], *, points: list[str]) -> None:
        """Write rows of bins; those of one series come in order from call to call."""
        for part in _parts(bins):
            self._epoch = self._epoch or _number_of(part[0], self._keys, first_ns=self.first_ns)
            self._write(part, points)

    def _write(self, bins: NDArray[np.int64], points: list[str]) -> None:
        samples = samples_of(bins, self._last_bin, bin_ns=self._bin_ns)
        self._last_bin[bins[:, SERIES]] = bins[:, BIN]
        ids = self._identify(samples.series, points)
        for column, values in enumerate((samples.n_bytes, samples.n_packets)):
            rows = Rows(samples.t_ns, values, samples.window_ns, samples.flags, self._epoch)
            write_mixed(self._sink, ids[:, column], samples=rows)
        self.n_samples += 2 * samples.series.size

    def _identify(self, numbers: NDArray[np.int64], points: list[str]) -> NDArray[np.uint64]:
        """Return the identities of the series of bytes and of packets, shape (n, 2), announced to the sink."""
        for number in np.unique(numbers[self._ids[numbers, 0] == 0]).tolist():
            name = read_name(self._keys[number])
            device = _device(name, by=self._by)
            for column, metric in enumerate(_METRICS):
                series = Series(
                    host=name.src or "other",
                    device=device,
                    port=points[name.interface],
                    direction="transmit",
                    metric=metric,
                    unit=metric,
                    kind="delta",
                    layer="capture",
                    raw_name="orig_len" if metric == "bytes" else "",
                    width_bits=None,
                    source=self._source,
                )
                announced = self._sink.add_series(series)
                self._ids[number, column] = announced if isinstance(announced, int) else series.series_id
        identities: NDArray[np.uint64] = self._ids[numbers]
        return identities

    def _know(self, flow_keys: NDArray[np.int64]) -> None:
        new = flow_keys[self._n_flows :]
        while len(self._of_flow) < len(flow_keys):
            self._of_flow = np.concatenate((self._of_flow, np.zeros_like(self._of_flow)))
        named = new.copy()
        if self._by == "pair":
            named[:, TRANSPORT] >>= 40
            named[:, PLACE] >>= 32
        for i, key in enumerate(named):
            self._of_flow[self._n_flows + i] = self._number(key.tobytes(), new[i])
        self._n_flows = len(flow_keys)

    def _number(self, name: bytes, key: NDArray[np.int64]) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) + 1 == MOST_SERIES:
                self.n_left_out += 1
                return 0
            number = self._numbers[name] = len(self._numbers) + 1
            self._keys[number] = key
        return number


def _number_of(first_bin: NDArray[np.int64], keys: NDArray[np.int64], *, first_ns: int) -> int:
    """Return a number that is a capture's own, by how it begins: what others have of the same bins adds to its own.

    A file that ends within a bin and the next file, which begins there, would else be the same row twice if they have
    as many bytes of it; so would files of which several are within one bin, but for when they begin.
    """
    begins = first_bin.tobytes() + keys[first_bin[SERIES]].tobytes() + first_ns.to_bytes(8, "little", signed=True)
    return zlib.crc32(begins) & _LARGEST_EPOCH or 1


def _parts(bins: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield rows a part at a time, cut between series unless one alone is longer."""
    cuts = np.flatnonzero(np.diff(bins[:, SERIES], append=-1)) + 1
    start = 0
    while start < len(bins):
        i_cut = np.searchsorted(cuts, start + MOST_ROWS_AT_ONCE, side="right") - 1
        stop = int(cuts[i_cut]) if i_cut >= 0 and cuts[i_cut] > start else min(len(bins), start + MOST_ROWS_AT_ONCE)
        yield bins[start:stop]
        start = stop


def _device(name: FlowName, *, by: SeriesBy) -> str:
    """Return the device of the series that a flow's bytes go to: the sender is the host, who it sends to the device."""
    if by == "pair" or name.proto is None:
        return name.dst or "other"
    protocol = _PROTOCOLS.get(name.proto, str(name.proto))
    ports = f" {name.sport}>{name.dport}" if name.sport or name.dport else ""
    queue_pair = f" qp {name.qp}" if name.qp is not None else ""
    return f"{name.dst or 'other'} {protocol}{ports}{queue_pair}"
