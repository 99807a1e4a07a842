"""`job_of`: a group as a job: each of its ports with the part that it plays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover.result import FoundJob, Member
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.discover.groups import Group
    from pipeline.discover.loads import Load
    from pipeline.discover.periods import Beat
    from pipeline.discover.ports import SeenPort
    from pipeline.discover.result import Role

__all__ = ["job_of", "named"]

MOST_CONFIDENCE: Final = 0.999
"""No evidence from one recording is surer."""
OWN_WEIGHT: Final = 0.3
"""A port that carries one job alone, and as much of it as one of the job's own ports, is one: ports of a job differ by
less than twice, while a job that is sprayed over links puts a small part on each."""
OWN_FRAC: Final = 0.5
"""So is a port whose traffic is mostly the job's."""


def job_of(
    ports: Sequence[SeenPort], i_group: int, *, group: Group, beat: Beat, carried: Sequence[Sequence[Load]]
) -> FoundJob:
    """Return a group as a job, not named yet, with all ports that carry it.

    Parameters
    ----------
    ports
        All ports that vary.
    i_group
        The group's place in what ``carried`` tells.
    group, beat
        The group, and its period.
    carried
        What each port carries, in order of ports.
    """
    own = {row: k for k, row in enumerate(group.rows)}
    usual_bps = float(np.mean([ports[row].mean_bps for row in group.rows]))
    members = []
    for row, port in enumerate(ports):
        load = next((one for one in carried[row] if one.i_group == i_group), None)
        n_others = len(carried[row]) - (load is not None)
        if row in own:
            k = own[row]
            known = _Known(lag_s=float(group.lag_s[k]), log_chance=float(group.log_chance[k]))
            members.append(_own(port, load, known=known, usual_bps=usual_bps, n_others=n_others))
        elif load is not None:
            members.append(_carrier(port, load, n_others=n_others))
    return FoundJob(
        job="",
        period_s=beat.period_s,
        alias_periods_s=beat.alias_periods_s,
        confidence=beat.confidence,
        members=tuple(members),
    )


def named(jobs: Iterable[FoundJob]) -> tuple[FoundJob, ...]:
    """Return jobs by falling traffic, named by their periods; of one period the busier first."""
    ordered = sorted(jobs, key=lambda job: (-job.own_bps, job.period_s or 0.0))
    bare = [_bare(job) for job in ordered]
    n_alike, n_met = Counter(bare), Counter[str]()
    names = []
    for name in bare:
        n_met[name] += 1
        names.append(name if n_alike[name] == 1 else f"{name}-{n_met[name]}")
    return tuple(replace(job, job=name) for job, name in zip(ordered, names, strict=True))


def _bare(job: FoundJob) -> str:
    if job.period_s is not None:
        return f"beat-{format_duration(job.period_s).replace(' ', '')}"
    return f"beat-{format_duration(job.alias_periods_s[0]).replace(' ', '')}-or-alias"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a port of a group is known to do."""

    lag_s: float
    log_chance: float


def _own(port: SeenPort, load: Load | None, *, known: _Known, usual_bps: float, n_others: int) -> Member:
    """Return a port of the group; all that it moves is the job's, if no other job was found on it."""
    is_own = n_others == 0
    part_bps = port.mean_bps if is_own or load is None else load.beat_bps
    return _member(
        port,
        role="port" if is_own else "uplink",
        lag_s=known.lag_s,
        weight=port.mean_bps / max(usual_bps, 1.0) if load is None else load.weight,
        part_bps=part_bps,
        confidence=_confidence(known.log_chance),
    )


def _carrier(port: SeenPort, load: Load, *, n_others: int) -> Member:
    """Return a port that was found to carry the job; one of its own, if it carries much of it, or little else."""
    is_much = load.weight >= OWN_WEIGHT or (load.beat_bps or 0.0) >= OWN_FRAC * port.mean_bps
    return _member(
        port,
        role="port" if n_others == 0 and is_much else "uplink",
        lag_s=load.lag_s,
        weight=load.weight,
        part_bps=load.beat_bps,
        confidence=_confidence(load.log_chance),
    )


def _member(
    port: SeenPort, *, role: Role, lag_s: float, weight: float, part_bps: float | None, confidence: float
) -> Member:
    mean_bps = None if part_bps is None else min(part_bps, port.mean_bps)
    return Member(
        host=port.host,
        device=port.device,
        port=port.port,
        direction=port.direction,
        role=role,
        lag_s=lag_s,
        weight=weight,
        mean_bps=mean_bps,
        share_frac=None if mean_bps is None or port.mean_bps <= 0 else mean_bps / port.mean_bps,
        confidence=confidence,
    )


def _confidence(log_chance: float) -> float:
    return float(min(MOST_CONFIDENCE, 1 - np.exp(log_chance)))
