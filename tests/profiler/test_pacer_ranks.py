"""Ranks of one job on hosts of their own: each paces by its own clock, and all wait for the last in the collective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from profiler.pacer import Pacer
from tests.profiler.fake_clocks import SettableClock

PERIOD_S = 0.266
SHIFT_S = 0.133
START_S = 1_000
TOLERANCE_FRAC = 0.15
NATURAL_S = PERIOD_S / 1.045
UP_S = 0.114
N_ITERATIONS = 3_000
N_RANKS = 4
AHEAD_MS = (0.0, 4.0, -3.0, 1.5)
"""How far each host's clock is ahead: NTP across a cluster."""
NS = 1_000_000_000


@dataclass
class Job:
    """A run of several ranks: when each iteration communicated, and what it would have taken unpaced, in true s."""

    pacers: list[Pacer]
    begun_s: np.ndarray
    unpaced_s: np.ndarray

    @property
    def cost_frac(self) -> float:
        """How much longer it took than unpaced."""
        return float((self.begun_s[-1] - self.begun_s[0] + UP_S) / self.unpaced_s[1:].sum() - 1)

    def told(self, what: str) -> list[int]:
        return [pacer.statistics()[what] for pacer in self.pacers]


def run(compute_s: np.ndarray) -> Job:
    """Run ranks whose computing takes the times given, of shape (n_iterations, n_ranks)."""
    clocks = [SettableClock(START_S * NS, ahead_ns=round(1e6 * ahead_ms)) for ahead_ms in AHEAD_MS]
    pacers = [
        Pacer(period_s=PERIOD_S, shift_s=SHIFT_S, tolerance_frac=TOLERANCE_FRAC, clock=clock, sleep=clock.sleep)
        for clock in clocks
    ]
    begun_s = []
    end_ns = START_S * NS
    for times_s in compute_s:
        for clock, pacer, time_s in zip(clocks, pacers, times_s, strict=True):
            clock.now_ns = end_ns + round(time_s * NS)
            pacer.wait()
        begin_ns = max(clock.now_ns for clock in clocks)
        begun_s.append((begin_ns - START_S * NS) / NS)
        end_ns = begin_ns + round(UP_S * NS)
    return Job(pacers, np.array(begun_s), compute_s.max(axis=1) + UP_S)


def compute(draws: np.random.Generator, *, n_iterations: int = N_ITERATIONS) -> np.ndarray:
    """Return times of equal work on equal devices, 2 % apart."""
    return (NATURAL_S - UP_S) * np.maximum(0.5, draws.normal(1, 0.02, (n_iterations, N_RANKS)))


@pytest.fixture
def draws() -> np.random.Generator:
    return np.random.default_rng(11)


def test_ranks_whose_clocks_differ_share_their_slots_without_a_word_to_each_other(draws: np.random.Generator) -> None:
    job = run(compute(draws))
    # The host whose clock is 3 ms behind comes last to every slot.
    after_slot_s = (job.begun_s + START_S - SHIFT_S) % PERIOD_S
    assert after_slot_s == pytest.approx(0.003, abs=0.001)
    assert np.diff(job.begun_s) == pytest.approx(PERIOD_S, abs=0.001)
    assert job.told("n_adjustments") == [0] * N_RANKS


def test_a_rank_that_strays_holds_up_its_job_for_a_slot_and_no_other_iteration(draws: np.random.Generator) -> None:
    compute_s = compute(draws)
    strays = np.arange(50, N_ITERATIONS, 50)
    compute_s[strays, 2] += 0.5
    job = run(compute_s)
    assert job.told("n_let_go") == [0] * N_RANKS
    # Each one is missed by the rank that strayed, and by those that waited for it in the collective.
    assert all(strays.size <= n <= strays.size + 2 for n in job.told("n_adjustments"))
    between = np.setdiff1d(np.arange(10, N_ITERATIONS - 1), [*strays, *(strays - 1), *(strays + 1)])
    assert np.diff(job.begun_s)[between] == pytest.approx(PERIOD_S, abs=0.02)
    assert job.cost_frac < 0.05


def test_a_host_that_becomes_slower_than_the_slots_is_let_go_by_all_ranks(draws: np.random.Generator) -> None:
    compute_s = compute(draws)
    compute_s[500:, 1] += 0.3 * PERIOD_S
    job = run(compute_s)
    assert [pacer.state for pacer in job.pacers] == ["let_go"] * N_RANKS
    assert min(job.told("n_let_go")) >= 2
    # While some hold and others do not, the job waits for those that hold: still bounded.
    assert job.cost_frac < 0.03


def test_ranks_try_again_at_one_iteration_once_a_disturbance_is_over(draws: np.random.Generator) -> None:
    compute_s = compute(draws)
    compute_s[500:530, 1] += 0.3 * PERIOD_S
    job = run(compute_s)
    assert [pacer.state for pacer in job.pacers] == ["held"] * N_RANKS
    assert job.told("n_retries") == job.told("n_let_go")
    assert np.diff(job.begun_s)[-1_000:] == pytest.approx(PERIOD_S, abs=0.02)
    assert job.cost_frac < 0.05
