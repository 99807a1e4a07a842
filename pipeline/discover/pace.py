"""`wander_s`: how far a port strays from an even pace, without which lags that are kept tell of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.ports.port import ready
from profiler.ports.timing import fit_period

if TYPE_CHECKING:
    from pipeline.discover.ports import SeenPort

__all__ = ["wander_s"]

MOST_HARMONICS: Final = 12
"""More make the pace hardly clearer."""


def wander_s(port: SeenPort, *, period_s: float) -> float:
    """Return the scatter about an even pace of when a port's beat comes, in seconds; 0 if it cannot be followed."""
    n_harmonics = min(MOST_HARMONICS, int(0.5 * period_s / port.dt_s))
    if n_harmonics < 1:
        return 0.0
    ports = ready([port.to_series()], origin_ns=0)
    fitted = fit_period(ports, freq_hz=1 / period_s, orders=np.arange(1, n_harmonics + 1))
    return 0.0 if fitted is None else fitted.scatter_frac * fitted.period_s
