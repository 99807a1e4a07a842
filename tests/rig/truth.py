"""The truth of a run: when each iteration of each job started, communicated and ended, told by the job itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from tests.rig.errors import RigError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["JobTruth", "Truth", "read_truth", "require_iterations", "summary_s", "write_truth"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTruth:
    """One job's iterations in UTC ns: [start, all-reduce start, all-reduce end, (start, end of the next one) …]."""

    iterations: tuple[tuple[int, ...], ...]
    pacer: Mapping[str, Any]

    def durations_s(self) -> list[float]:
        """Return each iteration's length in seconds."""
        return [(times[-1] - times[0]) / 1e9 for times in self.iterations]

    def communication_s(self) -> list[float]:
        """Return each iteration's time in all-reduces in seconds."""
        return [sum(b - a for a, b in zip(times[1::2], times[2::2], strict=True)) / 1e9 for times in self.iterations]

    def between(self, from_ns: int, to_ns: int) -> JobTruth:
        """Return the iterations that lie wholly within a time."""
        kept = tuple(times for times in self.iterations if from_ns <= times[0] and times[-1] <= to_ns)
        return JobTruth(iterations=kept, pacer=self.pacer)


Truth = dict[str, JobTruth]


def read_truth(folder: Path, jobs: Iterable[str]) -> Truth:
    """Read what rank 0 of each job wrote; a last line that was cut by the job's end is left out."""
    return {job: _read_job(folder / f"{job}-0.jsonl") for job in jobs}


def write_truth(path: Path, truth: Truth) -> None:
    """Write ``{job: [[start, all-reduce start, all-reduce end, …], …]}``."""
    document = {job: [list(times) for times in told.iterations] for job, told in truth.items()}
    path.write_text(json.dumps(document) + "\n", encoding="ascii")


def require_iterations(truth: Truth, what: str) -> None:
    """Raise `RigError` if a job made fewer than the two iterations that any statistic needs."""
    for job, told in truth.items():
        if len(told.iterations) < 2:
            raise RigError(f"{what}: job {job} made {len(told.iterations)} whole iterations; run longer")


def summary_s(durations_s: list[float]) -> dict[str, float]:
    """Return count, p50, p90 and mean of some durations."""
    deciles = quantiles(durations_s, n=10, method="inclusive")
    return {"n": len(durations_s), "p50_s": deciles[4], "p90_s": deciles[8], "mean_s": fmean(durations_s)}


def _read_job(path: Path) -> JobTruth:
    lines = path.read_text(encoding="ascii").splitlines(keepends=True) if path.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    pacer = records[-1]["pacer"] if records else {}
    return JobTruth(iterations=tuple(tuple(record["times_ns"]) for record in records), pacer=pacer)
