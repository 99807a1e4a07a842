"""How compatible the jobs of one link are: exact kernel, n-job solver, bounds, scores and verdict."""

from __future__ import annotations

from pipeline.compat.result import Compatibility, JobShift

__all__ = ["Compatibility", "JobShift"]
