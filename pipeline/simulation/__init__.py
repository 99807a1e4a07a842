"""Fluid simulation: what a plan will do to iteration times."""

from __future__ import annotations

from pipeline.simulation.calibration import Calibration, Habits, calibrate
from pipeline.simulation.comparison import Comparison, compare
from pipeline.simulation.iteration_log import read_log
from pipeline.simulation.job import Pace, SimulatedJob, Step
from pipeline.simulation.plan import Shift, read_plan
from pipeline.simulation.result import JobRun, Simulation, joined
from pipeline.simulation.run import simulate
from pipeline.simulation.traffic import Traffic, traffic_of, traffic_on

__all__ = [
    "Calibration",
    "Comparison",
    "Habits",
    "JobRun",
    "Pace",
    "Shift",
    "SimulatedJob",
    "Simulation",
    "Step",
    "Traffic",
    "calibrate",
    "compare",
    "joined",
    "read_log",
    "read_plan",
    "simulate",
    "traffic_of",
    "traffic_on",
]
