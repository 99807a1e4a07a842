"""`Bond`: jobs that keep a phase on a link, and what any shifts of theirs cost there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.compat.board import board_of
from pipeline.compat.classes import fits_circle, seen_by
from pipeline.compat.compiled import entry
from pipeline.compat.kernel import ShiftCurve
from pipeline.compat.kinks import fill_kinks
from pipeline.compat.layout import job_steps, lay_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.board import Board
    from pipeline.ranking.fits import Crossing, Fit
    from pipeline.ranking.senders import Rhythm

__all__ = ["Bond", "bonds_of", "values_at"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bond:
    """A class of jobs on a crossing.

    Parameters
    ----------
    i_crossing
        Which crossing.
    jobs
        Two or more.
    board
        Their demands on their common circle, all other traffic at any phase.
    best_ns, least_bps
        The best shifts for this crossing alone, and its mean excess there.
    weight
        Makes excess a loss of score, summed over the links of the crossing.
    scale_bps
        Size of the rates that are added, against which rounding is judged.
    """

    i_crossing: int
    jobs: tuple[str, ...]
    board: Board
    best_ns: tuple[int, ...]
    least_bps: float
    weight: float
    scale_bps: float

    def curve(self, job: str, *, shifts_ns: Mapping[str, int]) -> ShiftCurve:
        """Return the mean excess against the shift of one job, the others standing still."""
        at_ns = np.array([shifts_ns[name] for name in self.jobs], dtype=np.int64)
        i_job = self.jobs.index(job)
        beside = np.arange(at_ns.size) != i_job
        n = _fill_curve(self.board, at_ns, i_job, beside)
        return ShiftCurve(
            period_ns=int(self.board.jobs.period_ns[i_job]),
            kinks_ns=self.board.kinks.shift_ns[:n].copy(),
            excess_bps=self.board.kinks.excess_bps[:n].copy(),
            scale_bps=self.scale_bps,
        )

    def excess_bps(self, shifts_ns: Mapping[str, int]) -> float:
        """Return the mean excess at some shifts."""
        at_ns = np.array([shifts_ns[self.jobs[0]]], dtype=np.int64)
        return float(values_at(self.curve(self.jobs[0], shifts_ns=shifts_ns), at_ns)[0])

    def loss(self, excess_bps: float) -> float:
        """Return by how much the score, summed over the links, lies below its own best at some excess."""
        return self.weight * max(0.0, excess_bps - self.least_bps)

    def moved(self, job: str, *, to_ns: int, periods_ns: Mapping[str, int]) -> dict[str, int]:
        """Return the best shifts, moved together so that one job has a given one."""
        move_ns = to_ns - self.best_ns[self.jobs.index(job)]
        return {
            name: (best_ns + move_ns) % periods_ns[name] for name, best_ns in zip(self.jobs, self.best_ns, strict=True)
        }


def bonds_of(
    i_crossing: int,
    crossing: Crossing,
    *,
    fit: Fit,
    rhythms: Mapping[str, Rhythm],
    shifts_ns: Mapping[str, int] | None = None,
) -> list[Bond]:
    """Return a bond for each class of two or more jobs of a crossing.

    Parameters
    ----------
    i_crossing, crossing, fit
        The crossing, and how its jobs fit by themselves.
    rhythms
        Of all jobs, on clocks they have in common.
    shifts_ns
        At which the jobs of one class see those of another; by default those that fit best here.
    """
    load_frac = dict(crossing.load_frac)
    own = [rhythms[job].loaded(load_frac[job]).demand for job in fit.jobs]
    at_ns = fit.shifts_ns if shifts_ns is None else [shifts_ns[job] for job in fit.jobs]
    bonds = []
    for i_class, members in enumerate(fit.classes):
        demands = [own[i] for i in members]
        if len(members) > 1 and fit.is_contended and fits_circle(demands):
            seen = seen_by(i_class, fit.classes, demands=own, shifts=at_ns, excess=fit.excess)
            bonds.append(
                Bond(
                    i_crossing=i_crossing,
                    jobs=tuple(fit.jobs[i] for i in members),
                    board=board_of(demands, excess=seen, window_ns=None),
                    best_ns=tuple(fit.shifts_ns[i] for i in members),
                    least_bps=fit.excess_bps,
                    weight=len(crossing.places) / crossing.capacity_bps,
                    scale_bps=sum(demand.peak_bps for demand in demands),
                )
            )
    return bonds


def values_at(curve: ShiftCurve, at_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the excess at increasing shifts within the period: what `ShiftCurve.at` does, without its overhead."""
    values_bps = np.empty(at_ns.size)
    _fill_values(curve.kinks_ns, curve.excess_bps, curve.period_ns, at_ns, values_bps)
    return values_bps


@entry
def _fill_values(
    kinks_ns: NDArray[np.int64],
    excess_bps: NDArray[np.float64],
    period_ns: int,
    at_ns: NDArray[np.int64],
    values_bps: NDArray[np.float64],
) -> None:
    n, k = kinks_ns.size, 0
    for i in range(at_ns.size):
        while k < n and kinks_ns[k] <= at_ns[i]:
            k += 1
        before, after = (k - 1) % n, k % n
        begin_ns = kinks_ns[before] if k > 0 else kinks_ns[before] - period_ns
        end_ns = kinks_ns[after] if k < n else kinks_ns[after] + period_ns
        part = (at_ns[i] - begin_ns) / (end_ns - begin_ns)
        values_bps[i] = excess_bps[before] + part * (excess_bps[after] - excess_bps[before])


@entry
def _fill_curve(board: Board, shifts_ns: NDArray[np.int64], j: int, beside: NDArray[np.bool_]) -> int:
    """Fill the board's kinks with the excess against the shift of one job; return how many there are."""
    fixed = lay_out(board, shifts_ns, beside)
    moving = job_steps(board.jobs, j)
    return int(fill_kinks(fixed, moving, (moving.period_ns, float(board.length_ns), False), board.cost, board.kinks))
