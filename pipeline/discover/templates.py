"""`Template`: what the ports of one job have in common, sharper than any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pipeline.discover.spectra import LINE_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.discover.spectra import Spectra
    from pipeline.discover.ticks import Ticks

__all__ = ["MIN_LINES", "Template", "template_of"]

TOOTH_FRAC: Final = 0.04
"""Jitter and drift leave a line within this part of its frequency."""
TOOTH_CELLS: Final = 2.5
"""A tapered line is that broad, in steps of the spectrum."""
SKIRT_CELLS: Final = 4
"""A beat that wanders within a hundredth of the recording shows so far beside its lines, in steps of the spectrum."""
MIN_LINES: Final = 6
"""Fewer frequencies with a line fit anything by chance; one tapered line covers three."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Template:
    """The lines of a job: ``white`` at frequencies ``at`` (both of shape (n_lines,)), and its period if one is known.

    ``skirts_at`` and ``skirts`` are the same with the frequencies beside the lines, which tell how the beat wanders.
    """

    at: NDArray[np.int64]
    white: NDArray[np.complex64]
    skirts_at: NDArray[np.int64]
    skirts: NDArray[np.complex64]
    period_s: float | None

    @property
    def energy(self) -> float:
        """Sum of squares of its lines."""
        return float(np.sum(np.abs(self.white) ** 2))

    @property
    def tells(self) -> bool:
        """Whether it has lines enough to be told from others."""
        return self.at.size >= MIN_LINES


def template_of(
    spectra: Spectra, rows: Sequence[int], *, lags_s: NDArray[np.float64], period_s: float | None
) -> Template:
    """Return the template of ports that do the same, each so much later than the first.

    Parameters
    ----------
    spectra
        Of all ports.
    rows
        The job's ports.
    lags_s
        How much later each does the same, in seconds, shape (n_rows,).
    period_s
        The job's period, if known. Only lines at its harmonics below half the sampling rate count then: a harmonic past
        it is seen folded, and turns with the tick phase of the port.
    """
    freqs_hz = spectra.ticks.freqs_hz
    total = np.zeros(freqs_hz.size, dtype=np.complex128)
    for row, lag_s in zip(rows, lags_s, strict=True):
        total += spectra.white[row] * np.exp(2j * np.pi * freqs_hz * lag_s)
    lines = spectra.power[list(rows)].mean(axis=0) >= LINE_RATIO
    if period_s is not None:
        lines &= _teeth(spectra.ticks, period_s=period_s)
    at = np.flatnonzero(lines)
    beside = np.flatnonzero(np.convolve(lines, np.ones(2 * SKIRT_CELLS + 1), mode="same") > 0)
    mean = (total / len(rows)).astype(np.complex64)
    return Template(at=at, white=mean[at], skirts_at=beside, skirts=mean[beside], period_s=period_s)


def _teeth(ticks: Ticks, *, period_s: float) -> NDArray[np.bool_]:
    """Return which frequencies are near a harmonic, and nearer than to one that is seen folded at the ticks' rate.

    In units of the fundamental, harmonics stand at whole numbers, folded ones at ``period_s / dt_s`` less whole ones.
    """
    cycles = ticks.freqs_hz * period_s
    cell = float(cycles[0])
    fold = period_s / ticks.dt_s
    off, off_fold = (np.abs(where - np.round(where)) for where in (cycles, cycles - fold))
    reach = np.maximum(TOOTH_FRAC * cycles, TOOTH_CELLS * cell)
    is_apart = abs(fold - round(fold)) > TOOTH_CELLS * cell
    is_near: NDArray[np.bool_] = (cycles > 0.5) & (off <= reach)
    return is_near & (off <= off_fold) if is_apart else is_near
