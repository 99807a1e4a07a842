"""Jobs of nearly one period, seen through few ticks: told apart, or told at less than full confidence."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.discover import find_jobs, gather
from profiler.signals import RateSeries

RATE_BPS = 20e9
SURE = 0.9


def _bits(
    rng: np.random.Generator, at_s: NDArray[np.float64], *, period_s: float, jitter_frac: float
) -> NDArray[np.float64]:
    """Return what a job has moved until each instant: bursts of 0.3 of its period, at its rate."""
    n_bursts = int(1.2 * at_s[-1] / period_s) + 20
    lengths_s = period_s * (1 + jitter_frac * rng.standard_normal(n_bursts))
    starts_s = np.concatenate(([0.0], np.cumsum(lengths_s))) - period_s * (2 + rng.uniform())
    corners_s = np.ravel(np.column_stack((starts_s, starts_s + 0.3 * period_s)))
    moved = np.cumsum(np.diff(corners_s, prepend=corners_s[0]) * np.tile((0.0, 1.0), n_bursts + 1))
    bits: NDArray[np.float64] = RATE_BPS * np.interp(at_s, corners_s, moved)
    return bits


def _series(rng: np.random.Generator, name: str, bits: NDArray[np.float64], *, dt_s: float) -> RateSeries:
    """Return a port that moves so much, by a factor of its own, in a noise of 2 % of a job's rate."""
    moved = rng.uniform(0.8, 1.2) * np.diff(bits) + 0.02 * RATE_BPS * dt_s * np.abs(rng.standard_normal(bits.size - 1))
    return RateSeries(
        edges_ns=np.rint(dt_s * 1e9 * np.arange(bits.size)).astype(np.int64),
        delta_bytes=moved / 8,
        known=np.ones(moved.size, dtype=np.bool_),
        flags=np.zeros(moved.size, dtype=np.uint16),
        refresh_s=dt_s,
    ).named(host="leaf", device=name, port="", direction="rx")


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_uplinks_of_two_jobs_that_do_not_drift_are_no_ports_of_either(seed: int) -> None:
    rng, dt_s = np.random.default_rng([seed, 7]), 0.2
    at_s = dt_s * np.arange(3001, dtype=np.float64)
    jobs = {name: _bits(rng, at_s, period_s=4.0, jitter_frac=0.001) for name in "ab"}
    ports = [_series(rng, f"{name}{i}", bits, dt_s=dt_s) for name, bits in jobs.items() for i in range(6)]
    uplinks = [_series(rng, f"up{i}", 1.5 * (jobs["a"] + jobs["b"]), dt_s=dt_s) for i in range(4)]
    found = find_jobs(gather([*ports, *uplinks]))
    own = sorted(sorted(one.device for one in job.own) for job in found.jobs)
    assert own == [[f"{name}{i}" for i in range(6)] for name in "ab"]
    carried = [one for job in found.jobs for one in job.uplinks]
    assert {one.device for one in carried} == {f"up{i}" for i in range(4)}
    assert all(one.confidence < SURE for one in carried)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_told_surely_of_jobs_that_drift_apart_by_few_ticks_is_right(seed: int) -> None:
    rng, dt_s = np.random.default_rng([seed, 8]), 1.0
    at_s = dt_s * np.arange(601, dtype=np.float64)
    periods_s = {name: 8.2 * (1 + 0.002 * k) for k, name in enumerate("abcdefgh")}
    jobs = {name: _bits(rng, at_s, period_s=period_s, jitter_frac=0.01) for name, period_s in periods_s.items()}
    found = find_jobs(gather([_series(rng, f"{n}{i}", bits, dt_s=dt_s) for n, bits in jobs.items() for i in range(4)]))
    n_sure = 0
    for job in found.jobs:
        names = [one.device[0] for one in job.own]
        name = max(names, key=names.count)
        sure = [one.device[0] for one in job.members if one.confidence >= SURE]
        assert sure == [name] * len(sure)
        n_sure += len(sure)
    assert n_sure >= 20
