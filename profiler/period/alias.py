"""Whether samples can tell a short period from its aliases.

To a uniform sampler, f and m / dt ± f are one. But a sample is a mean over its window, and no traffic is negative: the
folded iteration is a demand averaged over a part of the period (for the true period), or over other parts and
perhaps whole turns (for its aliases). Where no demand gives what was seen, an alias is ruled out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.period.folding import Fold
from profiler.period.spectrum import alias_periods
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.signals import UniformRate

__all__ = ["CLOSE_BINS", "AliasTest", "are_irregular", "rule_out_aliases"]

CLOSE_BINS: Final = 32.0
"""Longer periods have aliases so near the sampling interval itself that hardly any demand would look the same."""
SHORT_BINS: Final = 8.0
"""Of shorter periods every alias must be ruled out; of longer ones it is enough that none fits, or as well."""
MAX_MISFIT: Final = 0.015
"""Of shorter periods the demand itself must explain the fold to this part of its variance."""
SILENT_LEVEL: Final = 0.05
SILENT_SLACK: Final = 0.1
"""Windows of an alias span all but f of its iteration: not many more than that part of them can be without traffic."""
CLEAR_FACTOR: Final = 4.0
CLEAR_MISFIT: Final = 0.02
"""An alias is ruled out if its misfit is above this, and so many times that of the period itself."""
AS_WELL_FACTOR: Final = 1.25
MAX_FLOOR_FRAC: Final = 0.3
"""Traffic that never falls below this part of its peak has windows that each hold whole iterations, or a base load."""
MAX_GATHERED: Final = 0.1
"""An alias that shows with less than this part of its height, a hundredth of its power, draws no line of its own."""
N_PARTS: Final = 48
N_DEMANDS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasTest:
    """Aliases of a period, longest first, and whether they are ruled out; ``misfit`` is that of the period itself."""

    alias_periods_s: tuple[float, ...]
    ruled_out: bool
    misfit: float


def rule_out_aliases(uniform: UniformRate, starts_s: NDArray[np.float64], *, period_s: float) -> AliasTest:
    """Return whether a series' windows rule out the aliases of a period.

    Parameters
    ----------
    uniform
        The rate on its uniform grid.
    starts_s
        Starts of the iterations, seconds after the series begins, shape (n_starts,).
    period_s
        The period, at most `CLOSE_BINS` windows.

    Notes
    -----
    With w windows a period, a demand d >= 0 over one turn gives the fold ``F(p) = mean of d over [p, p + w)``. An alias
    at ``m ± f`` runs through the same phases (backwards for ``m - f``) with a window of ``m ± f`` turns. Each is fitted
    by non-negative least squares [1]_; the misfit is the residual over the fold's variance.

    References
    ----------
    .. [1] C. L. Lawson, R. J. Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    freq = uniform.dt_s / period_s
    rate_bps = uniform.rate_bps[uniform.known]
    low, high = np.quantile(rate_bps, [0.05, 0.95])
    times_s = np.arange(uniform.rate_bps.size, dtype=np.float64) * uniform.dt_s
    fold = Fold.of(starts_s, times_s, period_s=period_s, n_parts=N_PARTS)
    known = uniform.known.astype(np.float64)
    counts, means = fold.counts(known), fold.means(uniform.rate_bps, known)
    misfit = _misfit(means, counts, window_cycles=freq)
    aliases = [
        _misfit(
            means[::-1] if sign < 0 else means, counts[::-1] if sign < 0 else counts, window_cycles=turns + sign * freq
        )
        for turns in (1, 2)
        for sign in (-1, 1)
    ]
    silent_frac = float(np.mean(rate_bps <= SILENT_LEVEL * high))
    if silent_frac > freq + SILENT_SLACK:
        clear = misfit < MAX_MISFIT or period_s >= SHORT_BINS * uniform.dt_s
    elif period_s < SHORT_BINS * uniform.dt_s:
        is_explained = misfit < MAX_MISFIT and low < MAX_FLOOR_FRAC * high
        clear = is_explained and min(aliases) > max(CLEAR_MISFIT, CLEAR_FACTOR * misfit)
    else:
        clear = min(aliases) > max(CLEAR_MISFIT, AS_WELL_FACTOR * misfit)
    return AliasTest(
        alias_periods_s=alias_periods(1 / period_s, dt_s=uniform.dt_s), ruled_out=bool(clear), misfit=misfit
    )


def are_irregular(edges_ns: NDArray[np.int64], *, dt_s: float) -> bool:
    """Return whether windows begin at times so irregular that no alias of their typical width keeps its phase.

    Parameters
    ----------
    edges_ns
        Ends of the windows, shape (n_edges,).
    dt_s
        Their typical width in seconds.

    Notes
    -----
    An alias at ``m / dt ± f`` shows at ``f`` with the mean resultant length of the windows' ends at ``m / dt``: 1 to
    even ones, and about ``1 / sqrt(n)`` to random ones.
    """
    turns = 2j * np.pi * (edges_ns - edges_ns[0]) / (dt_s * NS_PER_S)
    gathered = max(abs(np.exp(m * turns).mean()) for m in (1, 2))
    return bool(gathered < MAX_GATHERED)


def _misfit(means: NDArray[np.float64], counts: NDArray[np.float64], *, window_cycles: float) -> float:
    """Return how badly the best demand, averaged over a window of so many cycles, gives the folded means."""
    from scipy.optimize import nnls  # takes 0.3 s to import, and most series need none

    seen = counts > 0
    weight = np.sqrt(counts[seen])
    spread = np.sum(counts[seen] * (means[seen] - np.average(means[seen], weights=counts[seen])) ** 2)
    if spread <= 0:
        return 1.0
    design = _averages(window_cycles)[seen]
    _, residual = nnls(design * weight[:, None], means[seen] * weight)
    return float(residual**2 / spread)


def _averages(window_cycles: float) -> NDArray[np.float64]:
    """Return the part of each window, begun in the middle of each fold part, that lies in each demand part."""
    starts = (np.arange(N_PARTS) + 0.5)[:, None] / N_PARTS
    edges = np.arange(N_DEMANDS + 1) / N_DEMANDS
    turns = np.floor(window_cycles)
    part = window_cycles - turns
    overlap = np.full((N_PARTS, N_DEMANDS), turns / N_DEMANDS)
    for turn in (0, 1):
        first = np.maximum(starts, edges[:-1] + turn)
        last = np.minimum(starts + part, edges[1:] + turn)
        overlap += np.maximum(last - first, 0.0)
    return overlap / window_cycles
