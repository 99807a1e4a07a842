"""A cluster of a thousand hosts and a hundred switches: how long until its jobs are placed and routed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from pipeline.topology import read_cluster

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1
N_HOSTS, N_LEAVES, N_SPINES, N_JOBS, N_OF_JOB = 1_000, 64, 36, 500, 16
MAX_S: Final = {1: 15.0, 8: 45.0}
"""Processor seconds by rails, several times what is measured: 2.3 s and 7.4 s."""


def write_cluster(folder: Path, *, n_rails: int, pattern: str) -> tuple[Path, Path]:
    """Write tables of links and jobs: each rail of a host at a leaf of its own, each leaf at every spine."""
    rng = np.random.default_rng(SEED)
    rows = ["link,a,b,capacity,tier"]
    for host in range(N_HOSTS):
        for rail in range(n_rails):
            leaf = (host // (N_HOSTS * n_rails // N_LEAVES) * n_rails + rail) % N_LEAVES
            rows.append(f"h{host}-{rail},gpu{host:04d}:mlx5_{rail}/1,leaf{leaf}:p{host}-{rail},400Gbps,host")
    rows += [f"l{i}s{j},leaf{i}:u{j},spine{j}:d{i},800Gbps,leaf" for i in range(N_LEAVES) for j in range(N_SPINES)]
    jobs = ["job,hosts,pattern"]
    for job in range(N_JOBS):
        hosts = " ".join(f"gpu{host:04d}" for host in rng.choice(N_HOSTS, N_OF_JOB, replace=False))
        jobs.append(f"{job},{hosts},{pattern}")
    paths = folder / "links.csv", folder / "jobs.csv"
    for path, lines in zip(paths, (rows, jobs), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


@pytest.mark.parametrize(("n_rails", "pattern"), [(1, "ring"), (8, "ring"), (8, "all_to_all")])
def test_a_thousand_hosts_are_placed_and_routed_in_seconds(tmp_path: Path, n_rails: int, pattern: str) -> None:
    files = write_cluster(tmp_path, n_rails=n_rails, pattern=pattern)

    start_s = time.process_time()
    cluster = read_cluster(*files)
    spent_s = time.process_time() - start_s

    counts = f"{len(cluster.links)} links, {len(cluster.placements)} ranks, {len(cluster.paths)} paths"
    print(f"\n{n_rails} rails, {pattern}: {counts} in {spent_s:.1f} s of the processor")  # noqa: T201
    assert (len(cluster.jobs), cluster.omissions) == (N_JOBS, ())
    assert spent_s < MAX_S[n_rails]
