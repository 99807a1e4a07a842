"""Fluid simulation: what a plan will do to iteration times.

DESIGN gives one name to this room and to its function, so the module can be called: ``pipeline.simulate(jobs, …)``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from pipeline.simulate.job import Pace, SimulatedJob, Step
from pipeline.simulate.run import JobRun, Simulation, simulate

__all__ = ["JobRun", "Pace", "SimulatedJob", "Simulation", "Step", "simulate"]


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Simulation:  # noqa: ANN401 - those of `simulate`
        return simulate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
