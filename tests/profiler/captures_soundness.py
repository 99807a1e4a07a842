"""What must hold of any bytes that are read as a capture."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

from profiler.errors import BadInput
from profiler.importers.captures.reader import CaptureReader
from profiler.importers.captures.window import ByteWindow
from profiler.importers.sink import MemorySink
from tests.profiler.captures_guard import guarded
from tests.profiler.captures_twin import Framing, framing_of

__all__ = ["Account", "account_of", "check_any_capture"]

SMALLEST_RECORD_BYTES: Final = 16
"""Header of a packet of pcap; a block of pcapng with a packet is no smaller."""
PIECES: Final = (1, 37, 4096)
BIN_NS: Final = 1_000_000
PARTS: Final = ("retransmits", "cnps", "slow_packets", "unknown_packets", "untimed")


class Account(NamedTuple):
    """What a reader made of some bytes, in a form that compares; of what it cannot read, why."""

    totals: dict[str, int]
    times_ns: tuple[int | None, int | None]
    problems: tuple[str, ...]
    flows: frozenset[tuple[Any, ...]]
    in_flows: tuple[int, int, int]
    in_bins: tuple[int, int]


def account_of(window: ByteWindow) -> Account | str:
    """Read a capture; return the reason if nothing of it can be read."""
    sink = MemorySink()
    try:
        coverage = CaptureReader("made", sink, host=None, bin_ns=BIN_NS, by="flow").read_window(window)
    except BadInput as error:
        return str(error)
    rows = [row for table in sink.flows for row in table.to_pylist()]
    sums = {"bytes": 0, "packets": 0}
    for series, _, value, _ in sink.counters():
        sums[series.metric] += int(value.sum())
    return Account(
        totals=dict(coverage.totals),
        times_ns=(coverage.t_first_ns, coverage.t_last_ns),
        problems=tuple(coverage.problems),
        flows=frozenset(tuple(row.values()) for row in rows),
        in_flows=(
            sum(row["packets"] for row in rows),
            sum(row["bytes"] for row in rows),
            sum(row["payload_bytes"] for row in rows),
        ),
        in_bins=(sums["packets"], sums["bytes"]),
    )


def check_any_capture(data: bytes, *, against: Literal["start", "end"] = "end", piece_bytes: int = 37) -> None:
    """Read bytes in guarded memory and piece by piece: nothing is counted that cannot be there, and both agree.

    Raises
    ------
    AssertionError
        If not.
    """
    with guarded(data, against=against) as window:
        whole = account_of(window)
        del window
    pieces = (data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes))
    assert account_of(ByteWindow(pieces)) == whole
    framing = framing_of(data)
    if isinstance(whole, str):
        assert framing is None or framing.n_packets == 0
        return
    assert framing is not None
    _check_framing(whole, framing)
    _check_account(whole, n_bytes=len(data))


def _check_framing(account: Account, framing: Framing) -> None:
    """Hold packets, bytes and times against those that the slow twin finds, and where it stops."""
    totals = account.totals
    assert (totals["packets"], totals["untimed"]) == (framing.n_packets, framing.n_untimed)
    assert account.times_ns == (framing.first_ns, framing.last_ns)
    assert totals["wire_bytes"] == framing.wire_bytes or (
        framing.has_cards and totals["wire_bytes"] < framing.wire_bytes
    )
    assert [int(at) for problem in account.problems for at in re.findall(r"byte (\d+):", problem)] == [
        at for at in [framing.stops_at] if at is not None
    ]


def _check_account(account: Account, *, n_bytes: int) -> None:
    totals = account.totals
    assert 0 <= totals["packets"] <= n_bytes // SMALLEST_RECORD_BYTES
    assert 0 <= totals["payload_bytes"] <= totals["wire_bytes"] <= totals["packets"] * (2**32 - 1)
    assert account.in_flows == (totals["packets"], totals["wire_bytes"], totals["payload_bytes"])
    assert account.in_bins[0] == totals["packets"] - totals["untimed"]
    assert account.in_bins[1] <= totals["wire_bytes"]
    assert all(0 <= totals[part] <= totals["packets"] for part in PARTS)
    first_ns, last_ns = account.times_ns
    assert (first_ns is None) == (last_ns is None) == (totals["packets"] == totals["untimed"])
    assert first_ns is None or last_ns is None or first_ns <= last_ns
