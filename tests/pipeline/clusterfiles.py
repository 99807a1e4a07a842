"""Files about clusters, written for tests: a fabric of two hosts with two rails, lists of jobs and pods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.topology import Cluster

__all__ = ["FABRIC", "pod", "put", "slurm", "weights_of", "why"]

FABRIC: Final = """# Topology file
Switch 4 "S-1" # "MF0;leaf1:MQM/U1" enhanced port 0 lid 1 lmc 0
[1] "H-1"[1](a1) # "n1 mlx5_0" lid 11 4xHDR
[2] "H-2"[1](a2) # "n1 mlx5_1" lid 12 4xHDR
[3] "S-2"[9] # "MF0;spine:MQM/U1" lid 2 4xNDR
Switch 4 "S-3" # "MF0;leaf2:MQM/U1" enhanced port 0 lid 3 lmc 0
[1] "H-3"[1](a3) # "n2 mlx5_0" lid 13 4xHDR
[2] "H-4"[1](a4) # "n2 mlx5_1" lid 14 4xHDR
[3] "S-2"[8] # "MF0;spine:MQM/U1" lid 2 4xNDR
[4] "H-5"[1](a5) # "MT4129 ConnectX7   Mellanox Technologies" lid 15 4xHDR
Switch 4 "S-2" # "MF0;spine:MQM/U1" enhanced port 0 lid 2 lmc 0
[9] "S-1"[3] # "MF0;leaf1:MQM/U1" lid 1 4xNDR
[8] "S-3"[3] # "MF0;leaf2:MQM/U1" lid 3 4xNDR
Ca 1 "H-1" # "n1 mlx5_0"
[1](a1) "S-1"[1] # lid 11 lmc 0 "MF0;leaf1:MQM/U1" lid 1 4xHDR
Ca 1 "H-2" # "n1 mlx5_1"
[1](a2) "S-1"[2] # lid 12 lmc 0 "MF0;leaf1:MQM/U1" lid 1 4xHDR
Ca 1 "H-3" # "n2 mlx5_0"
[1](a3) "S-3"[1] # lid 13 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
Ca 1 "H-4" # "n2 mlx5_1"
[1](a4) "S-3"[2] # lid 14 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
Ca 1 "H-5" # "MT4129 ConnectX7   Mellanox Technologies"
[1](a5) "S-3"[4] # lid 15 lmc 0 "MF0;leaf2:MQM/U1" lid 3 4xHDR
"""
"""Two hosts with two rails each, a leaf each, and a spine."""


def put(folder: Path, name: str, content: str | dict[str, Any]) -> Path:
    """Write a file, and return its path."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def why(cluster: Cluster) -> dict[str, str]:
    """Return the reason of each omission."""
    return {omission.what: omission.why for omission in cluster.omissions}


def weights_of(cluster: Cluster, job_id: str) -> dict[tuple[str, str], float]:
    """Return the weight of a job on each link and direction."""
    return {(path.link_id, path.direction): path.weight_frac for path in cluster.paths if path.job_id == job_id}


def slurm(*jobs: tuple[int, str, Any]) -> dict[str, Any]:
    """Return a list of jobs as of Slurm: number, nodes, state."""
    return {"jobs": [{"job_id": job_id, "nodes": nodes, "job_state": state} for job_id, nodes, state in jobs]}


def pod(name: str, node: str | None, phase: str = "Running", **labels: str) -> dict[str, Any]:
    """Return a pod; in the names of labels, __ is a slash and _ a hyphen."""
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "labels": named},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase},
    }
