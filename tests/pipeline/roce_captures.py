"""A capture of training jobs that speak RoCEv2 over several queue pairs, packet by packet, with what is true of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tests.profiler.frames import ROCE_PORT, bth, ethernet, ipv4, pcap, ports

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PACKET_BYTES", "RoceJob", "capture_of"]

T0_S: Final = 1_800_000_000
PACKET_BYTES: Final = 60_000
"""Of a super-packet on the wire; a few of them stand for the many of a burst."""
SPACING_S: Final = 2e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class RoceJob:
    """Every ``period_s`` on average, each address sends to the next for ``up_s``, on ``n_qps`` queue pairs."""

    addresses: tuple[str, ...]
    period_s: float
    up_s: float
    n_qps: int = 8
    jitter_frac: float = 0.01
    first_qp: int = 100

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Who sends to whom: a ring."""
        return list(zip(self.addresses, (*self.addresses[1:], self.addresses[0]), strict=True))

    def starts_s(self, *, duration_s: float, rng: np.random.Generator) -> list[float]:
        """Return when it begins to send, of all bursts that end within a time."""
        starts = [self.period_s * rng.random()]
        while starts[-1] + self.up_s < duration_s:
            starts.append(starts[-1] + self.period_s * (1 + self.jitter_frac * rng.standard_normal()))
        return starts[:-1]


def capture_of(*jobs: RoceJob, duration_s: float, rng: np.random.Generator) -> bytes:
    """Return a capture (pcap, 1 ns) of several jobs."""
    packets = sorted(
        (round(t_s * 1e9), frame) for job in jobs for t_s, frame in _packets(job, duration_s=duration_s, rng=rng)
    )
    records = ((T0_S + t_ns // 10**9, t_ns % 10**9, frame, PACKET_BYTES) for t_ns, frame in packets)
    return pcap(records, magic=0xA1B23C4D, snap=128)


def _packets(job: RoceJob, *, duration_s: float, rng: np.random.Generator) -> Iterator[tuple[float, bytes]]:
    frames = [
        ethernet(ipv4(ports(49152 + i, ROCE_PORT, bth(job.first_qp + i)), pair, proto=17, total=0), 0x0800)
        for pair in job.pairs
        for i in range(job.n_qps)
    ]
    for start_s in job.starts_s(duration_s=duration_s, rng=rng):
        for t_s in np.arange(start_s, start_s + job.up_s, SPACING_S):
            yield from ((t_s + 1e-6 * i, frame) for i, frame in enumerate(frames))
