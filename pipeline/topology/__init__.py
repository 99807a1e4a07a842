"""The network and its jobs: links, placements, and the links that each job's traffic takes."""

from __future__ import annotations

from pipeline.topology.cluster import Cluster, Direction, Job, Link, Path, Placement
from pipeline.topology.clusterfile import read_cluster
from pipeline.topology.routes import Router, route_rings

__all__ = ["Cluster", "Direction", "Job", "Link", "Path", "Placement", "Router", "read_cluster", "route_rings"]
