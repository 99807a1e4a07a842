"""`edge_taper`: weights that let a recording begin and end softly, and count all the rest of it fully."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["edge_taper"]

EDGE_FRAC: Final = 0.05
"""Part of the recording at each end that is tapered. A Hann taper over all of it would keep lines apart that templates
keep apart anyway, and leave half of what the recording tells: a standard error is sqrt(35 / 18) times as large."""


def edge_taper(known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a weight for each bin: 0 where it is not known, rising as a cosine from both ends of what is [1]_.

    References
    ----------
    .. [1] J. W. Tukey, "An introduction to the calculations of numerical spectrum analysis", in "Spectral Analysis of
       Time Series" (1967).
    """
    weight = np.zeros(known.size)
    at = np.flatnonzero(known)
    if not at.size:
        return weight
    n_bins = int(at[-1] - at[0]) + 1
    from_edge = np.minimum(np.arange(n_bins), np.arange(n_bins)[::-1]) + 0.5
    weight[at[0] : at[-1] + 1] = 0.5 - 0.5 * np.cos(np.pi * np.minimum(1.0, from_edge / (EDGE_FRAC * n_bins)))
    return weight * known
