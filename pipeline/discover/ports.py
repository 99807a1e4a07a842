"""`SeenPort`: one direction of a port, kept small: its rate at its own ticks and what it shows alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.ports.port import reads, ready
from profiler.signals import RateSeries
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from profiler.period.status import Status
    from profiler.phases import TrafficProfile

__all__ = ["LEAST_SPAN_S", "MAX_TICKS", "QUIET", "SeenPort", "recent", "seen_port"]

MAX_TICKS: Final = 8192
"""Of a longer recording the end is looked at, so that memory stays bounded: jobs that run now."""
LEAST_SPAN_S: Final = 60.0
"""Faster counters are put into longer bins, so that this much time is looked at."""
LEAST_BPS: Final = 1e6
"""Routing, time and management services beat too, at kilobits a second; no training job's traffic is as little."""
QUIET: Final = frozenset({"idle", "constant", "no_data"})
"""Statuses of ports of which nothing varies."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenPort:
    """One direction of a port.

    ``rate_bps`` (float32) and ``known`` have shape (n_bins,), bin ``i`` from ``t0_s + i * dt_s`` on, in seconds after
    an instant that all ports share; ``read_hz`` (float16) is how often the counter was read over time, None if evenly.
    ``period_s``, ``confidence`` and ``n_periods`` are what the port shows alone, ``status`` and ``reason`` why;
    ``mean_bps`` is of all that it moves, whichever job's.
    ``is_trunk`` is whether its cable is known to lead from switch to switch, so that it is no job's own.
    """

    host: str
    device: str
    port: str
    direction: str
    t0_s: float
    dt_s: float
    rate_bps: NDArray[np.float32]
    known: NDArray[np.bool_]
    read_hz: NDArray[np.float16] | None
    status: Status
    reason: str
    period_s: float | None
    confidence: float | None
    n_periods: int
    mean_bps: float
    is_trunk: bool = False

    @property
    def label(self) -> str:
        """Name for people."""
        return " ".join(word for word in (self.unit, self.direction) if word)

    @property
    def unit(self) -> str:
        """Name of the port, whichever direction."""
        return " ".join(word for word in (self.host, self.device, self.port) if word)

    @property
    def varies(self) -> bool:
        """Whether there is anything to compare with other ports."""
        return self.status not in QUIET and self.mean_bps >= LEAST_BPS and bool(self.known.any())

    @property
    def beats(self) -> bool:
        """Whether it shows one period, and no second, alone."""
        return self.status == "periodic" and self.n_periods == 1

    def to_series(self) -> RateSeries:
        """Return its rate as a series, times from the common instant."""
        edges_ns = np.rint((self.t0_s + self.dt_s * np.arange(self.rate_bps.size + 1)) * NS_PER_S).astype(np.int64)
        series = RateSeries(
            edges_ns=edges_ns,
            delta_bytes=np.asarray(self.rate_bps, dtype=np.float64) * self.dt_s / BITS_PER_BYTE,
            known=self.known.copy(),
            flags=np.zeros(self.rate_bps.size, dtype=np.uint16),
            refresh_s=self.dt_s,
        )
        return series.named(host=self.host, device=self.device, port=self.port, direction=self.direction)

    @property
    def end_s(self) -> float:
        """End of the last bin."""
        return self.t0_s + self.rate_bps.size * self.dt_s


def recent(series: RateSeries) -> RateSeries:
    """Return the end of a series: as much of it as is looked at."""
    if not series.n_samples:
        return series
    n_windows = max(MAX_TICKS, int(LEAST_SPAN_S / max(series.refresh_s or series.dt_s, 1e-9)))
    return series.between(max(0, series.n_samples - n_windows), series.n_samples)


def seen_port(series: RateSeries, profile: TrafficProfile, *, origin_ns: int) -> SeenPort:
    """Return what is kept of a series of which the profile is known; times count from ``origin_ns``."""
    nothing = SeenPort(
        host=series.host,
        device=series.device,
        port=series.port,
        direction=series.direction,
        t0_s=0.0,
        dt_s=0.0,
        rate_bps=np.zeros(0, dtype=np.float32),
        known=np.zeros(0, dtype=np.bool_),
        read_hz=None,
        status=profile.status,
        reason=profile.reason,
        period_s=profile.period_s,
        confidence=profile.confidence,
        n_periods=0 if profile.period_s is None else 1 + len(profile.other_periods_s),
        mean_bps=series.mean_bps,
    )
    if not series.n_samples or profile.status in QUIET:
        return nothing
    least_dt_s = min(LEAST_SPAN_S, series.duration_s) / MAX_TICKS
    port = ready([series], origin_ns=origin_ns, least_dt_s=least_dt_s)[0]
    read = reads(series, port=port)
    return replace(
        nothing,
        t0_s=port.t0_s,
        dt_s=port.dt_s,
        rate_bps=port.rate_bps.astype(np.float32),
        known=port.known,
        read_hz=None if read is None else (read.rate_bps * port.dt_s).astype(np.float16),
    )
