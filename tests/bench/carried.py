"""Jobs named on uplinks of known load: recall by the part of the variance that is theirs, and names that are false.

Run alone with ``python -m tests.bench.carried [N_UPLINKS] [FIRST_SEED]``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.ports import carried_jobs
from profiler.synth import Burst, Traffic
from tests.bench.tables import layout
from tests.profiler.refreshed_ports import job_traffic, seen_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["NOISES", "VARIANCE_FRACS", "NamedScore", "named_table", "score_named"]

DURATION_S: Final = 3600.0
N_JOBS: Final = 5
N_CARRIED: Final = 2
"""Of the jobs that have a template an uplink carries so many, or none."""
NOISE_BPS: Final = 5e9
VARIANCE_FRACS: Final = (0.0, 0.01, 0.02, 0.04, 0.06)
"""Variance of each job carried over that of the noise; 0 where no job is carried."""


def _white(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.standard_normal(int(DURATION_S))


def _wandering(rng: np.random.Generator) -> NDArray[np.float64]:
    levels = np.zeros(int(DURATION_S))
    for i, step in enumerate(rng.standard_normal(levels.size)):
        levels[i] = 0.9 * levels[i - 1] + step
    return levels


def _flows(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a quiet level with whole flows of a few seconds each now and then, as switches of real clusters show."""
    levels = 0.3 * rng.standard_normal(int(DURATION_S))
    for at in np.flatnonzero(rng.uniform(size=levels.size) < 0.015):
        levels[at : at + 1 + int(rng.integers(0, 3))] += rng.uniform(3.0, 8.0)
    return levels


NOISES: Final[Mapping[str, Callable[[np.random.Generator], NDArray[np.float64]]]] = {
    "white": _white,
    "wandering": _wandering,
    "flows": _flows,
}
"""Other traffic of an uplink, of any scale: without and with a memory, and mostly quiet with outbursts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScore:
    """Counts over uplinks: jobs carried, those of them named, other names; ``off_frac`` how far shares are off."""

    n_uplinks: int
    n_carried: int
    n_named: int
    n_false: int
    off_frac: float
    cpu_s: float


def score_named(noise: str, *, variance_frac: float, n_uplinks: int, first_seed: int) -> NamedScore:
    """Return how jobs are named on uplinks with noise of a kind, each of which has jobs and a seed of its own."""
    n_named = n_false = n_carried = 0
    off: list[float] = []
    cpu_s = 0.0
    for seed in range(first_seed, first_seed + n_uplinks):
        rng = np.random.default_rng([seed, list(NOISES).index(noise)])
        jobs = {f"job{i}": _job(rng) for i in range(N_JOBS)}
        uplink, shares = _uplink(rng, jobs, noise=NOISES[noise](rng), variance_frac=variance_frac)
        templates = {
            name: seen_at(rng, job, phase_s=rng.uniform(), duration_s=DURATION_S, name=name)
            for name, job in jobs.items()
        }
        began_s = time.process_time()
        found = carried_jobs(uplink, templates)
        cpu_s += time.process_time() - began_s
        n_carried += len(shares)
        n_named += sum(one.name in shares for one in found)
        n_false += sum(one.name not in shares for one in found)
        off += [abs(one.share / shares[one.name] - 1) for one in found if one.name in shares]
    return NamedScore(
        n_uplinks=n_uplinks,
        n_carried=n_carried,
        n_named=n_named,
        n_false=n_false,
        off_frac=float(np.median(off)) if off else 0.0,
        cpu_s=cpu_s,
    )


def named_table(scores: Mapping[tuple[str, float], NamedScore]) -> str:
    """Return a row a kind of noise and part of the variance."""
    rows = [["noise", "variance", "uplinks", "carried", "named", "recall", "false", "share off by", "ms an uplink"]]
    for (noise, variance_frac), one in scores.items():
        recall = f"{one.n_named / one.n_carried:.3f}" if one.n_carried else "-"
        counts = [str(one.n_uplinks), str(one.n_carried), str(one.n_named), recall, str(one.n_false)]
        cost_ms = 1e3 * one.cpu_s / one.n_uplinks
        rows.append([noise, f"{variance_frac:.0%}", *counts, f"{one.off_frac:.0%}", f"{cost_ms:.0f}"])
    return layout(rows)


def _job(rng: np.random.Generator) -> Traffic:
    period_s = float(np.exp(rng.uniform(np.log(5.0), np.log(60.0))))
    bursts = [Burst(0.1, float(rng.uniform(0.1, 0.4)), 40e9), Burst(0.6, float(rng.uniform(0.05, 0.2)), 20e9)]
    jitter_frac = float(rng.uniform(0.003, 0.015))
    return job_traffic(rng, period_s=period_s, duration_s=DURATION_S, bursts=bursts, jitter_frac=jitter_frac)


def _uplink(
    rng: np.random.Generator, jobs: Mapping[str, Traffic], *, noise: NDArray[np.float64], variance_frac: float
) -> tuple[RateSeries, dict[str, float]]:
    """Return an uplink's rate, and the share that it carries of each job it carries."""
    names = rng.choice(sorted(jobs), size=N_CARRIED if variance_frac else 0, replace=False).tolist()
    noise_bps = NOISE_BPS * (noise - noise.mean()) / noise.std()
    shares = {name: float(np.sqrt(variance_frac) * NOISE_BPS / _spread_bps(jobs[name])) for name in names}
    total = Traffic.of_levels(noise_bps - noise_bps.min(), dt_s=1.0)
    for name, share in shares.items():
        total = total.plus(replace(jobs[name], rate_bps=jobs[name].rate_bps * share))
    return seen_at(rng, total, phase_s=float(rng.uniform()), duration_s=DURATION_S, name="uplink"), shares


def _spread_bps(job: Traffic) -> float:
    """Return the standard deviation of a job's rate in whole seconds."""
    return float(8 * np.diff(job.bytes_at(np.arange(DURATION_S))).std())


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = {
        (noise, frac): score_named(noise, variance_frac=frac, n_uplinks=n, first_seed=first)
        for noise in NOISES
        for frac in VARIANCE_FRACS
    }
    sys.stdout.write(named_table(found) + "\n")
