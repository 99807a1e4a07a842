"""The network and its jobs: links, placements, and the links that each job's traffic takes."""

from __future__ import annotations

from pipeline.topology.cluster import Cluster, Direction, Job, Link, Omission, Path, Pattern, Placement
from pipeline.topology.knowledge import read_cluster
from pipeline.topology.routes import Router, route_rings

__all__ = [
    "Cluster",
    "Direction",
    "Job",
    "Link",
    "Omission",
    "Path",
    "Pattern",
    "Placement",
    "Router",
    "read_cluster",
    "route_rings",
]
