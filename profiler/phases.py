"""`extract_phases`: from a rate series and its period to the Up and Down phases of an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from profiler.errors import BadInput
from profiler.period import Status
from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Outlier", "Phase", "TrafficProfile"]

MAX_OVERLAP_S = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One Up (communicating) or Down (computing) stretch of an iteration.

    ``width_s`` is the median over iterations, ``width_low_s`` and ``width_high_s`` the quartiles; ``rate_bps`` the
    mean rate in the phase; ``peak_bps`` the rate it reaches in the iterations in which nothing hinders it.
    """

    kind: Literal["up", "down"]
    start_s: float
    width_s: float
    rate_bps: float
    width_low_s: float | None = None
    width_high_s: float | None = None
    peak_bps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """An iteration unlike the others (a checkpoint, a stall): when it began and how long it took."""

    t_ns: int
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficProfile(Tabular):
    """What one traffic series does in an iteration, or why that cannot be said.

    ``phases`` are in order of time, begin with the first Up phase at 0 s and sum to ``period_s``. ``anchor_ns`` is
    the time (UTC epoch ns) at which such a first Up phase began. ``period_error_s`` is the standard error of
    ``period_s``; None means the period is exact. ``fold_bps`` is the folded demand, shape (n_bins,), or empty.
    """

    status: Status
    reason: str = ""
    host: str = ""
    device: str = ""
    port: str = ""
    direction: str = ""
    layer: str = ""
    period_s: float | None = None
    period_low_s: float | None = None
    period_high_s: float | None = None
    period_error_s: float | None = None
    confidence: float | None = None
    n_cycles: float | None = None
    jitter_frac: float | None = None
    other_periods_s: tuple[float, ...] = ()
    alias_periods_s: tuple[float, ...] = ()
    mean_bps: float | None = None
    peak_bps: float | None = None
    duty_frac: float | None = None
    need_more_s: float | None = None
    anchor_ns: int | None = None
    phases: tuple[Phase, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    warnings: tuple[str, ...] = ()
    fold_bps: NDArray[np.float64]
    method: str = ""
