"""The fluid simulator once more, in plain Python: no arrays, and the very pacer that a job would use.

It is the oracle of the compiled one, and shares with it only the jobs and the delays that were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiler.pacer.keeper import SlotKeeper
from profiler.pacer.slots import Slots

if TYPE_CHECKING:
    from pipeline.simulation import SimulatedJob

__all__ = ["PlainJob", "fair_rates", "run_plainly"]

NS_PER_S = 1e9


def fair_rates(
    wanted: Mapping[str, float],
    *,
    weight: Mapping[str, float],
    loads: Mapping[str, Mapping[str, float]],
    capacity: Mapping[str, float],
) -> dict[str, float]:
    """Weighted max-min shares: let all grow, stop whom a link or his wish stops first, and again."""
    rates: dict[str, float] = {}
    while len(rates) < len(wanted):
        growing = [job for job in wanted if job not in rates]
        levels = {job: wanted[job] / weight[job] for job in growing}
        for link, bps in capacity.items():
            taken = sum(loads[job].get(link, 0.0) * rate for job, rate in rates.items())
            pull = sum(loads[job].get(link, 0.0) * weight[job] for job in growing)
            for job in growing if pull > 0 else ():
                if link in loads[job]:
                    levels[job] = min(levels[job], max(0.0, bps - taken) / pull)
        least = min(levels.values())
        for job in growing:
            if levels[job] <= least * (1 + 1e-12):
                rates[job] = min(wanted[job], least * weight[job])
    return rates


@dataclass
class PlainJob:
    """A job that is under way: until when it computes or waits, or how much of a step is left to send."""

    job: SimulatedJob
    delays_s: Sequence[float]
    loads: Mapping[str, float]
    until_s: float
    keeper: SlotKeeper
    i_step: int = 0
    left_bits: float | None = None
    begun_s: float = 0.0
    hindered_s: float = 0.0
    is_released: bool = False
    last_ready_ns: int | None = None
    bursts_s: list[list[float]] = field(default_factory=list)

    @property
    def n_ended(self) -> int:
        """Iterations that have ended."""
        return sum(not math.isnan(end_s) for _, end_s in self.bursts_s[-1:]) + max(0, len(self.bursts_s) - 1)

    def release_s(self, now_s: float) -> float:
        """Ask the pacer, once an iteration, when to go."""
        if self.i_step > 0 or self.is_released or self.keeper.slots is None:
            return now_s
        self.is_released = True
        now_ns = round(now_s * NS_PER_S)
        passed_ns = 0 if self.last_ready_ns is None else now_ns - self.last_ready_ns
        self.last_ready_ns = now_ns
        start_ns = self.keeper.choose(now_ns, passed_ns=passed_ns)
        return now_s if start_ns is None else max(now_s, start_ns / NS_PER_S)

    def begin(self, now_s: float) -> None:
        """Begin to send a step."""
        self.left_bits, self.begun_s = self.job.steps[self.i_step].volume_bits, now_s
        if self.i_step == 0:
            self.bursts_s.append([now_s, math.nan])

    def end_step(self, now_s: float) -> None:
        """Go on to the next step; without a pause between them one flow carries both."""
        self.i_step += 1
        if self.i_step < len(self.job.steps):
            step = self.job.steps[self.i_step]
            self.left_bits = step.volume_bits if step.down_s == 0 else None
            self.until_s = now_s + step.down_s
            return
        self.i_step, self.left_bits, self.is_released = 0, None, False
        delay_s = self.delays_s[(len(self.bursts_s) - 1) % len(self.delays_s)]
        self.bursts_s[-1][1] = now_s
        self.until_s = now_s + max(0.0, self.job.steps[0].down_s + delay_s)


def run_plainly(
    jobs: Sequence[SimulatedJob],
    *,
    capacity: Mapping[str, float],
    delays_s: Mapping[str, Sequence[float]],
    n_iterations: int,
    older_weight: float = 1.0,
) -> dict[str, PlainJob]:
    """Run until every job has ended ``n_iterations``; returns what became of each."""
    everywhere = dict.fromkeys(capacity, 1.0)
    world = {
        job.name: PlainJob(job, delays_s[job.name], job.loads or everywhere, job.start_s, SlotKeeper(_slots(job)))
        for job in jobs
    }
    now_s = min(job.start_s for job in jobs)
    while any(one.n_ended < n_iterations for one in world.values()):
        sending = {name: one for name, one in world.items() if one.left_bits is not None}
        wanted = {name: one.job.steps[one.i_step].max_bps for name, one in sending.items()}
        rates = fair_rates(
            wanted,
            weight={name: _heft(one, sending.values(), older_weight) for name, one in sending.items()},
            loads={name: one.loads for name, one in sending.items()},
            capacity=capacity,
        )
        ends_s = {
            name: one.until_s if one.left_bits is None else now_s + one.left_bits / rates[name]
            for name, one in world.items()
        }
        first = min(ends_s, key=lambda name: ends_s[name])
        for name, one in sending.items():
            one.left_bits = max(0.0, (one.left_bits or 0.0) - rates[name] * (ends_s[first] - now_s))
            one.hindered_s += (ends_s[first] - now_s) * (rates[name] < wanted[name] * (1 - 1e-9))
        now_s = ends_s[first]
        if first in sending:
            world[first].end_step(now_s)
            continue
        world[first].until_s = world[first].release_s(now_s)
        if world[first].until_s <= now_s:
            world[first].begin(now_s)
    return world


def _heft(one: PlainJob, sending: Collection[PlainJob], older_weight: float) -> float:
    met = [other for other in sending if other is not one and not one.loads.keys().isdisjoint(other.loads)]
    n_younger = sum(other.begun_s > one.begun_s + 1e-9 for other in met)
    share = n_younger / len(met) if met else 0.0
    return one.job.weight * float(older_weight**share)


def _slots(job: SimulatedJob) -> Slots | None:
    if job.pace is None:
        return None
    return Slots.from_times(
        period_s=job.pace.period_s,
        shift_s=job.pace.shift_s,
        anchor_ns=0,
        tolerance_frac=job.pace.tolerance_frac,
    )
