"""`lags_apart`, `at_once`, `are_blurred`, `together`: jobs whose ports do not beat at once, on a port of several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pipeline.discover.loads import Load

__all__ = ["are_blurred", "at_once", "lags_apart", "together"]

MOST_LAGS: Final = 4
"""Lags of a job that are tried on a port together, those of most ports first: more are hardly told apart."""
APART_TICKS: Final = 0.6
"""Lags nearer to one another are hardly told apart; ports that are half a tick apart are seen as one to a tenth."""
BLURRED_TICKS: Final = 0.75
"""Of ports spread over one lag so wide, half may be missed on an uplink that carries all."""


def lags_apart(lags_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.float64]:
    """Return the lags of a job's ports that can be told apart, those of most ports first.

    Parameters
    ----------
    lags_s
        How much later each port beats than the first, shape (n_ports,).
    dt_s
        A tick.
    """
    runs = _runs(lags_s, dt_s=dt_s)
    runs.sort(key=len, reverse=True)
    return np.array([run.mean() for run in runs[:MOST_LAGS]])


def are_blurred(lags_s: NDArray[np.float64], *, dt_s: float) -> bool:
    """Return whether lags are too near one another to be told apart, and too far apart for one."""
    return any(float(np.ptp(run)) > BLURRED_TICKS * dt_s for run in _runs(lags_s, dt_s=dt_s))


def at_once(lags_s: NDArray[np.float64], *, dt_s: float) -> NDArray[np.bool_]:
    """Return which lags can hardly be told from none, or from one that can hardly."""
    run = next(run for run in _runs(np.append(0.0, lags_s), dt_s=dt_s) if run[0] <= 0 <= run[-1])
    is_near: NDArray[np.bool_] = (lags_s >= run[0]) & (lags_s <= run[-1])
    return is_near


def _runs(lags_s: NDArray[np.float64], *, dt_s: float) -> list[NDArray[np.float64]]:
    """Return the lags, each with those from which it is hardly told apart."""
    ordered = np.sort(lags_s)
    return np.split(ordered, np.flatnonzero(np.diff(ordered) > APART_TICKS * dt_s) + 1)


def together(loads: Iterable[Load]) -> list[Load]:
    """Return one load a job of those at each of its lags: their sum, at the lag of most, as sure as the surest."""
    of_jobs: dict[int, list[Load]] = {}
    for load in loads:
        of_jobs.setdefault(load.i_group, []).append(load)
    return [_sum(of_job) for of_job in of_jobs.values()]


def _sum(loads: list[Load]) -> Load:
    known = [load.beat_bps for load in loads if load.beat_bps is not None]
    ranges = [load.range_bps for load in loads if load.range_bps is not None]
    return replace(
        max(loads, key=lambda load: load.weight),
        weight=sum(load.weight for load in loads),
        error=float(np.hypot.reduce([load.error for load in loads])),
        beat_bps=sum(known) if known else None,
        range_bps=(sum(low for low, _ in ranges), sum(high for _, high in ranges)) if ranges else None,
        log_chance=min(load.log_chance for load in loads),
        n_lags=len(loads),
    )
