"""Evidence of lines, pooled over ports and stretches of time.

One port's noise has powers that are exponentially distributed about its floor; their mean over ports and stretches has
a Gamma distribution, whose shape tells how many of them are independent. The ports of a job share their job's noise,
and the two directions of a port nearly all of it, so the shape is measured on the pooled spectrum, not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.signal import CZT
from scipy.stats import gamma

from profiler.period.floor import noise_floor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from profiler.ports.port import Port

__all__ = ["PooledSpectrum", "line_mask", "pooled_spectra"]

STRETCHES: Final = (1, 4, 16)
"""Parts into which the recording is cut: the line of a job that jitters is too broad for the finest spectrum."""
MIN_CYCLES: Final = 3.0
"""A period must fit this often into a stretch."""
OVERSAMPLING: Final = 2
"""Frequencies a resolved step, so that no line falls between two of them."""
MIN_FREQS: Final = 24
"""Fewer frequencies than this have no floor."""
SKIRT_CELLS: Final = 12
SKIRT_FRAC: Final = 0.05
STRONG: Final = 40.0
"""What stands this near to a line this many times its floor, and has less than this part of its power, is its skirt."""
MOST_OF_PORT: Final = 200.0
"""What one port can add, over its floor: one strong stranger must not outweigh the ports of a job."""
READ_NATS: Final = 10.0
"""From here on the times of the reads have a line."""
READ_GAIN: Final = 2.0
"""A line of the reads draws one about as strong into the rate, both relative to their means; a job's is stronger."""
MIN_KNOWN_FRAC: Final = 0.5
"""A stretch of which less is known has no spectrum of its own."""
SHAPES: Final = np.geomspace(0.4, 400.0, 200)
SPREADS: Final = gamma.ppf(0.75, SHAPES) / gamma.ppf(0.25, SHAPES)
"""Upper over lower quartile of a Gamma distribution of each shape."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledSpectrum:
    """How surely there is a line, over frequency.

    ``power`` is the median over ports of power over floor, ``nats`` minus the log of the chance that noise alone has so
    much in the mean of all ports; shape (n_freqs,), at ``first_hz``, ``first_hz + step_hz``, …; ``of_port`` the nats of
    each port, shape (n_ports, n_freqs). Above ``nyquist_hz`` lines fold back.
    """

    first_hz: float
    step_hz: float
    nyquist_hz: float
    n_stretches: int
    shape: float
    power: NDArray[np.float64]
    nats: NDArray[np.float64]
    of_port: NDArray[np.float64]

    @property
    def n_freqs(self) -> int:
        """Number of frequencies."""
        return self.nats.size

    def folded(self, freqs_hz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where a line at each frequency is seen."""
        sampling_hz = 2 * self.nyquist_hz
        past = np.mod(freqs_hz, sampling_hz)
        return np.minimum(past, sampling_hz - past)

    def index(self, freqs_hz: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of each frequency in ``nats``, -1 where it is too low to be there."""
        at = np.round((self.folded(freqs_hz) - self.first_hz) / self.step_hz).astype(np.int64)
        return np.where((at < 0) | (at >= self.n_freqs), -1, at)


def pooled_spectra(ports: Sequence[Port], *, reads: Sequence[Port | None]) -> Iterator[PooledSpectrum]:
    """Yield the pooled spectrum of the whole recording, then those of its stretches, as far as they are long enough.

    ``reads`` has, for each port, how often it was read over time, or None if that is even: where the reads have a line,
    the port's is not counted, for a poller that pauses in turn draws lines of its own into any traffic.
    """
    duration_s = min(port.end_s - port.t0_s for port in ports)
    nyquist_hz = 0.5 / max(port.dt_s for port in ports)
    for n_stretches in STRETCHES:
        length_s = duration_s / n_stretches
        step_hz = 1 / (OVERSAMPLING * length_s)
        first_hz = MIN_CYCLES / length_s
        n_freqs = int((nyquist_hz - first_hz) / step_hz)
        if n_freqs < MIN_FREQS:
            return
        powers = [
            _power(port, first_hz=first_hz, step_hz=step_hz, n_freqs=n_freqs, n_stretches=n_stretches) for port in ports
        ]
        floored = np.array([_without_skirts(power) / noise_floor(power) for power in powers])
        for row, power, read in zip(floored, powers, reads, strict=True):
            if read is not None:
                of_reads = _power(read, first_hz=first_hz, step_hz=step_hz, n_freqs=n_freqs, n_stretches=n_stretches)
                weaker = power < READ_GAIN**2 * of_reads
                row[line_mask(of_reads, least_nats=READ_NATS, breadth=OVERSAMPLING, where=weaker)] = 1.0
        nats, shape = _nats(np.minimum(floored, MOST_OF_PORT).mean(axis=0))
        yield PooledSpectrum(
            first_hz=first_hz,
            step_hz=step_hz,
            nyquist_hz=nyquist_hz,
            n_stretches=n_stretches,
            shape=shape,
            power=np.median(floored, axis=0),
            nats=nats,
            of_port=np.array([_nats(one)[0] for one in floored]),
        )


def line_mask(
    power: NDArray[np.float64], *, least_nats: float, breadth: int, where: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return which frequencies have a line in this power, at those asked for, or stand within its breadth."""
    lines = _nats(power / noise_floor(power))[0] >= least_nats
    return np.convolve(lines if where is None else lines & where, np.ones(2 * breadth + 1), mode="same") > 0


def _power(port: Port, *, first_hz: float, step_hz: float, n_freqs: int, n_stretches: int) -> NDArray[np.float64]:
    """Return a port's power, over its mean rate squared, at the common frequencies; stretches overlap by half."""
    scale_bps = port.mean_bps if port.mean_bps > 0 else 1.0
    edges_s = np.linspace(port.t0_s, port.end_s, 2 * n_stretches + 1)
    power = np.zeros(n_freqs)
    turn = 2j * np.pi * port.dt_s
    transforms: dict[int, CZT] = {}
    for start_s, end_s in zip(edges_s[:-2], edges_s[2:], strict=True):
        centres_s, weight, level_bps = port.tapered(start_s=start_s, end_s=end_s)
        if np.count_nonzero(weight) < MIN_KNOWN_FRAC * weight.size:
            continue
        first = round((centres_s[0] - port.t0_s) / port.dt_s - 0.5)
        x = (port.rate_bps[first : first + weight.size] - level_bps) * weight / scale_bps
        if x.size not in transforms:
            transforms[x.size] = CZT(x.size, n_freqs, w=np.exp(-turn * step_hz), a=np.exp(turn * first_hz))
        power += np.abs(transforms[x.size](x)) ** 2
    return power + np.finfo(np.float64).tiny


def _without_skirts(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power with its floor in place of the skirts of strong lines.

    Jitter makes a line broad, and a comb must not count it at several teeth.
    """
    near = maximum_filter1d(power, 2 * SKIRT_CELLS + 1)
    floor = noise_floor(power)
    return np.where((power < SKIRT_FRAC * near) & (power > floor) & (near > STRONG * floor), floor, power)


def _nats(power: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return minus the log chance of each power, and the shape of the Gamma distribution that the bulk of them has.

    The quartiles give the shape: lines are few, and move them little.
    """
    level = power / (noise_floor(power) * np.log(2))
    low, high = np.quantile(level, [0.25, 0.75])
    shape = float(np.interp(-high / max(low, np.finfo(np.float64).tiny), -SPREADS, SHAPES))
    return -gamma.logsf(level * gamma.ppf(0.5, shape), shape), shape
