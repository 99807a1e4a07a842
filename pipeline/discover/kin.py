"""`are_kin`: ports of one job, told from those of a second that is nearly of its period and drifts from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover.twins import coherence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pipeline.discover.spectra import Spectra
    from pipeline.discover.templates import Template

__all__ = ["are_kin"]

MIN_COHERENCE: Final = 0.6
"""Ports of two jobs that drift apart by a few ticks are coherent by 0.45 at most; so are ports in much noise."""
TIMES_NEARER: Final = 5.0
"""Ports of one job lack so many times less of full coherence than they lack with those of another: 11 and more seen."""


def are_kin(
    template: Template, spectra: Spectra, *, rows: NDArray[np.int64], units: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which ports are of the first's job, shape (n_rows,).

    Parameters
    ----------
    template
        What they do.
    spectra
        Of all ports.
    rows
        The ports, shape (n_rows,).
    units
        Name of each port, whichever direction: the two directions of one share what its host does besides.

    Notes
    -----
    Coherence tells whether two ports drift apart, whatever their shapes (`pipeline.discover.twins`). A port is of
    another job where both it and the first have a port each from which they drift far less than from one another.
    """
    white = spectra.white[np.ix_(rows, template.skirts_at)]
    of = np.array(units)
    lacks = 1 - coherence(white[0], white, at=template.skirts_at)
    are_of_first = np.ones(rows.size, dtype=np.bool_)
    far = np.flatnonzero(lacks > 1 - MIN_COHERENCE)
    own_lacks = float(np.min(lacks[of != of[0]], initial=1.0))
    for k in far.tolist():
        strangers = far[of[far] != of[k]]
        its = 1 - coherence(white[k], white[strangers], at=template.skirts_at)
        nearest = max(own_lacks, float(np.min(its, initial=1.0)))
        are_of_first[k] = TIMES_NEARER * nearest > lacks[k]
    return are_of_first
