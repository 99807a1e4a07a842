"""A capture into a sink: framing, keys, flows, bins, in that order, a window of packets at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.importers.captures.bins import BinTable
from profiler.importers.captures.flows import FlowTable
from profiler.importers.captures.names import flow_rows
from profiler.importers.captures.packets import N_WORDS, read_keys
from profiler.importers.captures.pcap import walk_pcap
from profiler.importers.captures.pcapng import PcapngWalk
from profiler.importers.captures.records import N_RECORDS, TIME, UNTIMED, WIRE
from profiler.importers.captures.series import SeriesBy, SeriesTable
from profiler.importers.captures.window import ByteWindow
from profiler.importers.contents import kind_of
from profiler.importers.coverage import Coverage

if TYPE_CHECKING:
    from profiler.importers.sink import Sink

__all__ = ["CaptureReader"]


class CaptureReader:
    """Reads one capture.

    Parameters
    ----------
    name
        The capture, for messages and as the source of its series.
    sink
        Takes flows and samples.
    host
        Where it was captured.
    bin_ns
        Width of the bins of samples.
    by
        What one series is: a directed pair of addresses, or a flow.
    """

    def __init__(self, name: str, sink: Sink, *, host: str | None, bin_ns: int, by: SeriesBy) -> None:
        self._name = name
        self._sink = sink
        self._host = host
        self._flows = FlowTable()
        self._bins = BinTable(bin_ns)
        self._series = SeriesTable(sink, bin_ns=bin_ns, by=by, source=name)
        self._labels = {"": 0}
        self._keys = np.empty((N_RECORDS, N_WORDS), dtype=np.uint64)
        self._coverage = Coverage(totals=dict.fromkeys(("packets", "wire_bytes", "untimed"), 0))

    def read(self, pieces: Iterator[bytes]) -> Coverage:
        """Read all packets; what is wrong after the first of them goes into the coverage.

        Raises
        ------
        BadInput
            If it is no capture, or not one packet of it is sound.
        """
        window = ByteWindow(pieces)
        try:
            for records in self._walk(window):
                self._take(window.data, records)
        except BadInput as error:
            self._coverage.problems.append(
                f"{self._name}: {error}; what stood before was read; capture or copy it again"
            )
        if window.damage is not None:  # the cause comes before what follows from it
            self._coverage.problems.insert(0, str(window.damage))
        self._finish()
        return self._coverage

    def _walk(self, window: ByteWindow) -> Iterator[NDArray[np.int64]]:
        kind = kind_of(window.peek(8))
        if kind == "pcapng":
            walk = PcapngWalk(window)
            self._labels = walk.labels
            return walk.packets()
        if kind != "pcap":
            raise BadInput(f"looks like {kind}, not like a capture (pcap or pcapng)")
        return walk_pcap(window)

    def _take(self, data: NDArray[np.uint8], records: NDArray[np.int64]) -> None:
        keys = self._keys[: len(records)]
        read_keys(data, records, keys)
        flows = self._flows.add(records, keys)
        series = self._series.of_flows(self._flows.keys, flows)
        for bins in self._bins.add(records, series):
            self._series.write(bins, points=self._points())
        times_ns = records[:, TIME]
        is_timed = times_ns != UNTIMED
        self._coverage.saw(times_ns[is_timed])
        self._coverage.n_rows += len(records)
        self._coverage.totals["packets"] += len(records)
        self._coverage.totals["wire_bytes"] += int(records[:, WIRE].sum())
        self._coverage.totals["untimed"] += int(np.count_nonzero(~is_timed))

    def _points(self) -> list[str]:
        """Return where each interface stands: the host that captured, and the interface if it has a name."""
        return [":".join(part for part in (self._host, label) if part) for label in self._labels] or [self._host or ""]

    def _finish(self) -> None:
        self._series.write(self._bins.rest(), points=self._points())
        self._sink.write_flows(flow_rows(self._flows, points=self._points()))
        coverage = self._coverage
        coverage.n_samples = self._series.n_samples
        coverage.n_read = coverage.totals["packets"]
        coverage.leave_out("no time: in flows only", coverage.totals["untimed"])
        if not coverage.n_rows and coverage.problems:
            raise BadInput(coverage.problems[0].replace("what stood before was read; ", ""))
        if coverage.totals["untimed"]:
            coverage.skip(
                f"packets ({coverage.totals['untimed']})", "no time, or one past the year 2262: in flows only"
            )
        if self._bins.moved_bytes:
            coverage.skip(f"bytes ({self._bins.moved_bytes})", "packets far out of order: counted in a later bin")
        if self._series.n_left_out:
            coverage.skip(
                f"series ({self._series.n_left_out})", "more than can be told apart: their bytes are in other"
            )
        n_left_out = int(self._flows.counts.n_packets[0])
        if n_left_out:
            coverage.skip(f"packets ({n_left_out})", "more flows than can be told apart: in one flow without addresses")
