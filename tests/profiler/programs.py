"""Programs whose collectives are known: each iteration the same, its first one every ``period_s``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from profiler.collectives import CollectiveEvents

__all__ = ["T0_NS", "Program", "kineto_event", "layers"]

T0_NS = 1_700_000_000_000_000_000
MS = 1_000_000


@dataclass
class Program:
    """Collectives as ``(key, start, duration)`` in ms after the iteration's start, run ``n`` times."""

    block: Sequence[tuple[str, float, float]]
    period_ms: float
    n: int
    bytes_each: float = 1e6
    late_ms: dict[int, float] = field(default_factory=dict)
    """Iterations before which the program stood still, and for how long."""
    inserted: dict[int, Sequence[tuple[str, float, float]]] = field(default_factory=dict)
    """Collectives of single iterations besides the block's."""

    def rows(self) -> list[tuple[str, float, float]]:
        rows = []
        t_ms = 0.0
        for i in range(self.n):
            t_ms += self.late_ms.get(i, 0.0)
            here = sorted([*self.block, *self.inserted.get(i, ())], key=lambda row: row[1])
            rows += [(key, t_ms + start, duration) for key, start, duration in here]
            t_ms += self.period_ms
        return rows

    def events(self, cut: slice = slice(None), *, jitter_ms: Iterable[float] | None = None) -> CollectiveEvents:
        rows = self.rows()[cut]
        starts_ms = np.array([start for _, start, _ in rows]) + (0.0 if jitter_ms is None else np.array([*jitter_ms]))
        return CollectiveEvents(
            start_ns=T0_NS + np.rint(starts_ms * MS).astype(np.int64),
            duration_ns=[duration * MS for _, _, duration in rows],
            bytes=[self.bytes_each] * len(rows),
            key=[key for key, _, _ in rows],
            host="h",
            device="rank0",
            port="dp:0",
        )


def layers(
    n: int, *, key: str = "all_gather", every_ms: float = 5.0, lasting_ms: float = 2.0
) -> list[tuple[str, float, float]]:
    """The same collective once a layer."""
    return [(key, i * every_ms, lasting_ms) for i in range(n)]


def kineto_event(
    start_us: float, duration_us: float, *, elements: int | None = 1000, stream: int = 7, group: str = "0", gpu: int = 0
) -> dict[str, object]:
    """An NCCL kernel as the PyTorch profiler writes it; without ``elements`` as its older versions do."""
    told = {
        "Collective name": "allreduce",
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "dtype": "BFloat16",
        "Process Group Name": group,
        "Process Group Description": "default_pg",
    }
    return {
        "ph": "X",
        "cat": "kernel",
        "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "pid": gpu,
        "tid": stream,
        "ts": start_us,
        "dur": duration_us,
        "args": {"device": gpu, "stream": stream, "grid": [8, 1, 1], **(told if elements is not None else {})},
    }
