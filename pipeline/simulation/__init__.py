"""Fluid simulation: what a plan will do to iteration times."""

from __future__ import annotations

from pipeline.simulation.job import Pace, SimulatedJob, Step
from pipeline.simulation.result import JobRun, Simulation
from pipeline.simulation.run import simulate

__all__ = ["JobRun", "Pace", "SimulatedJob", "Simulation", "Step", "simulate"]
