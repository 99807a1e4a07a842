"""`Bond`: jobs that keep a phase on a link, and what any shifts of theirs cost there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.board import board_of
from pipeline.compat.classes import fits_circle, seen_by

if TYPE_CHECKING:
    from pipeline.compat.board import Board
    from pipeline.ranking.fits import Crossing, Fit
    from pipeline.ranking.senders import Rhythm

__all__ = ["Bond", "bonds_of"]


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
    """

    i_crossing: int
    jobs: tuple[str, ...]
    board: Board
    best_ns: tuple[int, ...]
    least_bps: float
    weight: float

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
                )
            )
    return bonds
