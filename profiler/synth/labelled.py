"""`Labelled`: a series with all that is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from profiler.synth.reads import T0_NS, Reads
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from profiler.signals import RateSeries

__all__ = ["Labelled", "TrueStatus", "label"]

TrueStatus = Literal["periodic", "aperiodic", "constant", "idle", "undersampled"]
"""What can be true of traffic: the statuses that do not speak of a detector's needs."""

HALF: Final = 0.5 - 1e-6
"""Least part of an Up window that lies in bursts: half of it, but for the rounding of times."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """A series and its truth. Times in seconds count from the series' first edge.

    Parameters
    ----------
    series
        The rate that a detector is given.
    reads
        The counter's reads that it was made from.
    status
        What is true of the traffic as it was read: ``undersampled`` has a period that the reads cannot show.
    periods_s
        Of each job, the largest first: the median length of the iterations that were recorded whole.
    up_by_job_s
        Of each job, [start, end) of every burst, each of shape (n_bursts, 2); traffic without a period may have bursts
        too.
    outliers_s
        Starts of the checkpoints and stalls, shape (n_outliers,).
    """

    series: RateSeries
    reads: Reads
    status: TrueStatus
    periods_s: tuple[float, ...] = ()
    up_by_job_s: tuple[NDArray[np.float64], ...] = ()
    outliers_s: NDArray[np.float64]

    def __post_init__(self) -> None:
        for array in (*self.up_by_job_s, self.outliers_s):
            array.setflags(write=False)

    @property
    def period_s(self) -> float | None:
        """The (largest job's) period, None where there is none."""
        return self.periods_s[0] if self.periods_s else None

    @property
    def up_s(self) -> NDArray[np.float64]:
        """The bursts of all jobs in order of their starts, shape (n_bursts, 2)."""
        bursts_s = np.concatenate([np.zeros((0, 2)), *self.up_by_job_s])
        return bursts_s[np.argsort(bursts_s[:, 0], kind="stable")]

    def up_mask(self, edges_ns: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Return which windows are Up: at least half of the window lies in a burst of any job.

        Parameters
        ----------
        edges_ns
            Ends of the windows, UTC epoch ns, increasing, shape (n_windows + 1,); those of the series if None.

        Returns
        -------
        ndarray of bool, shape (n_windows,)
        """
        edges = self.series.edges_ns if edges_ns is None else edges_ns
        if edges.size < 2:
            return np.zeros(0, dtype=bool)
        edges_s = (edges - self.series.edges_ns[0]) / NS_PER_S
        up_s = np.diff(_time_in(_union(self.up_s), edges_s))
        mask: NDArray[np.bool_] = up_s >= HALF * np.diff(edges_s)
        return mask


def label(
    series: RateSeries,
    *,
    reads: Reads,
    status: TrueStatus,
    periods_s: Sequence[float] = (),
    bursts_s: Sequence[NDArray[np.float64]] = (),
    outliers_s: Sequence[float] | NDArray[np.float64] = (),
) -> Labelled:
    """Return a series with its truth, given in seconds of the traffic's own time, as the series' own time has it."""
    first_s = float(series.edges_ns[0] - T0_NS) / NS_PER_S if series.n_samples else 0.0
    outliers = np.array(outliers_s, dtype=np.float64) - first_s
    return Labelled(
        series=series,
        reads=reads,
        status=status,
        periods_s=tuple(periods_s),
        up_by_job_s=tuple(_recorded(bursts - first_s, duration_s=series.duration_s) for bursts in bursts_s),
        outliers_s=outliers[(outliers >= 0) & (outliers < series.duration_s)],
    )


def _recorded(bursts_s: NDArray[np.float64], *, duration_s: float) -> NDArray[np.float64]:
    inside = (bursts_s[:, 1] > 0) & (bursts_s[:, 0] < duration_s)
    return np.clip(bursts_s[inside], 0.0, duration_s)


def _union(bursts_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bursts in order of their starts as disjoint intervals."""
    if not bursts_s.size:
        return bursts_s
    ends_s = np.maximum.accumulate(bursts_s[:, 1])
    first = np.append(True, bursts_s[1:, 0] > ends_s[:-1])
    return np.stack([bursts_s[first, 0], ends_s[np.append(np.flatnonzero(first)[1:] - 1, ends_s.size - 1)]], axis=1)


def _time_in(bursts_s: NDArray[np.float64], t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time spent in disjoint intervals by each instant."""
    if not bursts_s.size:
        return np.zeros(t_s.size)
    spent_s = np.stack([np.zeros(len(bursts_s)), bursts_s[:, 1] - bursts_s[:, 0]], axis=1).ravel()
    time_in_s: NDArray[np.float64] = np.interp(t_s, bursts_s.ravel(), np.cumsum(spent_s))
    return time_in_s
