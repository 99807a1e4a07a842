"""`RayEngine`: shards as tasks of a Ray cluster, on Slurm, Kubernetes or this machine [1]_.

A task reads the lake's sample files and writes its result into the work folder itself, so both must be on a file system
that every node sees, and Offbeat must be installed on every node.

References
----------
.. [1] https://docs.ray.io/en/latest/ray-core/tasks.html
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.batch.outcome import Outcome, run_shard
from profiler.errors import NotHere

if TYPE_CHECKING:
    from pipeline.batch.shard import Shard
    from pipeline.batch.work import Work

__all__ = ["RayEngine"]

TASKS_PER_CPU: Final = 4
"""Tasks handed over at a time: enough that no processor waits, few enough that the scheduler's tables stay small."""
RETRIES: Final = 1
"""A task whose node or process is lost is tried once more: clusters take nodes away, and results are idempotent."""


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Tasks of the Ray cluster that ``RAY_ADDRESS`` names, else of one that is started here and ends with the run."""

    n_workers: int | None = None

    def run(self, shards: Sequence[Shard], work: Work) -> Iterator[Outcome]:
        """Yield how each shard ended, as it ends.

        Raises
        ------
        NotHere
            If Ray is not installed, or the cluster cannot be reached.
        """
        ray = _import_ray()
        # What Ray has to say of processes that die it would print amid the answer.
        with redirect_stdout(sys.stderr), _cluster(ray, self.n_workers) as n_cpus:
            task = ray.remote(run_shard).options(num_cpus=1, max_retries=RETRIES)
            waiting = sorted(shards, key=lambda shard: shard.n_samples)  # popped from its end, the longest first
            pending: dict[Any, Shard] = {}
            while waiting or pending:
                while waiting and len(pending) < TASKS_PER_CPU * n_cpus:
                    shard = waiting.pop()
                    pending[task.remote(shard, work)] = shard
                done, _ = ray.wait(list(pending))
                for reference in done:
                    yield _ended(ray, reference, pending.pop(reference))


def _ended(ray: Any, reference: object, shard: Shard) -> Outcome:  # noqa: ANN401 - a module that may be missing
    try:
        outcome: Outcome = ray.get(reference)
    except ray.exceptions.OutOfMemoryError:
        return Outcome(key=shard.key, fault="its Ray node ran out of memory; give tasks fewer processors, --workers 1")
    except ray.exceptions.RayError as error:
        lines = str(error).strip().splitlines()
        return Outcome(
            key=shard.key, fault=f"its Ray task ended with {type(error).__name__}: {lines[0] if lines else ''}"
        )
    return outcome


def _import_ray() -> Any:  # noqa: ANN401 - a module that may be missing
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        import ray
    except ImportError:
        raise NotHere("engine ray: Ray is not installed; pip install 'offbeat[ray]', or use --engine local") from None
    return ray


@contextmanager
def _cluster(ray: Any, n_workers: int | None) -> Iterator[int]:  # noqa: ANN401
    """Connect to a cluster, or start one, and yield its processors."""
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, n_workers)
    try:
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if is_ours:
            ray.shutdown()


def _connect(ray: Any, n_workers: int | None) -> None:  # noqa: ANN401
    address = os.environ.get("RAY_ADDRESS")
    local = {} if address else {"num_cpus": n_workers, "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level="error", **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the cluster at RAY_ADDRESS={address}" if address else "a cluster on this machine"
        raise NotHere(
            f"engine ray: {where} cannot be used: {error}; start one with ray start, or use --engine local"
        ) from error
