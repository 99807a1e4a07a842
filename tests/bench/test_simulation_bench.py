"""How many iterations a second are simulated, and how long the first simulation on a machine waits for its compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.simulation import Pace, SimulatedJob, Step, simulate

if TYPE_CHECKING:
    from pathlib import Path

MIN_PER_S = 2e6
MAX_COMPILE_S = 10.0
CAPACITY_BPS = 400e6
N_ITERATIONS = 400_000
N_TRIES = 3
SLOT_S = 0.266
LOAD = 0.85
LINKS = {"one link": {"x": CAPACITY_BPS}, "two links": {"x": CAPACITY_BPS, "y": 1.2 * CAPACITY_BPS}}
FULL_RATE = Step(down_s=0.141, volume_bits=0.114 * CAPACITY_BPS, max_bps=CAPACITY_BPS)
N_JOBS = (1, 2, 4, 8)

FIRST = """
import time
import pipeline
from pipeline.simulation import SimulatedJob, Step
jobs = [SimulatedJob(name="A", steps=(Step(down_s=0.1, volume_bits=1.0, max_bps=9.0),))]
begun_s = time.process_time()
pipeline.simulate(jobs, capacity_bps=1.0, n_iterations=2)
print(time.process_time() - begun_s)
"""


def spread_jobs(n_jobs: int, *, n_phases: int = 1, is_paced: bool) -> list[SimulatedJob]:
    """Jobs like VGG19, or of several phases, that together ask for most of the link and are spread over a slot."""
    max_bps = CAPACITY_BPS * LOAD * 0.255 / 0.114 / n_jobs
    step = Step(down_s=0.141 / n_phases, volume_bits=0.114 / n_phases * max_bps, max_bps=max_bps)
    starts_s = [SLOT_S * i / n_jobs for i in range(n_jobs)]
    return [
        SimulatedJob(
            name=f"j{i}",
            steps=(step,) * n_phases,
            start_s=start_s,
            jitter_frac=0.03,
            pace=Pace(period_s=SLOT_S, shift_s=start_s) if is_paced else None,
        )
        for i, start_s in enumerate(starts_s)
    ]


def iterations_per_s(jobs: list[SimulatedJob], *, capacity_bps: dict[str, float]) -> float:
    """CPU time of this process, the best of some tries: the machine may be busy."""
    rates = []
    for _ in range(N_TRIES):
        begun_s = time.process_time()
        run = simulate(jobs, capacity_bps=capacity_bps, n_iterations=N_ITERATIONS // len(jobs))
        rates.append(sum(one.iteration_s.size for one in run.runs) / (time.process_time() - begun_s))
    return max(rates)


def measured(jobs: list[SimulatedJob], *, what: str) -> dict[str, float]:
    """Print and return iterations a second of all jobs together, by case."""
    rates = {f"{what}, {where}": iterations_per_s(jobs, capacity_bps=bps) for where, bps in LINKS.items()}
    for case, rate in rates.items():
        print(f"{case}: {rate / 1e6:.1f} M iterations/s")  # noqa: T201
    return rates


def test_two_million_iterations_a_second_are_simulated() -> None:
    print(f"\n\nsimulated, {LOAD:.0%} of the link asked for, 3 % jitter\n")  # noqa: T201
    rates: dict[str, float] = {}
    for n_jobs in N_JOBS:
        for how in ("free", "paced"):
            rates |= measured(spread_jobs(n_jobs, is_paced=how == "paced"), what=f"{n_jobs} jobs, {how}")
    crowd = [replace(job, steps=(FULL_RATE,)) for job in spread_jobs(8, is_paced=False)]
    crowded = measured(crowd, what="8 jobs, each wants all of the link")
    measured(spread_jobs(4, n_phases=6, is_paced=True), what="4 jobs of 6 phases, paced")
    rates |= {case: rate for case, rate in crowded.items() if case.endswith("one link")}
    assert {case: rate for case, rate in rates.items() if rate < MIN_PER_S} == {}


def test_first_simulation_waits_some_seconds_for_its_compiler(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", FIRST],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    compile_s = float(found.stdout)
    print(f"\n\nfirst simulation on a machine: {compile_s:.1f} s of CPU time, later ones start at once")  # noqa: T201
    assert compile_s < MAX_COMPILE_S
