"""Noise on top of labelled traffic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from profiler.synth.reads import Reads
from profiler.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from profiler.synth.labelled import Labelled

__all__ = ["with_noise"]


def with_noise(rng: np.random.Generator, labelled: Labelled, *, noise_bps: float) -> Labelled:
    """Add white noise of this standard deviation to each sample's rate; what would be negative is cut off.

    The result is as if read afresh from a sound counter: what flags the series had are gone, its holes are not.

    Examples
    --------
    >>> from profiler.synth import draw_trace
    >>> job = draw_trace("vgg", seed=1)
    >>> noisy = with_noise(np.random.default_rng(2), job, noise_bps=1e9)
    >>> noisy.period_s == job.period_s, noisy.series.n_samples == job.series.n_samples
    (True, True)
    """
    series = labelled.series
    scale_bytes = noise_bps * np.diff(series.edges_ns) / NS_PER_S / BITS_PER_BYTE
    noisy = np.rint(np.maximum(series.delta_bytes + scale_bytes * rng.standard_normal(series.n_samples), 0.0))
    value = np.concatenate(([0], np.cumsum(noisy.astype(np.int64))))
    reads = Reads(t_ns=series.edges_ns, value=value, total_bytes=int(value[-1]))
    return replace(labelled, series=reads.to_series(), reads=reads)
