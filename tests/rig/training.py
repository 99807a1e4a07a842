"""What one rank of a job does: compute, wait for the slot, all-reduce, and write down when."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from profiler.pacer import Pacer
from tests.rig.spec import JobSpec

__all__ = ["N_RANKS", "Rank", "train"]

N_RANKS: Final = 2
_PORT: Final = 29_500
_POLL_S: Final = 0.002
_WARM_UPS: Final = 3
"""All-reduces before the start: they open the connections' windows, as long training would have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One rank's orders.

    ``folder`` is where it writes ``<job>-<rank>.ready`` once connected, waits for ``go`` (the common start in ns), and,
    as rank 0, appends a line an iteration to ``<job>.jsonl``.
    """

    job: JobSpec
    rank: int
    namespace: str
    master: str
    folder: Path

    def to_dict(self) -> dict[str, Any]:
        """Return the orders as JSON-ready values."""
        values = {name: getattr(self, name) for name in ("rank", "namespace", "master")}
        return {**values, "job": self.job.to_dict(), "folder": str(self.folder)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Rank:
        """Return the orders that `to_dict` described."""
        return cls(**{**values, "job": JobSpec.from_dict(values["job"]), "folder": Path(values["folder"])})


def train(rank: Rank) -> None:
    """Train for ever: the rig ends its jobs by killing them, so what is written is whole after every iteration."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    dist.init_process_group("gloo", init_method=f"tcp://{rank.master}:{_PORT}", rank=rank.rank, world_size=N_RANKS)
    gradients = [torch.zeros(step.allreduce_bytes // 4) for step in rank.job.steps]
    for _ in range(_WARM_UPS):
        dist.all_reduce(gradients[0])
    pacer = rank.job.pace.to_pacer(rank.job.name) if rank.job.pace else Pacer.off()
    computes_s = _compute_times_s(rank.job)
    _start_together(rank)
    with (rank.folder / f"{rank.job.name}-{rank.rank}.jsonl").open("w", encoding="ascii", buffering=1) as log:
        while True:
            times_ns = [time.time_ns()]
            for i_step, gradient in enumerate(gradients):
                time.sleep(next(computes_s))
                if i_step == 0:
                    pacer.wait()
                times_ns.append(time.time_ns())
                dist.all_reduce(gradient)
                times_ns.append(time.time_ns())
            log.write(json.dumps({"times_ns": times_ns, "pacer": pacer.statistics()}) + "\n")


def _start_together(rank: Rank) -> None:
    (rank.folder / f"{rank.job.name}-{rank.rank}.ready").touch()
    go = rank.folder / "go"
    while not go.exists():
        time.sleep(_POLL_S)
    start_ns = int(go.read_text(encoding="ascii")) + round(rank.job.offset_s * 1e9)
    time.sleep(max(0, start_ns - time.time_ns()) / 1e9)


def _compute_times_s(job: JobSpec) -> Iterator[float]:
    # Both ranks draw the same times, as equal GPUs on equal batches would, so that rank 0's log is the job's.
    draws = random.Random(f"{job.name} {job.seed}")  # noqa: S311 - not cryptography
    while True:
        for step in job.steps:
            yield step.compute_s * max(0.1, draws.gauss(1.0, job.jitter_frac))
