"""Traffic of two training jobs over RoCEv2 at a mirror port, packet by packet, and its truth: seeded, of any length.

Each job sends bursts of an all-reduce, an iteration after the other, over rings of hosts with several queue pairs a
neighbour. Every eleventh packet of a connection is the receiver's: an acknowledgement, or a congestion notification.
Now and then a packet is sent again. All follows from the number of the packet within its job, so that any stretch of
time is made without what came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACK", "CNP", "DATA", "HEADER_BYTES", "SNAP_BYTES", "Packets", "Traffic", "Truth", "packets_of"]

T0_NS: Final = 1_800_000_000 * 10**9
MS: Final = 10**6
BIN_NS: Final = MS
"""Width of the bins of the truth; the reader's default."""
WINDOW_NS: Final = 50 * MS
"""Traffic made at once: some hundred thousand packets."""

DATA, ACK, CNP = 0, 1, 2
HEADER_BYTES: Final = 14 + 20 + 8 + 12
"""Ethernet, IPv4, UDP, base transport header."""
_PAYLOAD_BYTES: Final = np.array([4096, 0, 0])
_WIRE_BYTES: Final = np.array([HEADER_BYTES + 4096 + 4, HEADER_BYTES + 4 + 4, HEADER_BYTES + 16 + 4])
"""With the invariant checksum; an acknowledgement has an extended header of 4 bytes, a notification 16 of nothing."""
SNAP_BYTES: Final = 128

N_PER_ACK: Final = 11
CNP_FRAC, AGAIN_FRAC = 0.02, 1e-3
"""Of the receiver's packets those that notify; of every other one of the sender's those that repeat the one before."""
N_PSN: Final = 1 << 24


class _Job(NamedTuple):
    """What one job does: bursts of ``n_burst`` packets, ``gap_ns`` apart, every ``period_ns``."""

    period_ns: int
    n_burst: int
    gap_ns: int
    start_ns: int


JOBS: Final = (_Job(255 * MS, 340_000, 333, 0), _Job(190 * MS, 240_000, 371, 37 * MS))
"""Up for 113 of 255 ms at 100 Gbit/s, and for 89 of 190 ms at 90 Gbit/s."""


class Packets(NamedTuple):
    """Packets in order of time; arrays of shape (n_packets,)."""

    t_ns: NDArray[np.int64]
    kind: NDArray[np.int64]
    """`DATA`, `ACK` or `CNP`."""
    connection: NDArray[np.int64]
    psn: NDArray[np.int64]
    wire_bytes: NDArray[np.int64]
    is_again: NDArray[np.bool_]

    @property
    def flow(self) -> NDArray[np.int64]:
        """Number of the flow: the sender's has an even one, the receiver's the odd one after it."""
        flow: NDArray[np.int64] = 2 * self.connection + (self.kind != DATA)
        return flow


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What is to be made.

    Parameters
    ----------
    n_packets
        How many packets.
    n_flows
        In how many flows, an even number; half of them carry data.
    seed
        Of the random numbers that say which packets are sent again and which notify.
    """

    n_packets: int
    n_flows: int = 128
    seed: int = 7

    @property
    def n_connections(self) -> int:
        """Pairs of flows."""
        return self.n_flows // 2


@dataclass(slots=True, kw_only=True)
class Truth:
    """What was made, added up while it was.

    Attributes
    ----------
    packets, wire_bytes, payload_bytes, first_ns, last_ns
        Of each flow, shape (n_flows,).
    bins
        Bytes on the wire of each bin from the first on, over all flows.
    """

    n_flows: int
    retransmits: int = 0
    cnps: int = 0
    packets: NDArray[np.int64] = field(init=False)
    wire_bytes: NDArray[np.int64] = field(init=False)
    payload_bytes: NDArray[np.int64] = field(init=False)
    first_ns: NDArray[np.int64] = field(init=False)
    last_ns: NDArray[np.int64] = field(init=False)
    bins: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Start from nothing."""
        for name in ("packets", "wire_bytes", "payload_bytes", "last_ns"):
            setattr(self, name, np.zeros(self.n_flows, dtype=np.int64))
        self.first_ns = np.full(self.n_flows, np.iinfo(np.int64).max)
        self.bins = np.zeros(0, dtype=np.int64)

    def add(self, packets: Packets, *, t_ns: NDArray[np.int64]) -> None:
        """Count packets; ``t_ns`` are their times as the file can hold them."""
        flow = packets.flow
        self.packets += np.bincount(flow, minlength=self.n_flows)
        self.wire_bytes += _sums(flow, packets.wire_bytes, n=self.n_flows)
        self.payload_bytes += _sums(flow, _PAYLOAD_BYTES[packets.kind], n=self.n_flows)
        np.minimum.at(self.first_ns, flow, t_ns)
        np.maximum.at(self.last_ns, flow, t_ns)
        self.retransmits += int(packets.is_again.sum())
        self.cnps += int((packets.kind == CNP).sum())
        i_bin = (t_ns - T0_NS) // BIN_NS
        n_bins = max(len(self.bins), int(i_bin[-1]) + 1)
        bins = _sums(i_bin, packets.wire_bytes, n=n_bins)
        bins[: len(self.bins)] += self.bins
        self.bins = bins


def packets_of(traffic: Traffic) -> Iterator[Packets]:
    """Yield the packets of the first stretches of time, until there are enough."""
    n_left, start_ns = traffic.n_packets, 0
    while n_left > 0:
        made = _window(traffic, start_ns, start_ns + WINDOW_NS)
        start_ns += WINDOW_NS
        if len(made.t_ns):
            yield Packets._make(column[:n_left] for column in made)
        n_left -= len(made.t_ns)


def _window(traffic: Traffic, start_ns: int, end_ns: int) -> Packets:
    parts = [_of_job(traffic, i_job, start_ns, end_ns) for i_job in range(len(JOBS))]
    joined = Packets._make(np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(joined.t_ns, kind="stable")
    return Packets._make(column[order] for column in joined)


def _of_job(traffic: Traffic, i_job: int, start_ns: int, end_ns: int) -> Packets:
    job = JOBS[i_job]
    number = np.arange(_n_before(job, start_ns), _n_before(job, end_ns), dtype=np.int64)
    n_connections = traffic.n_connections // len(JOBS)
    turn, connection = np.divmod(number, n_connections)
    message, place = np.divmod(turn, N_PER_ACK)
    is_reply = place == N_PER_ACK - 1
    draws = np.random.default_rng((traffic.seed, i_job, start_ns)).random(number.size)
    kind = np.where(is_reply, np.where(draws < CNP_FRAC, CNP, ACK), DATA)
    is_again = ~is_reply & (place > 0) & (place % 2 == 0) & (draws < AGAIN_FRAC)  # never two in a row
    psn = message * (N_PER_ACK - 1) + place - is_reply - is_again
    burst, in_burst = np.divmod(number, job.n_burst)
    return Packets(
        t_ns=T0_NS + job.start_ns + burst * job.period_ns + in_burst * job.gap_ns,
        kind=kind,
        connection=i_job * n_connections + connection,
        psn=psn % N_PSN,
        wire_bytes=_WIRE_BYTES[kind],
        is_again=is_again,
    )


def _n_before(job: _Job, t_ns: int) -> int:
    """Return how many packets a job has sent before a time."""
    n_bursts, in_period_ns = divmod(max(0, t_ns - job.start_ns), job.period_ns)
    return n_bursts * job.n_burst + min(job.n_burst, -(-in_period_ns // job.gap_ns))


def _sums(group: NDArray[np.int64], value: NDArray[np.int64], *, n: int) -> NDArray[np.int64]:
    """Return the sum of values by group; exact, since no group's reaches 2 ** 53."""
    return np.bincount(group, weights=value, minlength=n).astype(np.int64)
