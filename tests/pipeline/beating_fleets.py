"""Synthetic fleets whose jobs are known: ports copied at phases of their own, polled unevenly, with holes and noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.synth import Burst, Counter, Traffic, draw_iterations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from profiler.signals import RateSeries

__all__ = ["Fleet", "FleetPlan", "JobPlan", "draw_fleet", "random_plan"]

TICK_S: Final = 1.0
POLL_GAPS_S: Final = (0.5, 0.566, 0.632, 0.824)
MOST_BURSTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """A job to draw: its beat, how many ports are its own, and how many more are too noisy to beat alone."""

    name: str
    period_s: float
    n_ports: int = 4
    n_weak: int = 0
    rate_bps: float = 40e9
    jitter_frac: float = 0.01
    is_sprayed: bool = True
    weak_noise: float = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """What stands in a fleet; ``n_alike`` ports show the same traffic, which has no beat."""

    jobs: tuple[JobPlan, ...] = ()
    n_uplinks: int = 0
    n_random: int = 0
    n_idle: int = 0
    n_alike: int = 0
    duration_s: float = 2400.0
    noise_frac: float = 0.05
    uplink_noise: float = 0.3
    hole_frac: float = 0.03
    lag_ticks: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Series of a fleet, and by device the jobs whose traffic each carries, with the mean rate of each in bit/s."""

    series: tuple[RateSeries, ...]
    carried_bps: Mapping[str, Mapping[str, float]]
    own_of: Mapping[str, str]
    weak: frozenset[str]
    periods_s: Mapping[str, float]


def random_plan(rng: np.random.Generator, *, n_jobs: int = 6) -> FleetPlan:
    """Return a fleet of jobs of any period, two of them of one, with weak members, uplinks and ports without a beat."""
    periods_s = np.exp(rng.uniform(np.log(6.0), np.log(60.0), n_jobs))
    periods_s[-1] = periods_s[-2] * (1 + rng.uniform(-0.001, 0.001))
    jobs = tuple(
        JobPlan(
            name=f"job{i}",
            period_s=float(period_s),
            n_ports=int(rng.integers(2, 7)),
            n_weak=int(rng.integers(0, 3)),
            rate_bps=float(np.exp(rng.uniform(np.log(2e9), np.log(80e9)))),
            jitter_frac=float(rng.uniform(0.005, 0.02)),
            is_sprayed=bool(rng.uniform() < 0.7),
        )
        for i, period_s in enumerate(periods_s)
    )
    return FleetPlan(jobs=jobs, n_uplinks=8, n_random=10, n_idle=3)


def draw_fleet(rng: np.random.Generator, plan: FleetPlan) -> Fleet:
    """Draw a fleet; every series is one direction of a port."""
    traffic = {job.name: _job_traffic(rng, job, duration_s=plan.duration_s) for job in plan.jobs}
    polls_s = _polls(rng, plan)
    wires: dict[str, Traffic] = {}
    carried: dict[str, dict[str, float]] = {}
    own_of: dict[str, str] = {}
    weak: set[str] = set()
    for job in plan.jobs:
        for i in range(job.n_ports + job.n_weak):
            name = f"{job.name}-p{i}"
            volume = float(rng.uniform(0.5, 2.0))
            noise_frac = plan.noise_frac if i < job.n_ports else job.weak_noise
            own = _later(_part(traffic[job.name], volume), float(rng.uniform(0, plan.lag_ticks * TICK_S)))
            wires[name] = own.plus(_noise(rng, noise_frac * volume * job.rate_bps, plan))
            carried[name] = {job.name: volume * _mean_bps(traffic[job.name], plan.duration_s)}
            own_of[name] = job.name
            weak |= {name} if i >= job.n_ports else set()
    for i in range(plan.n_uplinks):
        wires[f"up{i}"] = _uplink(rng, plan, traffic)
        carried[f"up{i}"] = {
            job.name: job.n_ports * _mean_bps(traffic[job.name], plan.duration_s) / plan.n_uplinks
            for job in plan.jobs
            if job.is_sprayed
        }
    wires |= _beatless(rng, plan)
    return Fleet(
        series=tuple(_seen(rng, wire, polls_s=polls_s, name=name) for name, wire in wires.items()),
        carried_bps=carried,
        own_of=own_of,
        weak=frozenset(weak),
        periods_s={job.name: job.period_s for job in plan.jobs},
    )


def _job_traffic(rng: np.random.Generator, job: JobPlan, *, duration_s: float) -> Traffic:
    n_bursts = int(rng.integers(1, MOST_BURSTS + 1))
    widths = rng.uniform(0.08, 0.3, n_bursts) / n_bursts**0.5
    starts = (np.arange(n_bursts) + rng.uniform(0, (1 - widths * n_bursts).clip(0))) / n_bursts
    bursts = [
        Burst(float(start), float(min(width, 1 - start)), job.rate_bps * float(rng.uniform(0.5, 1.0)))
        for start, width in zip(starts, widths, strict=True)
    ]
    made = draw_iterations(rng, period_s=job.period_s, duration_s=duration_s, jitter_frac=job.jitter_frac)
    return made.traffic(bursts)


def _polls(rng: np.random.Generator, plan: FleetPlan) -> NDArray[np.float64]:
    """Return the times of a poller that all ports share, with holes of some seconds now and then."""
    polls_s = np.cumsum(rng.choice(POLL_GAPS_S, size=int(2 * plan.duration_s), p=[0.2, 0.5, 0.2, 0.1]))
    n_holes = int(plan.hole_frac * plan.duration_s / 12.0)
    for start_s in rng.uniform(0, plan.duration_s, n_holes):
        width_s = rng.uniform(4.0, 20.0)
        polls_s = polls_s[(polls_s < start_s) | (polls_s > start_s + width_s)]
    return polls_s[polls_s < plan.duration_s]


def _seen(rng: np.random.Generator, traffic: Traffic, *, polls_s: NDArray[np.float64], name: str) -> RateSeries:
    own_s = polls_s + rng.uniform(0, 0.05)
    counter = Counter(refresh_s=TICK_S, phase_s=float(rng.uniform(0, TICK_S)))
    return counter.read(traffic, own_s).to_series().named(host="sw1", device=name, direction="transmit")


def _uplink(rng: np.random.Generator, plan: FleetPlan, traffic: Mapping[str, Traffic]) -> Traffic:
    parts = [_part(traffic[job.name], job.n_ports / plan.n_uplinks) for job in plan.jobs if job.is_sprayed]
    burst_bps = sum(float(part.rate_bps.max(initial=0.0)) for part in parts) or 1e9
    total = _noise(rng, plan.uplink_noise * burst_bps, plan)
    for part in parts:
        total = total.plus(part)
    return total


def _beatless(rng: np.random.Generator, plan: FleetPlan) -> dict[str, Traffic]:
    alike = _random(rng, 1, plan)
    wires = {f"random{i}": _random(rng, i, plan) for i in range(plan.n_random)}
    wires |= {f"alike{i}": alike.plus(_noise(rng, 1e9, plan)) for i in range(plan.n_alike)}
    return wires | {f"idle{i}": Traffic.steady(500.0, duration_s=plan.duration_s) for i in range(plan.n_idle)}


def _noise(rng: np.random.Generator, noise_bps: float, plan: FleetPlan) -> Traffic:
    levels = 3 * noise_bps + noise_bps * rng.standard_normal(int(plan.duration_s / TICK_S) + 10)
    return Traffic.of_levels(levels, dt_s=TICK_S)


def _random(rng: np.random.Generator, i: int, plan: FleetPlan) -> Traffic:
    """Return traffic without a beat: bursts at random, random telegraph, a wandering level, white noise."""
    n = int(plan.duration_s) + 10
    kind = i % 4
    if kind == 0:
        starts_s = np.sort(rng.uniform(0, plan.duration_s, int(plan.duration_s / 20)))
        edges_s = np.stack([starts_s, starts_s + rng.exponential(3.0, starts_s.size)], axis=1)
        return Traffic(edges_s=edges_s, rate_bps=np.full(starts_s.size, 20e9))
    if kind == 1:
        return Traffic.of_levels(20e9 * (np.cumsum(rng.uniform(size=n) < 0.08) % 2), dt_s=1.0)
    if kind == 2:
        return Traffic.of_levels(20e9 + 0.4e9 * np.cumsum(rng.standard_normal(n)), dt_s=1.0)
    return Traffic.of_levels(10e9 + 2e9 * rng.standard_normal(n), dt_s=1.0)


def _part(traffic: Traffic, share: float) -> Traffic:
    return replace(traffic, rate_bps=traffic.rate_bps * share)


def _later(traffic: Traffic, by_s: float) -> Traffic:
    return replace(traffic, edges_s=traffic.edges_s + by_s)


def _mean_bps(traffic: Traffic, duration_s: float) -> float:
    return float(np.diff(traffic.bytes_at(np.array([0.0, duration_s])))[0]) * 8 / duration_s
