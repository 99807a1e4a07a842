"""`commensurate_classes`: jobs whose phases matter to each other, grouped as far as a common circle can be laid out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from pipeline.compat.strangers import Band, fits_circle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.compat.demand import Demand

__all__ = ["commensurate_classes"]

MATERIAL_FRAC: Final = 0.01
"""Classes are one if their phase can matter by more than this share of the highest peak: of two on/off jobs, if one
comes round to the other within some twenty iterations. Of others the gap says what their phase can matter."""


def commensurate_classes(demands: Sequence[Demand], *, pool: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Group the demands of a pool whose phases matter to each other and whose common circle has few enough edges.

    Two alone always are one class: their exact kernel needs no common circle.

    Notes
    -----
    Jobs of one period first, then those two classes whose phase can matter most, again and again. O(n²) for n periods.
    """
    if len(pool) <= 2:
        return (tuple(pool),)
    classes = _of_one_period(demands, pool)
    if len(classes) > 1:
        limit_bps = MATERIAL_FRAC * max(demands[i].peak_bps for i in pool)
        classes = _merged(classes, demands=demands, limit_bps=limit_bps)
    return tuple(sorted(tuple(sorted(members)) for members in classes))


def _of_one_period(demands: Sequence[Demand], pool: Sequence[int]) -> list[list[int]]:
    """Group jobs of the same period, as many as a circle holds."""
    classes: list[list[int]] = []
    order = sorted(pool, key=lambda i: (demands[i].period_ns, i))
    for _, alike in groupby(order, key=lambda i: demands[i].period_ns):
        classes.append([])
        for i_job in alike:
            if not fits_circle([demands[i] for i in (*classes[-1], i_job)]) and classes[-1]:
                classes.append([])
            classes[-1].append(i_job)
    return classes


def _merged(classes: Sequence[list[int]], *, demands: Sequence[Demand], limit_bps: float) -> list[list[int]]:
    """Join the two classes whose phase matters most, while it matters and their circle is short."""
    found = list(classes)
    phases = _Phases.of([Band.of(demands, members) for members in found])
    while (pair := phases.most(above_bps=limit_bps)) is not None:
        i, j = pair
        union = [*found[i], *found[j]]
        if fits_circle([demands[k] for k in union]):
            found[i], found[j] = union, []
            phases.join(i, j)
        else:
            phases.part(i, j)
    return [members for members in found if members]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Phases:
    """How much the phase between each two of many bands can matter; see `pipeline.compat.strangers.most_between`.

    Parameters
    ----------
    length_ns, clock_ns, rise_bps_per_ns
        Of each band; shape (n_bands,).
    most_bps
        Of each two; 0 where they are not to be joined; shape (n_bands, n_bands).
    """

    length_ns: NDArray[np.int64]
    clock_ns: NDArray[np.int64]
    rise_bps_per_ns: NDArray[np.float64]
    most_bps: NDArray[np.float64]

    @classmethod
    def of(cls, bands: Sequence[Band]) -> Self:
        """Return the phases of some bands."""
        phases = cls(
            length_ns=np.array([band.length_ns for band in bands], dtype=np.int64),
            clock_ns=np.array([band.clock_ns for band in bands], dtype=np.int64),
            rise_bps_per_ns=np.array([band.rise_bps_per_ns for band in bands]),
            most_bps=np.zeros((len(bands), len(bands))),
        )
        for i in range(len(bands)):
            phases.most_bps[i] = phases.row(i)
        return phases

    def row(self, i: int) -> NDArray[np.float64]:
        """Return how much the phase of one band can matter to each other one."""
        common_ns = np.gcd(self.length_ns[i], self.length_ns)
        least_rise = np.minimum(self.rise_bps_per_ns[i], self.rise_bps_per_ns)
        matters = common_ns > np.gcd(self.clock_ns[i], self.clock_ns)
        matters[i] = False
        return np.where(matters, common_ns / 4 * least_rise, 0.0)

    def most(self, *, above_bps: float) -> tuple[int, int] | None:
        """Return the two bands whose phase can matter most, None if not by so much."""
        i, j = divmod(int(self.most_bps.argmax()), self.most_bps.shape[1])
        return (i, j) if self.most_bps[i, j] > above_bps else None

    def join(self, i: int, j: int) -> None:
        """Make one band of two, in the first one's place."""
        self.length_ns[i] = math.lcm(int(self.length_ns[i]), int(self.length_ns[j]))
        self.clock_ns[i] = math.gcd(int(self.clock_ns[i]), int(self.clock_ns[j]))
        self.rise_bps_per_ns[i] += self.rise_bps_per_ns[j]
        self.rise_bps_per_ns[j] = 0.0
        self.most_bps[i] = self.most_bps[:, i] = self.row(i)
        self.part(i, j)
        self.most_bps[j] = self.most_bps[:, j] = 0.0

    def part(self, i: int, j: int) -> None:
        """Leave two bands apart."""
        self.most_bps[i, j] = self.most_bps[j, i] = 0.0
