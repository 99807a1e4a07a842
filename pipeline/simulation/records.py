"""The records that the compiled event loop works on: one of each job, step, link and crossing, and one of the run.

A record's class names its fields for the reader and the type checker; what is there at run time is a NumPy record of
the same fields, which numba reads and writes in place.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, get_type_hints

import numpy as np

__all__ = [
    "CROSSING",
    "JOB",
    "LINK",
    "RUN",
    "STEP",
    "CrossingRecord",
    "JobRecord",
    "LinkRecord",
    "RunRecord",
    "StepRecord",
]


class JobRecord(Protocol):
    """A job: its orders, what it is doing, its flow, and what its pacer knows; times in seconds."""

    first_step: int
    """Its steps begin here …"""
    end_step: int
    """… and end before here."""
    first_crossing: int
    end_crossing: int
    first: int
    """Where what is kept of its iterations begins."""
    n_kept: int
    n_wanted: int
    """Iterations after which it is done."""
    weight: float

    doing: int
    step: int
    n_done: int
    """Iterations that have ended."""
    left_bits: float
    """Of the present step, when rates last changed."""

    place: int
    """Where it stands among the jobs that send."""
    wanted_bps: float
    """The rate at which it would send alone."""
    rate_bps: float
    begun_s: float
    """Since when it sends."""
    heft: float
    """Its weight against those that it meets."""
    limit: float
    """The share, per unit of weight, at which it stops growing."""
    hindered_s: float
    """How long it has got less than it wanted."""

    slot_s: float
    """Period of its slots; 0 without a pacer."""
    shift_s: float
    tolerance_s: float
    slot: float
    """The last slot taken; NaN if there is none."""
    credit: float
    """Slots that may be missed."""
    ready_s: float
    """When the last iteration was ready to send; NaN before the first."""
    retry_at: float
    """The slot at which pacing is tried again once it was let go; NaN while it is not."""
    retry_slots: float
    settled_at: float
    """The slot from which on a trial has lasted; NaN if none is under way."""
    n_in_a_row: int
    """Times that pacing was let go since a trial lasted."""
    n_adjustments: int
    n_let_go: int


class StepRecord(Protocol):
    """A step of a job: compute, then send."""

    down_s: float
    volume_bits: float
    max_bps: float


class LinkRecord(Protocol):
    """A link, how much of it is left while shares grow, and how long it has been full and hindered someone."""

    capacity_bps: float
    room_bps: float
    heft: float
    is_full: int
    full_s: float


class CrossingRecord(Protocol):
    """A link that a job crosses, and the fraction of the job's rate that it carries."""

    link: int
    load: float


class RunRecord(Protocol):
    """The clock, when rates last changed, how long anyone was hindered, and how many jobs send."""

    now_s: float
    since_s: float
    congested_s: float
    n_sending: int
    older_weight: float


def _dtype(record: type) -> np.dtype[Any]:
    return np.dtype([(name, np.int64 if kind is int else np.float64) for name, kind in get_type_hints(record).items()])


JOB: Final = _dtype(JobRecord)
STEP: Final = _dtype(StepRecord)
LINK: Final = _dtype(LinkRecord)
CROSSING: Final = _dtype(CrossingRecord)
RUN: Final = _dtype(RunRecord)
