"""`job_of`: a group as a job: each of its ports with the part that it plays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.discover.result import FoundJob, Member
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipeline.discover.groups import Group
    from pipeline.discover.loads import Load
    from pipeline.discover.periods import Beat
    from pipeline.discover.ports import SeenPort
    from pipeline.discover.result import Role

__all__ = ["LOW_FRAC", "job_of", "named", "part_frac"]

MOST_CONFIDENCE: Final = 0.999
"""No evidence from one recording is surer."""
TWIN_CONFIDENCE: Final = 0.7
"""Of ports of 20 fleets that were said to carry a job which another may be taken for, 330 of 470 did."""
OWN_WEIGHT: Final = 0.2
"""A port that carries one job alone, and as much of it as one of the job's own ports, is one: ports of a job differ by
a few times at most, while a job that is sprayed over links puts a small part on each."""
OWN_FRAC: Final = 0.5
"""So is a port whose traffic is mostly the job's."""
LOW_FRAC: Final = 0.4
"""A port that beats, but with so much less of its traffic than a port of the job's own does, carries other traffic."""
SURE_Z: Final = 3.0
"""By so many standard errors jobs that fill a port may seem to be more than it moves."""
MAX_OVER_FRAC: Final = 0.05
"""What jobs do between bursts is not known better than to this part of a port's traffic."""


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
    loads = {row: load for row, of_port in enumerate(carried) for load in of_port if load.i_group == i_group}
    usual = _Usual(
        mean_bps=float(np.mean([ports[row].mean_bps for row in group.rows])),
        share_frac=max((part_frac(ports[row], loads.get(row)) for row in group.rows), default=0.0),
    )
    members = []
    for row in sorted(own.keys() | loads.keys()):
        load = loads.get(row)
        n_others = len(carried[row]) - (load is not None)
        if load is not None and n_others:
            load = _told(ports[row], load, of_port=carried[row])
        if row in own:
            known = _Known(lag_s=float(group.lag_s[own[row]]), log_chance=float(group.log_chance[own[row]]))
            members.append(_own(ports[row], load, known=known, usual=usual, n_others=n_others))
        elif load is not None:
            members.append(_carrier(ports[row], load, usual=usual, n_others=n_others))
    return FoundJob(
        job="",
        period_s=beat.period_s,
        alias_periods_s=beat.alias_periods_s,
        confidence=beat.confidence,
        members=tuple(members),
    )


def part_frac(port: SeenPort, load: Load | None) -> float:
    """Return which part of a port's traffic beats with a job, 0 where that is not known."""
    return 0.0 if load is None or load.beat_bps is None else load.beat_bps / max(port.mean_bps, 1.0)


def named(jobs: Sequence[FoundJob], *, twins_of: Sequence[Collection[int]]) -> tuple[FoundJob, ...]:
    """Return jobs by falling traffic, named by their periods; of one period the busier first."""
    order = sorted(range(len(jobs)), key=lambda i: (-jobs[i].own_bps, jobs[i].period_s or 0.0))
    bare = [_bare(jobs[i]) for i in order]
    n_alike, n_met = Counter(bare), Counter[str]()
    names = []
    for name in bare:
        n_met[name] += 1
        names.append(name if n_alike[name] == 1 else f"{name}-{n_met[name]}")
    name_of = dict(zip(order, names, strict=True))
    return tuple(
        replace(jobs[i], job=name_of[i], twins=tuple(sorted(name_of[twin] for twin in twins_of[i]))) for i in order
    )


def _bare(job: FoundJob) -> str:
    if job.period_s is not None:
        return f"beat-{format_duration(job.period_s).replace(' ', '')}"
    return f"beat-{format_duration(job.alias_periods_s[0]).replace(' ', '')}-or-alias"


def _told(port: SeenPort, load: Load, *, of_port: Sequence[Load]) -> Load:
    """Return what a port carries of one of several jobs: together no more than it moves, not known if they are."""
    known = [(one.beat_bps, one.error / one.weight) for one in of_port if one.beat_bps is not None]
    total_bps = sum(beat_bps for beat_bps, _ in known)
    if load.beat_bps is None or total_bps <= port.mean_bps:
        return load
    error_bps = float(np.hypot.reduce([beat_bps * error_frac for beat_bps, error_frac in known]))
    if total_bps - port.mean_bps > SURE_Z * error_bps + MAX_OVER_FRAC * port.mean_bps:
        return replace(load, beat_bps=None, range_bps=None)
    frac = port.mean_bps / total_bps
    low_bps, high_bps = load.range_bps or (load.beat_bps, load.beat_bps)
    return replace(load, beat_bps=frac * load.beat_bps, range_bps=(frac * low_bps, high_bps))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a port of a group is known to do."""

    lag_s: float
    log_chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usual:
    """What ports of a group usually do: their mean rate, and the part of their traffic that beats, at most."""

    mean_bps: float
    share_frac: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The mean rate of a job on a port, and what holds it in 95 of 100."""

    mean_bps: float | None = None
    range_bps: tuple[float, float] | None = None


def _own(port: SeenPort, load: Load | None, *, known: _Known, usual: _Usual, n_others: int) -> Member:
    """Return a port of the group; all that it moves is the job's, if it is one of its own."""
    is_own = n_others == 0 and not port.is_trunk and part_frac(port, load) >= LOW_FRAC * usual.share_frac
    part = _Part() if load is None else _Part(mean_bps=load.beat_bps, range_bps=load.range_bps)
    if is_own or load is None:
        part = _Part(mean_bps=port.mean_bps, range_bps=part.range_bps and (part.range_bps[0], port.mean_bps))
    return _member(
        port,
        role="port" if is_own else "uplink",
        lag_s=known.lag_s,
        weight=port.mean_bps / max(usual.mean_bps, 1.0) if load is None else load.weight,
        part=part,
        confidence=_confidence(known.log_chance, has_twin=load is not None and load.has_twin),
    )


def _carrier(port: SeenPort, load: Load, *, usual: _Usual, n_others: int) -> Member:
    """Return a port that was found to carry the job; one of its own, if it carries much of it, or little else.

    What several of the job's ports do that do not beat at once is their sum's.
    """
    frac = part_frac(port, load)
    is_much = load.n_lags == 1 and (frac >= OWN_FRAC or load.weight >= OWN_WEIGHT)
    is_low = port.beats and frac < LOW_FRAC * usual.share_frac
    return _member(
        port,
        role="port" if n_others == 0 and is_much and not is_low and not port.is_trunk else "uplink",
        lag_s=load.lag_s,
        weight=load.weight,
        part=_Part(mean_bps=load.beat_bps, range_bps=load.range_bps),
        confidence=_confidence(load.log_chance, has_twin=load.has_twin),
    )


def _member(port: SeenPort, *, role: Role, lag_s: float, weight: float, part: _Part, confidence: float) -> Member:
    mean_bps = None if part.mean_bps is None else min(part.mean_bps, port.mean_bps)
    low_bps, high_bps = (None if rate is None else min(rate, port.mean_bps) for rate in part.range_bps or (None, None))
    return Member(
        host=port.host,
        device=port.device,
        port=port.port,
        direction=port.direction,
        role=role,
        lag_s=lag_s,
        weight=weight,
        mean_bps=mean_bps,
        mean_low_bps=low_bps,
        mean_high_bps=high_bps,
        share_frac=None if mean_bps is None or port.mean_bps <= 0 else mean_bps / port.mean_bps,
        confidence=confidence,
    )


def _confidence(log_chance: float, *, has_twin: bool) -> float:
    return float(min(TWIN_CONFIDENCE if has_twin else MOST_CONFIDENCE, 1 - np.exp(log_chance)))
