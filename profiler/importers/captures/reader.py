"""`CaptureReader`: a capture into flows and series, a step at a time, in the order in which a packet meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from profiler.errors import BadInput, Truncated
from profiler.importers.captures import layout
from profiler.importers.captures.bins import SERIES, BinTable
from profiler.importers.captures.flow_rows import flow_rows
from profiler.importers.captures.flow_words import PACKETS, PAYLOAD_BYTES, REPEATED
from profiler.importers.captures.memory import KernelMemory
from profiler.importers.captures.opcodes import CNP
from profiler.importers.captures.series import SeriesBy, SeriesTable
from profiler.importers.captures.strangers import Strangers
from profiler.importers.captures.walks import Walk
from profiler.importers.captures.window import ByteWindow
from profiler.importers.coverage import Coverage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from profiler.importers.sink import Sink

__all__ = ["CaptureReader"]

_WRITE_EVERY_NS: Final = 1_000_000_000
"""How often bins are written of a capture that is followed."""
_LATENESS_NS: Final = 2_000_000_000
"""How much later than others a packet of it may come and still find its bin, and how long none comes in a pause."""
_RACED_NS: Final = 10_000_000
"""How far packets that another program has yet to write may be behind those that it wrote: queues of a card race."""


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
        self._bin_ns = bin_ns
        self._memory = KernelMemory(bin_ns)
        self._strangers = Strangers(self._memory)
        self._bins = BinTable()
        self._series = SeriesTable(sink, bin_ns=bin_ns, by=by, source=name)
        self._walk: Walk | None = None
        self._is_growing = False
        self._n_told = -1
        self._coverage = Coverage()

    def read(self, pieces: Iterator[bytes]) -> Coverage:
        """Read all packets of a stream; see `read_window`."""
        return self.read_window(ByteWindow(pieces))

    def read_window(self, window: ByteWindow) -> Coverage:
        """Read all packets; what is wrong after the first of them goes into the coverage.

        Raises
        ------
        BadInput
            If it is no capture, or not one packet of it is sound.
        """
        return self._read(window, lambda: None)

    def follow(
        self,
        window: ByteWindow,
        *,
        now_ns: Callable[[], int],
        is_live: bool = False,
        after_write: Callable[[], object] = lambda: None,
    ) -> Coverage:
        """Read packets while they come, and write bins that are some seconds old; else as `read_window`.

        While no packets come, those that came are written too.

        Parameters
        ----------
        window
            The bytes, empty pieces among them where there are none yet.
        now_ns
            The time, UTC epoch ns.
        is_live
            Whether packets come as they are captured, by the same clock, so that a pause is one of the network. Else
            some may stand in the buffer of the program that writes them, and the last ones read wait for these.
        after_write
            Called each second, once what is old enough is written.
        """
        written_ns = came_ns = now_ns()
        n_packets = 0

        def write_when_due() -> None:
            nonlocal written_ns, came_ns, n_packets
            at_ns = now_ns()
            if n_packets != self._memory.state[layout.N_PACKETS]:
                n_packets, came_ns = int(self._memory.state[layout.N_PACKETS]), at_ns
            if at_ns - written_ns < _WRITE_EVERY_NS:
                return
            written_ns = at_ns
            until_ns = self._paused(at_ns, is_live=is_live) if at_ns - came_ns >= _LATENESS_NS else self._going(at_ns)
            self._write_before(until_ns)
            after_write()

        self._is_growing = True
        return self._read(window, write_when_due)

    def tell_flows(self) -> None:
        """Give all flows of a capture that is followed to the sink, in place of those given before, unless they are."""
        n_packets = int(self._memory.state[layout.N_PACKETS])
        if n_packets != self._n_told:
            self._n_told = n_packets
            self._sink.replace_flows(flow_rows(self._memory, points=self._points()))

    def _going(self, now_ns: int) -> int:
        """Return up to when bins are whole while packets come."""
        return min(now_ns, int(self._memory.state[layout.LAST_NS])) - _LATENESS_NS

    def _paused(self, now_ns: int, *, is_live: bool) -> int:
        """Return up to when bins are whole once no packets have come for a while."""
        last_ns = int(self._memory.state[layout.LAST_NS])
        return min(now_ns - _LATENESS_NS, last_ns + self._bin_ns) if is_live else min(now_ns, last_ns) - _RACED_NS

    def _read(self, window: ByteWindow, after_step: Callable[[], None]) -> Coverage:
        try:
            self._walk = Walk(window, self._memory)
            for _ in self._walk.steps():
                self._strangers.take(window.data)
                self._take_bins()
                after_step()
        except Truncated as error:
            if self._is_growing and window.damage is None:
                self._coverage.skip(f"bytes ({window.n_bytes})", f"{error}, which was still being written")
            else:
                self._note_problem(error)
        except BadInput as error:
            self._note_problem(error)
        if self._is_growing and isinstance(window.damage, Truncated):
            self._coverage.skip("what is still packed", "the rest of it was still being written")
        elif window.damage is not None:  # the cause comes before what follows from it
            self._coverage.problems.insert(0, str(window.damage))
        self._finish()
        return self._coverage

    def _note_problem(self, error: BadInput) -> None:
        self._coverage.problems.append(f"{self._name}: {error}; what stood before was read; capture or copy it again")

    def _take_bins(self) -> None:
        self._bins.add(self._closed_bins())
        if self._bins.is_full:
            self._memory.close_bins()  # one that stayed open would come after those that are later
            self._bins.add(self._closed_bins())
            self._series.write(self._bins.older(), points=self._points())

    def _write_before(self, t_ns: int) -> None:
        """Write the bins that end before a time."""
        self._memory.close_bins()
        self._bins.add(self._closed_bins())
        self._series.write(self._bins.before(t_ns // self._bin_ns), points=self._points())

    def _closed_bins(self) -> NDArray[np.int64]:
        rows = self._memory.take_bins()
        self._series.first_ns = int(self._memory.state[layout.FIRST_NS])
        rows[:, SERIES] = self._series.of_flows(self._memory.flows[:, : layout.N_KEY], rows[:, SERIES])
        return rows

    def _points(self) -> list[str]:
        """Return where each interface stands: the host that captured, and the interface if it has a name."""
        labels = self._walk.labels if self._walk is not None else [""]
        return [":".join(part for part in (self._host, label) if part) for label in labels] or [self._host or ""]

    def _finish(self) -> None:
        self._strangers.finish()
        self._memory.close_bins()
        self._bins.add(self._closed_bins())
        self._series.write(self._bins.rest(), points=self._points())
        self._write_flows()
        self._count()
        coverage = self._coverage
        if not coverage.n_rows and coverage.problems:
            raise BadInput(coverage.problems[0].replace("what stood before was read; ", ""))
        for what, n, why in self._notes():
            if n:
                coverage.skip(f"{what} ({n})", why)

    def _write_flows(self) -> None:
        if self._is_growing:
            self.tell_flows()
            return
        for part in flow_rows(self._memory, points=self._points()):
            self._sink.write_flows(part)

    def _count(self) -> None:
        """Fill the totals of the coverage."""
        state, flows, rdma = self._memory.state, self._memory.flows, self._memory.rdma
        coverage = self._coverage
        coverage.n_rows = coverage.n_read = int(state[layout.N_PACKETS])
        coverage.n_samples = self._series.n_samples
        if state[layout.N_PACKETS] > state[layout.N_UNTIMED]:
            coverage.saw_at(int(state[layout.FIRST_NS]))
            coverage.saw_at(int(state[layout.LAST_NS]))
        coverage.totals = {
            "packets": coverage.n_rows,
            "wire_bytes": int(state[layout.WIRE_BYTES]),
            "payload_bytes": int(flows[:, PAYLOAD_BYTES].sum()),
            "untimed": int(state[layout.N_UNTIMED]),
            "flows": int((flows[:, PACKETS] > 0).sum()),
            "tunnelled": int(state[layout.N_TUNNELLED]),
            "slow_packets": self._strangers.n_slow,
            "unknown_packets": self._strangers.n_unknown,
            "retransmits": int(rdma[:, REPEATED].sum()),
            "cnps": int(rdma[:, CNP].sum()),
            "dropped": self._walk.n_dropped if self._walk is not None else 0,
        }
        coverage.leave_out("no time: in flows only", coverage.totals["untimed"])

    def _notes(self) -> Iterator[tuple[str, int, str]]:
        """Yield what people should know of how packets were counted: of what, how many, and why."""
        totals, state = self._coverage.totals, self._memory.state
        yield "packets", totals["untimed"], "no time, or one past the year 2262: in flows only"
        yield "packets", totals["dropped"], "dropped while they were captured, as the file tells: in no figure"
        yield "packets", totals["slow_packets"], "of kinds that scapy looked into"
        yield "packets", totals["unknown_packets"], "of kinds in which no addresses were found: counted in bytes"
        yield "packets", int(state[layout.N_CARRIED]), "a fraction of a second of a second or more: carried over"
        yield "packets", int(state[layout.N_OVERLONG]), "more captured than there was: the length on the wire counts"
        n_endless = int(state[layout.N_ENDLESS])
        yield "packets", n_endless, "damaged, longer on the wire than any packet can be: what was captured counts"
        yield "packets", int(state[layout.N_EMPTY]), "no bytes on the wire: zeros in the file look so"
        yield "fragments", self._strangers.n_without_first, "the first one never came: a flow without ports"
        yield "bytes", self._bins.moved_bytes, "packets far out of order: counted in a later bin"
        yield "series", self._series.n_left_out, "more than can be told apart: their bytes are in other"
        n_left_out = int(self._memory.flows[0, PACKETS])
        yield "packets", n_left_out, "more flows than can be told apart: in one flow without addresses"
