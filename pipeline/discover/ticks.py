"""`Ticks`: the common ticks on which ports are compared, and how each port is put there.

Counters are copied at phases of their own. Cumulative bytes are known exactly at a port's own ticks, so they are
interpolated by a cubic spline: a straight line would take half of a wave of four ticks away where two ports tick half
a tick apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.fft import prev_fast_len
from scipy.ndimage import map_coordinates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pipeline.discover.ports import SeenPort

__all__ = ["MIN_TICKS", "Ticks", "common_ticks", "on_ticks"]

MIN_TICKS: Final = 192
"""Fewer have too few frequencies to tell jobs apart."""
COARSE: Final = 2.0
"""Ports whose ticks are longer than the typical one by this factor do not slow all others down: they are left out."""
MIN_COVER_FRAC: Final = 0.5
"""A port that was recorded for less of the common time cannot be compared."""
KNOWN_FRAC: Final = 0.75
"""A tick is known if so much of it is: the spline swings beside a hole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """``n_ticks`` ticks of ``dt_s`` from ``t0_s`` on, in seconds after the instant that all ports share."""

    t0_s: float
    dt_s: float
    n_ticks: int

    @property
    def edges_s(self) -> NDArray[np.float64]:
        """Their edges, shape (n_ticks + 1,)."""
        return self.t0_s + self.dt_s * np.arange(self.n_ticks + 1, dtype=np.float64)

    @property
    def freqs_hz(self) -> NDArray[np.float64]:
        """Frequencies of their Fourier transform but for 0, shape (n_ticks // 2,)."""
        return np.arange(1, self.n_ticks // 2 + 1, dtype=np.float64) / (self.n_ticks * self.dt_s)

    def too_far(self, port: SeenPort) -> str | None:
        """Return why a port cannot be put on these ticks, or None."""
        if port.dt_s > COARSE * self.dt_s:
            return f"its counter ticks every {port.dt_s:.3g} s, the others every {self.dt_s:.3g} s: record it faster"
        end_s = self.t0_s + self.n_ticks * self.dt_s
        shared_s = max(0.0, min(end_s, port.end_s) - max(self.t0_s, port.t0_s))
        known_frac = shared_s / (end_s - self.t0_s) * float(port.known.mean())
        if known_frac < MIN_COVER_FRAC:
            return f"recorded for {known_frac:.0%} of the time in which most others were"
        return None


def common_ticks(ports: Sequence[SeenPort], *, most: int) -> Ticks | None:
    """Return the ticks on which most ports can be compared, the last ``most``; None if those are too few.

    They are as long as those of the slowest port that is not `COARSE` times slower than the typical one, and span the
    time in which half of the ports were recorded.
    """
    if not ports:
        return None
    widths_s = np.array([port.dt_s for port in ports])
    dt_s = float(widths_s[widths_s <= COARSE * np.median(widths_s)].max())
    start_s = float(np.median([port.t0_s for port in ports]))
    end_s = float(np.median([port.end_s for port in ports]))
    n_ticks = min(most, int((end_s - start_s) / dt_s + 1e-6))
    if n_ticks < MIN_TICKS:
        return None
    # Transforms of other lengths take several times as long; a per cent less of the time costs little.
    n_ticks = 2 * prev_fast_len(n_ticks // 2, real=True)
    return Ticks(t0_s=end_s - n_ticks * dt_s, dt_s=dt_s, n_ticks=n_ticks)


def on_ticks(
    port: SeenPort, ticks: Ticks, *, values: NDArray[np.floating] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a port's mean rate in each tick, and which are known; a tick that is not known has the mean rate.

    ``values`` are averaged in place of the rate, if given: shape (n_bins,) too.
    """
    own = np.asarray(port.rate_bps if values is None else values, dtype=np.float64)
    edges_s = port.t0_s + port.dt_s * np.arange(own.size + 1)
    mean = float(own[port.known].mean())
    total = np.concatenate(([0.0], np.cumsum(np.where(port.known, own - mean, 0.0)))) * port.dt_s
    at_s = ticks.edges_s
    within = np.clip((at_s - edges_s[0]) / port.dt_s, 0, own.size)
    rate = mean + np.diff(map_coordinates(total, within[None], order=3, mode="mirror")) / ticks.dt_s
    covered_s = np.diff(np.interp(at_s, edges_s, np.concatenate(([0.0], np.cumsum(port.known))) * port.dt_s))
    known = covered_s > KNOWN_FRAC * ticks.dt_s
    return np.where(known, rate, mean), known
