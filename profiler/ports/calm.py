"""`calmed`: what templates leave of a port, with its outbursts cut down to what it mostly does.

An uplink moves a few whole flows at full rate now and then, ten standard deviations above what it mostly moves. In
least squares a few such seconds count more than all others together; cut down to the usual they count as one each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["calmed"]

HUBER: Final = 1.345
"""Standard deviations beyond which a value is cut down: in normal noise that costs a twentieth of what it tells."""
MAD_SIGMA: Final = 1.4826
"""Standard deviation over median absolute deviation, of a normal distribution."""
LEAST_SCALE_FRAC: Final = 0.1
"""Of what hardly ever stirs the usual is nothing; it is not cut below this part of its root mean square."""


def calmed(rest: NDArray[np.complex128], *, known: NDArray[np.bool_]) -> tuple[NDArray[np.complex128], float]:
    """Return the spectrum of a rest whose outbursts are cut down, and which part of its bins were not.

    Parameters
    ----------
    rest
        Spectrum of what templates leave of a port, frequency 0 left out, shape (n_bins // 2,).
    known
        Bins that count, shape (n_bins,).

    Notes
    -----
    Where the cut rest has nothing of the templates left, their shares are Huber's estimate. What it has of them, over
    the part of the bins that were not cut, is the step to there; and the error of the shares is that of least squares
    in noise as large as the cut rest, over the same part [1]_.

    References
    ----------
    .. [1] P. J. Huber, "Robust regression: asymptotics, conjectures and Monte Carlo", Annals of Statistics 1 (1973).
    """
    wave = scipy.fft.irfft(np.append(0, rest), known.size)
    seen = wave[known]
    middle = float(np.median(seen))
    usual = max(MAD_SIGMA * float(np.median(np.abs(seen - middle))), LEAST_SCALE_FRAC * float(seen.std()))
    cut = np.clip(wave, middle - HUBER * usual, middle + HUBER * usual)
    over = np.where(known, wave - cut, 0.0)
    calm: NDArray[np.complex128] = rest - scipy.fft.rfft(over)[1:]
    return calm, float(np.mean(over[known] == 0))
