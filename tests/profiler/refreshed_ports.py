"""Ports of one job as a switch sees them: copied once a second, at phases of their own, and polled unevenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiler.synth import Burst, Counter, Traffic, draw_iterations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

TICK_S = 1.0
BURSTS = (Burst(0.3, 0.2, 40e9), Burst(0.6, 0.1, 20e9))


def job_traffic(
    rng: np.random.Generator,
    *,
    period_s: float,
    duration_s: float,
    bursts: Sequence[Burst] = BURSTS,
    jitter_frac: float = 0.003,
) -> Traffic:
    return draw_iterations(rng, period_s=period_s, duration_s=duration_s, jitter_frac=jitter_frac).traffic(bursts)


def noise_traffic(rng: np.random.Generator, *, duration_s: float, noise_bps: float) -> Traffic:
    """Return white noise about a mean that is high enough not to cut it."""
    levels = 4 * noise_bps + noise_bps * rng.standard_normal(int(5 * duration_s) + 10)
    return Traffic.of_levels(levels, dt_s=0.2)


def seen_at(rng: np.random.Generator, traffic: Traffic, *, phase_s: float, duration_s: float, name: str) -> RateSeries:
    """Return a port's rate as polls of its refreshed counter show it."""
    gaps_s = rng.choice([0.5, 0.566, 0.632, 0.824], size=int(2 * duration_s), p=[0.2, 0.5, 0.2, 0.1])
    polls_s = np.cumsum(gaps_s)
    counter = Counter(refresh_s=TICK_S, phase_s=phase_s)
    return counter.read(traffic, polls_s[polls_s < duration_s]).to_series().named(device=name)


def ports_of(
    rng: np.random.Generator,
    traffic: Traffic,
    *,
    phases_s: Sequence[float] | NDArray[np.float64],
    duration_s: float,
    noise_bps: float = 0.0,
) -> list[RateSeries]:
    """Return the same traffic at several ports, each with noise of its own."""
    ports = []
    for i, phase_s in enumerate(phases_s):
        noise = noise_traffic(rng, duration_s=duration_s, noise_bps=noise_bps)
        alone = traffic.plus(noise) if noise_bps > 0 else traffic
        ports.append(seen_at(rng, alone, phase_s=float(phase_s), duration_s=duration_s, name=f"p{i}"))
    return ports
