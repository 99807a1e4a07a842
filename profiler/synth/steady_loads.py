"""Traffic without a period whose rate is given window by window: serving, red noise, ramps, constants, walks, steps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from profiler.synth.counter import Counter
from profiler.synth.labelled import Labelled, TrueStatus, label
from profiler.synth.polls import regular_polls
from profiler.synth.traffic import Traffic

__all__ = [
    "RATE_BPS",
    "autoregressive",
    "constant",
    "diurnal",
    "idle_keepalives",
    "ramp",
    "random_walk",
    "serving",
    "steps",
]

RATE_BPS: Final = 400e6
"""Scale of traffic where none is asked for."""
KEEPALIVE_BPS: Final = (100.0, 4_000.0)
"""What neighbours say to each other on an idle port: LLDP, ARP, routing hellos."""
KEEPALIVE_BYTES: Final = (60, 1_500)


def serving(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make the traffic of an inference server: many small answers, with a load that wanders."""
    n_samples = round(duration_s / dt_s)
    load = np.exp(0.6 * _red_noise(rng, n_samples, phi=0.995))
    return _of_levels(rng.poisson(20 * load) * (rate_bps / 80), dt_s=dt_s)


def autoregressive(
    rng: np.random.Generator, *, duration_s: float, dt_s: float, phi: float = 0.97, rate_bps: float = RATE_BPS
) -> Labelled:
    """Make red noise: a first-order autoregression about a mean."""
    n_samples = round(duration_s / dt_s)
    return _of_levels(rate_bps * (1 + 0.4 * _red_noise(rng, n_samples, phi=phi)), dt_s=dt_s)


def ramp(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make a load that only grows, with noise."""
    n_samples = round(duration_s / dt_s)
    return _of_levels(rate_bps * np.linspace(0.125, 2.25, n_samples) * rng.uniform(0.9, 1.1, n_samples), dt_s=dt_s)


def constant(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make a steady stream with noise of 5 %."""
    n_samples = round(duration_s / dt_s)
    return _of_levels(rate_bps * rng.normal(1.0, 0.05, n_samples), dt_s=dt_s, status="constant")


def random_walk(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make a load whose logarithm walks at random, with noise."""
    n_samples = round(duration_s / dt_s)
    walk = np.cumsum(rng.standard_normal(n_samples)) * 1.5 / np.sqrt(n_samples)
    return _of_levels(rate_bps * np.exp(walk) * rng.gamma(20.0, 0.05, n_samples), dt_s=dt_s)


def diurnal(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make a load that swells and ebbs once at most in the recording, as days do, with red noise on it."""
    n_samples = round(duration_s / dt_s)
    turns = rng.uniform(0.4, 1.1) * np.arange(n_samples) / n_samples + rng.random()
    swell = 1 + 0.7 * np.sin(2 * np.pi * turns)
    return _of_levels(rate_bps * (swell + 0.15 * _red_noise(rng, n_samples, phi=0.9)), dt_s=dt_s)


def steps(rng: np.random.Generator, *, duration_s: float, dt_s: float, rate_bps: float = RATE_BPS) -> Labelled:
    """Make a load that changes its level two to eight times, with noise of 10 %."""
    n_samples = round(duration_s / dt_s)
    changes = np.sort(rng.integers(0, n_samples, int(rng.integers(2, 9))))
    levels = rng.uniform(0.1, 2.0, changes.size + 1)[np.searchsorted(changes, np.arange(n_samples), side="right")]
    return _of_levels(rate_bps * levels * rng.normal(1.0, 0.1, n_samples), dt_s=dt_s)


def idle_keepalives(rng: np.random.Generator, *, duration_s: float, dt_s: float) -> Labelled:
    """Make an idle port: single packets, most of them at an interval, of a few kbit/s at most."""
    packet_bits = 8 * int(rng.integers(*KEEPALIVE_BYTES))
    n_packets = int(rng.uniform(*KEEPALIVE_BPS) * duration_s / packet_bits)
    n_regular = int(n_packets * rng.uniform(0.3, 0.9))
    sent_s = np.concatenate([np.linspace(0, duration_s, n_regular), rng.uniform(0, duration_s, n_packets - n_regular)])
    bits = np.histogram(sent_s, bins=round(duration_s / dt_s), range=(0.0, duration_s))[0] * packet_bits
    return _of_levels(bits / dt_s, dt_s=dt_s, status="idle")


def _of_levels(rate_bps: NDArray[np.floating], *, dt_s: float, status: TrueStatus = "aperiodic") -> Labelled:
    polls_s = regular_polls(duration_s=rate_bps.size * dt_s, dt_s=dt_s)
    reads = Counter().read(Traffic.of_levels(rate_bps, dt_s=dt_s), polls_s)
    return label(reads.to_series(), reads=reads, status=status)


def _red_noise(rng: np.random.Generator, n_samples: int, *, phi: float) -> NDArray[np.float64]:
    """Return a stationary first-order autoregression of unit variance, shape (n_samples,)."""
    innovations = rng.standard_normal(n_samples) * np.sqrt(1 - phi**2)
    innovations[0] = rng.standard_normal()
    values: NDArray[np.float64] = lfilter([1.0], [1.0, -phi], innovations)
    return values
