"""`Spectra`: what every port does at every frequency, over its own noise.

Ports differ in volume and in noise by orders of magnitude. Divided by the floor of its own noise, and cut off where one
line would outweigh all others, every port's spectrum speaks with one voice a frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from pipeline.discover.ticks import on_ticks
from profiler.period.floor import noise_floor
from profiler.ports.spectra import READ_GAIN, READ_NATS, line_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.discover.ports import SeenPort
    from pipeline.discover.ticks import Ticks

__all__ = ["LINE_RATIO", "MOST", "Spectra", "fleet_spectra", "transform", "whitened"]

LINE_RATIO: Final = 8.0
"""Power this many times the floor is a line: one frequency in 3,000 of noise has so much."""
MOST: Final = 3.0
"""Amplitude over the floor's at which a line is cut off; what stands out no more than this is hardly noise."""
MIN_CYCLES: Final = 3
"""A wave that fits less often into the time is a trend, not a beat."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spectra:
    """Spectra of ports on common ticks.

    ``white`` (complex64) is each port's amplitude over its noise, cut off at `MOST`, ``power`` (float32) its power over
    the noise, not cut off; shape (n_ports, n_freqs). Both are 0 where the poller, not a job, draws a line.
    """

    ticks: Ticks
    white: NDArray[np.complex64]
    power: NDArray[np.float32]

    @property
    def is_line(self) -> NDArray[np.bool_]:
        """Where each port has a line, shape (n_ports, n_freqs)."""
        return self.power >= LINE_RATIO


def fleet_spectra(ports: Sequence[SeenPort], ticks: Ticks, *, on_port: Callable[[], None] = lambda: None) -> Spectra:
    """Return the spectra of all ports, and call ``on_port`` after each.

    Notes
    -----
    A poller that pauses in turn draws lines of its own into any traffic. Where the times of a port's reads, or those of
    all ports together, have a line, and the port's own is not much stronger, nothing is counted.
    """
    of_reads = _pooled_reads(ports, ticks)
    n_freqs = ticks.n_ticks // 2
    white = np.zeros((len(ports), n_freqs), dtype=np.complex64)
    power = np.zeros((len(ports), n_freqs), dtype=np.float32)
    for row, port in enumerate(ports):
        rate_bps, known = on_ticks(port, ticks)
        spectrum, level_bps = transform(rate_bps, known)
        own = np.abs(spectrum) ** 2
        drawn = _drawn(port, ticks, power=own / max(level_bps, 1.0) ** 2, of_all=of_reads)
        over = np.where(drawn, 0.0, own / noise_floor(own))
        over[: MIN_CYCLES - 1] = 0.0
        power[row] = over
        white[row] = whitened(spectrum, over)
        on_port()
    return Spectra(ticks=ticks, white=white, power=power)


def transform(rate: NDArray[np.float64], known: NDArray[np.bool_]) -> tuple[NDArray[np.complex128], float]:
    """Return the Hann-tapered Fourier transform of a rate where it is known, frequency 0 left out, and its mean."""
    weight = np.hanning(rate.size + 2)[1:-1] * known
    level = float(np.dot(weight, rate) / max(float(weight.sum()), 1e-300))
    spectrum: NDArray[np.complex128] = scipy.fft.rfft((rate - level) * weight)[1:]
    return spectrum, level


def whitened(spectrum: NDArray[np.complex128], power: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return a spectrum of the amplitude that its power over the noise has, cut off, and of its own phase."""
    amplitude = np.abs(spectrum)
    white: NDArray[np.complex128] = spectrum * np.minimum(np.sqrt(power), MOST) / np.maximum(amplitude, 1e-300)
    return white


def _reads(port: SeenPort, ticks: Ticks) -> NDArray[np.float64] | None:
    """Return the power of how often a port was read, over its mean squared; None if it was read evenly."""
    if port.read_hz is None:
        return None
    rate, known = on_ticks(port, ticks, values=port.read_hz)
    spectrum, level = transform(rate, known)
    power: NDArray[np.float64] = np.abs(spectrum) ** 2 / max(level, 1e-300) ** 2
    return power if power.any() else None


def _pooled_reads(ports: Sequence[SeenPort], ticks: Ticks) -> NDArray[np.bool_]:
    """Return where the reads of all ports together have a line: what they share stands out of what they do not."""
    total, n_uneven = np.zeros(ticks.n_ticks // 2), 0
    for port in ports:
        power = _reads(port, ticks)
        if power is not None:
            total += np.log(np.maximum(power / noise_floor(power), 1e-12))
            n_uneven += 1
    if not n_uneven:
        return np.zeros(total.size, dtype=np.bool_)
    return line_mask(np.exp(total / n_uneven), least_nats=READ_NATS, breadth=1)


def _drawn(port: SeenPort, ticks: Ticks, *, power: NDArray[np.float64], of_all: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a port's line is its poller's."""
    of_reads = _reads(port, ticks)
    if of_reads is None:
        return np.zeros(power.size, dtype=np.bool_)
    weaker = power < READ_GAIN**2 * of_reads
    own = line_mask(of_reads, least_nats=READ_NATS, breadth=1)
    return (own | of_all) & weaker
