"""The event loop of the fluid simulator, compiled by numba.

A job computes without traffic, may wait for its slot, then moves a volume at the rate that its links give it; the
next event is the earliest end of any of these. What is sent is counted, and shares are computed anew, only where the
set of jobs that send changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from numba import njit

from pipeline.simulation.sharing import Network, share_links
from pipeline.simulation.slots import send_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipeline.simulation.records import JobRecord, LinkRecord, RunRecord, StepRecord

__all__ = ["Iterations", "run_jobs"]

COMPUTING: Final = 0
WAITING: Final = 1
SENDING: Final = 2

HINDERED: Final = 1 - 1e-9
"""A rate below this part of what a job wants is less than it wants."""


class Iterations(NamedTuple):
    """What is kept of each iteration, job after job: iteration k of a job stands at ``first + k``.

    ``delay_s`` is added to the Down phase that follows it, from the start again when all are used. Where ``due_s`` is
    not empty, an iteration does not wait for its Down phase but begins to send at its time, or else right after the
    one before. ``up_s`` and ``end_s`` are when it began to send and ended.
    """

    delay_s: NDArray[np.float64]
    due_s: NDArray[np.float64]
    up_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


@njit(cache=True)
def run_jobs(
    network: Network,
    steps: NDArray[np.void],
    until_s: NDArray[np.float64],
    kept: Iterations,
    runs: NDArray[np.void],
    max_events: int,
) -> None:
    """Run until every job has ended its ``n_wanted`` iterations, or ``max_events`` have passed.

    ``until_s``, shape (n_jobs,), is when each job is done with what it is doing: at the start, when it is first due.
    """
    run: RunRecord = runs[0]
    jobs = network.jobs
    n_left = jobs.size
    for _ in range(max_events):
        job = _next_job(until_s)
        one: JobRecord = jobs[job]
        run.now_s = max(run.now_s, until_s[job])
        if one.doing == SENDING:
            _count(network, run)
            until_s[job] = _end_step(one, steps, kept, run.now_s)
            if one.step == one.first_step and one.n_done == one.n_wanted:
                n_left -= 1
                if n_left == 0:
                    break
            if one.doing != SENDING:
                _remove(network, run, one)
        else:
            until_s[job] = _wait_until(one, run.now_s)
            if until_s[job] > run.now_s:
                continue
            _count(network, run)
            _begin(network, run, job)
            _load(one, steps)
            _note_begin(one, kept, run.now_s)
        share_links(network, run)
        for i in range(run.n_sending):
            one = jobs[network.sending[i]]
            until_s[network.sending[i]] = run.now_s + one.left_bits / one.rate_bps


@njit(cache=True)
def _next_job(until_s: NDArray[np.float64]) -> int:
    """Return the job whose present doing ends first."""
    job = 0
    for other in range(1, until_s.size):
        if until_s[other] < until_s[job]:
            job = other
    return job


@njit(cache=True)
def _count(network: Network, run: RunRecord) -> None:
    """Take what was sent since the rates last changed off what is left, and count the time in which jobs had less."""
    span_s = run.now_s - run.since_s
    run.since_s = run.now_s
    is_congested = False
    for i in range(run.n_sending):
        one: JobRecord = network.jobs[network.sending[i]]
        one.left_bits = max(0.0, one.left_bits - span_s * one.rate_bps)
        if one.rate_bps < one.wanted_bps * HINDERED:
            one.hindered_s += span_s
            is_congested = True
    if is_congested:
        run.congested_s += span_s
        for at in range(network.links.size):
            link: LinkRecord = network.links[at]
            if link.is_full:
                link.full_s += span_s


@njit(cache=True)
def _wait_until(one: JobRecord, now_s: float) -> float:
    """Return when a job that is ready to send may do so: the first time in an iteration its pacer may let it wait."""
    if one.doing == WAITING or one.slot_s == 0 or one.step != one.first_step:
        return now_s
    one.doing = WAITING
    return send_at(one, now_s)


@njit(cache=True)
def _begin(network: Network, run: RunRecord, job: int) -> None:
    """Add a job to those that send."""
    one: JobRecord = network.jobs[job]
    one.doing = SENDING
    one.begun_s = run.now_s
    one.place = run.n_sending
    network.sending[run.n_sending] = job
    run.n_sending += 1


@njit(cache=True)
def _remove(network: Network, run: RunRecord, one: JobRecord) -> None:
    """Take a job from those that send; the last one of them takes its place."""
    run.n_sending -= 1
    last = network.sending[run.n_sending]
    network.sending[one.place] = last
    network.jobs[last].place = one.place


@njit(cache=True)
def _load(one: JobRecord, steps: NDArray[np.void]) -> None:
    """Take up the volume of the present step."""
    step: StepRecord = steps[one.step]
    one.left_bits = step.volume_bits
    one.wanted_bps = step.max_bps


@njit(cache=True)
def _note_begin(one: JobRecord, kept: Iterations, now_s: float) -> None:
    if one.step == one.first_step and one.n_done < one.n_kept:
        kept.up_s[one.first + one.n_done] = now_s


@njit(cache=True)
def _end_step(one: JobRecord, steps: NDArray[np.void], kept: Iterations, now_s: float) -> float:
    """Let a job go on to its next step, at once where nothing lies between, and return when that begins."""
    one.step += 1
    if one.step == one.end_step:
        one.step = one.first_step
        one.doing = COMPUTING
        return _end_iteration(one, steps, kept, now_s)
    step: StepRecord = steps[one.step]
    if step.down_s > 0:
        one.doing = COMPUTING
    else:
        _load(one, steps)
    return now_s + step.down_s


@njit(cache=True)
def _end_iteration(one: JobRecord, steps: NDArray[np.void], kept: Iterations, now_s: float) -> float:
    """Keep the end of an iteration, and return when the next one is to begin to send."""
    i_iteration = one.n_done
    one.n_done += 1
    if i_iteration < one.n_kept:
        kept.end_s[one.first + i_iteration] = now_s
    if kept.due_s.size > 0:
        due_s = float(kept.due_s[one.first + min(i_iteration + 1, one.n_kept - 1)])
        return max(now_s, due_s)
    step: StepRecord = steps[one.first_step]
    delay_s = float(kept.delay_s[one.first + i_iteration % one.n_kept])
    return now_s + max(0.0, step.down_s + delay_s)
