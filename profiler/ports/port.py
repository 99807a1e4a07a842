"""One port made ready for comparison with others: a uniform rate in absolute time, and its lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["MAX_BINS", "Port", "reads", "ready"]

MAX_BINS: Final = 1 << 16
"""A longer series is analysed on coarser bins, so that time and memory stay bounded."""
CLIP_QUANTILE: Final = 0.995
CLIP_FACTOR: Final = 2.0
"""Rates above this many times that quantile are clipped: one huge event must not be the whole spectrum."""
EVEN_FRAC: Final = 0.01
"""Windows whose widths differ by less are even."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Port:
    """A port's rate on the ticks of its own counter.

    ``rate_bps`` and ``known`` have shape (n_bins,); bin ``i`` is the mean from ``t0_s + i * dt_s`` to one ``dt_s``
    later, in seconds after an instant that all ports of a group share. A bin that is not known holds 0. The two
    directions of one port have the same ``unit``.
    """

    name: str
    unit: str
    t0_s: float
    dt_s: float
    rate_bps: NDArray[np.float64]
    known: NDArray[np.bool_]

    @property
    def n_bins(self) -> int:
        """Number of bins, known or not."""
        return self.rate_bps.size

    @property
    def mean_bps(self) -> float:
        """Mean rate over the known bins."""
        return float(self.rate_bps[self.known].mean()) if self.known.any() else 0.0

    @property
    def end_s(self) -> float:
        """End of the last bin, in seconds after the common instant."""
        return self.t0_s + self.n_bins * self.dt_s

    def between(self, start_s: float, end_s: float) -> Port:
        """Return the bins between two times."""
        first, end = self._bins(start_s, end_s)
        return replace(
            self,
            t0_s=self.t0_s + first * self.dt_s,
            rate_bps=self.rate_bps[first:end],
            known=self.known[first:end],
        )

    def tapered(self, *, start_s: float, end_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return centres of the bins between two times, their Hann-tapered weights (sum 1), and the weighted mean."""
        first, end = self._bins(start_s, end_s)
        weight = np.hanning(end - first + 2)[1:-1] * self.known[first:end]
        total = float(weight.sum())
        weight = weight / total if total > 0 else weight
        order = np.arange(first, end, dtype=np.float64)
        centres_s: NDArray[np.float64] = self.t0_s + (order + 0.5) * self.dt_s
        return centres_s, weight, float(np.dot(weight, self.rate_bps[first:end]))

    def lines(
        self, freqs_hz: NDArray[np.float64], *, start_s: float | None = None, end_s: float | None = None
    ) -> NDArray[np.complex128]:
        """Return the complex amplitude of the rate at each frequency, in bit/s, referred to the common instant.

        Notes
        -----
        A line c exp(2 pi i f t) + its conjugate has amplitude c * `gain`: a bin is the mean over one tick, which
        weakens a line at f by sinc(f dt) and, past 1 / dt, also turns it over; only the turn is undone here.
        Cost O(n_bins * n_freqs).
        """
        start_s, end_s = self.t0_s if start_s is None else start_s, self.end_s if end_s is None else end_s
        centres_s, weight, mean_bps = self.tapered(start_s=start_s, end_s=end_s)
        first = round((centres_s[0] - self.t0_s) / self.dt_s - 0.5) if centres_s.size else 0
        x = (self.rate_bps[first : first + centres_s.size] - mean_bps) * weight
        turned = np.exp(-2j * np.pi * np.outer(freqs_hz, centres_s)) @ x
        lines: NDArray[np.complex128] = np.where(np.sinc(freqs_hz * self.dt_s) < 0, -turned, turned)
        return lines

    def gain(self, freqs_hz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is left of a line at each frequency after the mean over one tick, 0 to 1."""
        return np.abs(np.sinc(freqs_hz * self.dt_s))

    def _bins(self, start_s: float, end_s: float) -> tuple[int, int]:
        first, end = (min(max(round((t - self.t0_s) / self.dt_s), 0), self.n_bins) for t in (start_s, end_s))
        return first, end


def ready(series: Sequence[RateSeries], *, origin_ns: int, least_dt_s: float = 0.0) -> list[Port]:
    """Return series of at least one window each as ports whose times count from ``origin_ns``.

    Bins are a tick of the port's own counter, but no shorter than ``least_dt_s``.
    """
    return [_port(one, i_series=i, origin_ns=origin_ns, least_dt_s=least_dt_s) for i, one in enumerate(series)]


def reads(series: RateSeries, *, port: Port) -> Port | None:
    """Return how many times a second a port's counter was read, on the bins of the port; None if evenly."""
    widths_ns = np.diff(series.edges_ns)[series.known]
    if not widths_ns.size or widths_ns.std() < EVEN_FRAC * widths_ns.mean():
        return None
    each = replace(series, delta_bytes=np.ones(series.n_samples))
    return replace(port, rate_bps=each.resample(port.dt_s).rate_bps)


def _port(series: RateSeries, *, i_series: int, origin_ns: int, least_dt_s: float) -> Port:
    dt_s = max(series.refresh_s or series.dt_s, series.duration_s / MAX_BINS, least_dt_s)
    uniform = series.resample(dt_s)
    rates_bps = uniform.rate_bps[uniform.known]
    most_bps = CLIP_FACTOR * float(np.quantile(rates_bps, CLIP_QUANTILE)) if rates_bps.size else 0.0
    # A job that is Up for less than the quantile's tail would be clipped away whole.
    most_bps = most_bps if most_bps > 0 else float(uniform.rate_bps.max(initial=0.0))
    return Port(
        name=_name(series, series.direction) or f"series {i_series}",
        unit=_name(series) or f"series {i_series}",
        t0_s=(uniform.t0_ns - origin_ns) / NS_PER_S,
        dt_s=dt_s,
        rate_bps=np.minimum(uniform.rate_bps, most_bps),
        known=uniform.known,
    )


def _name(series: RateSeries, *more: str) -> str:
    return " ".join(word for word in (series.host, series.device, series.port, *more) if word)
