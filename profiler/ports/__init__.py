"""Ports of one job evaluated together, and which jobs a port carries."""

from __future__ import annotations

from profiler.ports.aliases import AliasPeriod
from profiler.ports.carried import CarriedJob, carried_jobs
from profiler.ports.detect import detect_together
from profiler.ports.estimate import PortPhase, PortsEstimate

__all__ = ["AliasPeriod", "CarriedJob", "PortPhase", "PortsEstimate", "carried_jobs", "detect_together"]
