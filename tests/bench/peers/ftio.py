"""FTIO: discrete Fourier transform, outliers of its power by z-score, and optionally the autocorrelation's word [1]_.

References
----------
.. [1] A. Tarraf et al., "Capturing Periodic I/O Using Frequency Techniques", IPDPS 2024.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ftio_z_score", "ftio_z_score_acf"]


def ftio_z_score(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return FTIO's dominant period with its default settings, sampled at the series' own rate."""
    return _dominant(rate_bps, dt_s, options=())


def ftio_z_score_acf(rate_bps: NDArray[np.float64], dt_s: float) -> tuple[float, ...]:
    """Return FTIO's dominant period where it merges what the autocorrelation says.

    Version 0.0.9 fails to print its merged answer where the transform found nothing (it asks for the truth of an empty
    array); that counts as silence.
    """
    try:
        return _dominant(rate_bps, dt_s, options=("-au",))
    except ValueError:
        return ()


def _dominant(rate_bps: NDArray[np.float64], dt_s: float, *, options: tuple[str, ...]) -> tuple[float, ...]:
    from ftio.cli.ftio_core import core
    from ftio.parse.args import parse_args

    arguments = parse_args(["-e", "no", "-f", repr(1 / dt_s), *options], "ftio")
    data = {"time": np.arange(rate_bps.size) * dt_s, "bandwidth": rate_bps, "total_bytes": 0, "ranks": 1}
    prediction, _ = core(data, arguments)
    freqs_hz = np.asarray(prediction.dominant_freq, dtype=np.float64)
    # After merging, amplitudes are still those of the lines before it, so that they rank nothing.
    is_merged = freqs_hz.size != np.size(prediction.amp)
    ranked_hz = freqs_hz if is_merged else freqs_hz[np.argsort(-np.asarray(prediction.amp))]
    return tuple(1 / freq_hz for freq_hz in ranked_hz.tolist() if np.isfinite(freq_hz) and freq_hz > 0)
