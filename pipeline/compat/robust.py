"""`robust_excess`: what the shifts are worth when no job keeps them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.timeline import Timeline

__all__ = ["JITTER_FRAC", "robust_excess"]

JITTER_FRAC: Final = 0.05
"""Each job is off its shift by up to this fraction of its period, uniformly (DESIGN section 5)."""

N_POINTS: Final = 64


def robust_excess(timeline: Timeline, shifts_ns: Sequence[int], *, jitter_frac: float = JITTER_FRAC) -> float:
    """Return the expected mean excess with each shift off by an independent uniform error of up to ±jitter_frac T.

    Notes
    -----
    Exact over the error of the first job; over those of the others it is averaged over a Hammersley set [1]_, which
    fills their cube evenly: the answer has no random part.

    References
    ----------
    .. [1] H. Niederreiter, "Random Number Generation and Quasi-Monte Carlo Methods", 1992, section 3.
    """
    periods_ns = np.array([demand.period_ns for demand in timeline.demands])
    if periods_ns.size == 1:
        return timeline.alone(0)
    reach_ns = np.rint(jitter_frac * periods_ns).astype(np.int64)
    errors = 2 * _hammersley(N_POINTS, periods_ns.size - 1) - 1
    values = []
    for error in errors:
        moves_ns = np.rint(error * reach_ns[1:]).astype(np.int64)
        moved = [shifts_ns[0], *(np.array(shifts_ns[1:]) + moves_ns).tolist()]
        curve = timeline.curve(0, shifts_ns=moved, beside=range(1, periods_ns.size))
        values.append(curve.mean_over(shifts_ns[0] - int(reach_ns[0]), width_ns=2 * int(reach_ns[0])))
    return float(np.mean(values))


def _hammersley(n_points: int, n_dims: int) -> NDArray[np.float64]:
    """Return points in the unit cube, shape (n_points, n_dims): midpoints, then multiples of irrational steps.

    The steps are powers of a generalised golden ratio, the root of ``x^n = x + 1`` for n - 1 of them.
    """
    index = np.arange(n_points)[:, None]
    ratio = 1.5
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / n_dims)
    steps = ratio ** -np.arange(1.0, n_dims)
    return np.hstack([(index + 0.5) / n_points, (index + 0.5) * steps[None, :] % 1.0])
