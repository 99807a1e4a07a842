"""The event loop of the fluid simulator, compiled by numba.

A job computes without traffic, may wait for its slot, then moves a volume at the rate that its links give it; the
next event is the earliest end of any of these. Shapes: ``n_jobs, n_steps, n_links, n_iterations``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numba import njit

from pipeline.simulation.sharing import Network, share_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Outcome", "Workload", "run_jobs"]

COMPUTING: Final = 0
WAITING: Final = 1
SENDING: Final = 2

MAX_EVENTS_A_STEP: Final = 64
"""The run ends after this many events for each step of each iteration of each job, though one job be far slower."""


ROUNDING: Final = 1e-9
"""Differences of this fraction are rounding."""


class Workload(NamedTuple):
    """What the jobs do.

    ``down_s``, ``volume_bits`` and ``max_bps`` have shape (n_jobs, n_steps), ``n_steps`` and ``start_s`` (n_jobs,).
    ``delay_s``, shape (n_jobs, n_iterations), is added to the Down phase before each iteration's first Up phase.
    ``slot_s``, shape (n_jobs, 3), is the period (0: no pacer), shift and tolerance of each job's slots.
    """

    down_s: NDArray[np.float64]
    volume_bits: NDArray[np.float64]
    max_bps: NDArray[np.float64]
    n_steps: NDArray[np.int64]
    start_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    slot_s: NDArray[np.float64]


class Outcome(NamedTuple):
    """What came of it.

    ``end_s``, shape (n_jobs, n_iterations + 1), is when each iteration ended; ``n_done`` and ``n_adjustments`` count
    ends and slots given up, shape (n_jobs,). ``clock_s`` holds the time simulated and the part of it in which a job
    was throttled.
    """

    end_s: NDArray[np.float64]
    n_done: NDArray[np.int64]
    n_adjustments: NDArray[np.int64]
    clock_s: NDArray[np.float64]


class _State(NamedTuple):
    """What each job is doing; all shapes (n_jobs,)."""

    doing: NDArray[np.int64]
    step: NDArray[np.int64]
    until_s: NDArray[np.float64]
    left_bits: NDArray[np.float64]
    wanted_bps: NDArray[np.float64]
    rate_bps: NDArray[np.float64]
    slot: NDArray[np.float64]


@njit(cache=True)
def run_jobs(work: Workload, network: Network) -> Outcome:
    """Run until every job has ended ``n_iterations + 1`` iterations."""
    n_jobs, n_iterations = work.delay_s.shape
    state = _State(
        np.full(n_jobs, COMPUTING),
        np.zeros(n_jobs, dtype=np.int64),
        work.start_s.copy(),
        np.zeros(n_jobs),
        np.zeros(n_jobs),
        np.zeros(n_jobs),
        np.full(n_jobs, np.nan),
    )
    outcome = Outcome(
        np.zeros((n_jobs, n_iterations + 1)),
        np.zeros(n_jobs, dtype=np.int64),
        np.zeros(n_jobs, dtype=np.int64),
        np.zeros(2),
    )
    n_events = MAX_EVENTS_A_STEP * (n_iterations + 1) * int(work.n_steps.sum())
    for _ in range(n_events):
        share_links(network, state.wanted_bps, state.rate_bps)
        _advance(state, outcome.clock_s)
        for job in range(n_jobs):
            _finish(job, work, state, outcome)
        if outcome.n_done.min() > n_iterations:
            break
    return outcome


@njit(cache=True)
def _advance(state: _State, clock_s: NDArray[np.float64]) -> None:
    """Move the clock to the next event."""
    now_s = clock_s[0]
    next_s = np.inf
    throttled = False
    for job in range(state.doing.size):
        if state.doing[job] == SENDING:
            next_s = min(next_s, now_s + state.left_bits[job] / state.rate_bps[job])
            throttled = throttled or state.rate_bps[job] < state.wanted_bps[job] * (1 - ROUNDING)
        else:
            next_s = min(next_s, state.until_s[job])
    for job in range(state.doing.size):
        if state.doing[job] == SENDING:
            state.left_bits[job] -= (next_s - now_s) * state.rate_bps[job]
    clock_s[0] = next_s
    if throttled:
        clock_s[1] += next_s - now_s


@njit(cache=True)
def _finish(job: int, work: Workload, state: _State, outcome: Outcome) -> None:
    """Let a job go on to what follows, if what it was doing is over."""
    now_s = outcome.clock_s[0]
    if state.doing[job] == SENDING:
        if state.left_bits[job] <= ROUNDING * work.volume_bits[job, state.step[job]]:
            _end_step(job, work, state, outcome)
    elif state.until_s[job] <= now_s:
        if state.doing[job] == COMPUTING and state.step[job] == 0 and work.slot_s[job, 0] > 0:
            state.until_s[job] = _slot_start(job, work, state, outcome)
            state.doing[job] = WAITING
        if state.until_s[job] <= now_s:
            state.doing[job] = SENDING
            state.left_bits[job] = work.volume_bits[job, state.step[job]]
            state.wanted_bps[job] = work.max_bps[job, state.step[job]]


@njit(cache=True)
def _end_step(job: int, work: Workload, state: _State, outcome: Outcome) -> None:
    now_s = outcome.clock_s[0]
    state.doing[job] = COMPUTING
    state.wanted_bps[job] = 0.0
    state.step[job] += 1
    delay_s = 0.0
    if state.step[job] == work.n_steps[job]:
        state.step[job] = 0
        done = outcome.n_done[job]
        if done < outcome.end_s.shape[1]:
            outcome.end_s[job, done] = now_s
        outcome.n_done[job] = done + 1
        delay_s = work.delay_s[job, done % work.delay_s.shape[1]]
    state.until_s[job] = now_s + max(0.0, work.down_s[job, state.step[job]] + delay_s)


@njit(cache=True)
def _slot_start(job: int, work: Workload, state: _State, outcome: Outcome) -> float:
    """Return when a job may send, by the rule of `profiler.pacer`: early waits, late goes, too late moves on."""
    period_s, shift_s, tolerance_s = work.slot_s[job, 0], work.slot_s[job, 1], work.slot_s[job, 2]
    now_s = outcome.clock_s[0]
    slot = state.slot[job] + 1
    late_s = now_s - (shift_s + slot * period_s)
    if not -period_s <= late_s <= tolerance_s:
        if not math.isnan(slot):
            outcome.n_adjustments[job] += 1
        slot = math.floor((now_s - shift_s) / period_s)
        if now_s - (shift_s + slot * period_s) > tolerance_s:
            slot += 1
    state.slot[job] = slot
    return float(max(now_s, shift_s + slot * period_s))
