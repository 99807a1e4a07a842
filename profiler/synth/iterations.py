"""`Iterations`: when each iteration of a job starts, how long it takes, and the traffic of its bursts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from profiler.errors import UsageError
from profiler.synth.traffic import Traffic

if TYPE_CHECKING:
    from profiler.synth.bursts import Burst

__all__ = ["Iterations", "draw_iterations"]

WIDEST_JITTER: Final = 2.5
"""Standard deviations at which an iteration's jitter is cut off, so that no iteration outruns its own bursts."""
SPARE: Final = 1.5
"""Iterations drawn over those that fit, since they may turn out shorter."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterations:
    """The iterations of one job.

    ``period_s`` is the nominal length. ``starts_s`` and ``lengths_s`` are those of each iteration, in seconds, shape
    (n_iterations,); ``bursts_from_s`` is the instant that a burst's fractions count from: compute that takes longer
    delays the bursts of its iteration.
    """

    period_s: float
    starts_s: NDArray[np.float64]
    lengths_s: NDArray[np.float64]
    bursts_from_s: NDArray[np.float64]

    def traffic(self, bursts: Sequence[Burst]) -> Traffic:
        """Return the bursts of all iterations."""
        fracs = np.array([[burst.start_frac, burst.end_frac] for burst in bursts]).reshape(-1, 2)
        edges_s = self.bursts_from_s[:, None, None] + self.period_s * fracs[None]
        rates_bps = np.tile([burst.rate_bps for burst in bursts], self.starts_s.size)
        return Traffic(edges_s=edges_s.reshape(-1, 2), rate_bps=rates_bps)

    def delayed(self, i_iterations: NDArray[np.intp], *, by_s: NDArray[np.float64]) -> Self:
        """Return the iterations when those of these indices take longer after their bursts; all later ones shift."""
        longer_s = np.zeros(self.starts_s.size)
        longer_s[i_iterations] = by_s
        shifts_s = np.concatenate(([0.0], np.cumsum(longer_s)[:-1]))
        return type(self)(
            period_s=self.period_s,
            starts_s=self.starts_s + shifts_s,
            lengths_s=self.lengths_s + longer_s,
            bursts_from_s=self.bursts_from_s + shifts_s,
        )

    def whole(self, duration_s: float) -> NDArray[np.intp]:
        """Return the indices of the iterations that lie wholly between 0 and ``duration_s``."""
        return np.flatnonzero((self.starts_s >= 0) & (self.starts_s + self.lengths_s <= duration_s))

    def median_s(self, duration_s: float) -> float:
        """Return the median length of the iterations recorded whole; of all, if none is."""
        recorded = self.lengths_s[self.whole(duration_s)]
        return float(np.median(recorded if recorded.size else self.lengths_s))


def draw_iterations(
    rng: np.random.Generator,
    *,
    period_s: float,
    duration_s: float,
    jitter_frac: float = 0.0,
    drift_frac: float = 0.0,
) -> Iterations:
    """Draw the iterations of a job, the first of which may have begun before time 0.

    Parameters
    ----------
    rng
        Source of randomness.
    period_s
        Nominal iteration period in seconds.
    duration_s
        Time to fill, in seconds.
    jitter_frac
        Standard deviation of an iteration's length over ``period_s``; it stretches the time before the first burst,
        and accumulates, as a compute phase's jitter does.
    drift_frac
        By how much the nominal length grows from time 0 to ``duration_s``, over ``period_s``; half of it lies below.

    Raises
    ------
    UsageError
        If a time is not positive, or jitter is negative.

    Examples
    --------
    >>> made = draw_iterations(np.random.default_rng(1), period_s=0.5, duration_s=10.0)
    >>> made.whole(10.0).size, made.median_s(10.0)
    (19, 0.5)
    """
    if not (period_s > 0 and duration_s > 0 and jitter_frac >= 0):
        raise UsageError("draw_iterations: period_s and duration_s must be positive, jitter_frac not negative")
    n_iterations = int(np.ceil(duration_s / period_s * SPARE)) + 4
    jitter = jitter_frac * np.clip(rng.standard_normal(n_iterations), -WIDEST_JITTER, WIDEST_JITTER)
    drift = drift_frac * (np.arange(n_iterations) * period_s / duration_s - 0.5)
    lengths_s = period_s * (1 + jitter + drift)
    starts_s = np.concatenate(([0.0], np.cumsum(lengths_s)))[:-1] - rng.uniform(0, period_s)
    return Iterations(
        period_s=period_s, starts_s=starts_s, lengths_s=lengths_s, bursts_from_s=starts_s + lengths_s - period_s
    )
