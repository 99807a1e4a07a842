"""`lags_apart`, `together`: jobs whose ports do not beat at once, on a port that carries several of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover.matches import CLOCK_TICKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pipeline.discover.loads import Load

__all__ = ["lags_apart", "together"]

MOST_LAGS: Final = 4
"""Lags of a job that are tried on a port together, those of most ports first: more are hardly told apart."""


def lags_apart(lags_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return the lags of a job's ports that differ by more than clocks of counters do, those of most ports first.

    Parameters
    ----------
    lags_s
        How much later each port beats than the first, shape (n_ports,).
    dt_s
        A tick.
    """
    ordered = np.sort(lags_s)
    runs = np.split(ordered, np.flatnonzero(np.diff(ordered) > CLOCK_TICKS * dt_s) + 1)
    runs.sort(key=len, reverse=True)
    return np.array([run.mean() for run in runs[:MOST_LAGS]])


def together(loads: Iterable[Load]) -> list[Load]:
    """Return one load a job of those at each of its lags: their sum, at the lag of most, as sure as the surest."""
    of_jobs: dict[int, list[Load]] = {}
    for load in loads:
        of_jobs.setdefault(load.i_group, []).append(load)
    return [_sum(of_job) for of_job in of_jobs.values()]


def _sum(loads: list[Load]) -> Load:
    known = [load.beat_bps for load in loads if load.beat_bps is not None]
    return replace(
        max(loads, key=lambda load: load.weight),
        weight=sum(load.weight for load in loads),
        error=float(np.hypot.reduce([load.error for load in loads])),
        beat_bps=sum(known) if known else None,
        log_chance=min(load.log_chance for load in loads),
        n_lags=len(loads),
    )
