"""`find_jobs`: the order of the steps from ports to jobs; read this first.

ports that beat alone -> groups that keep one beat -> what each port carries of them -> groups of pure ports only ->
groups of weak ports -> what each port carries of all -> jobs, members, uplinks, and why other ports are left out
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pipeline.discover.companions import weak_groups
from pipeline.discover.groups import Group, beating_groups
from pipeline.discover.loads import Load, Loads
from pipeline.discover.periods import Beat, beat_alone
from pipeline.discover.ports import MAX_TICKS, QUIET
from pipeline.discover.result import Discovery, Skipped
from pipeline.discover.roles import LOW_FRAC, job_of, named, part_frac
from pipeline.discover.spectra import Spectra, fleet_spectra
from pipeline.discover.steps import Steps
from pipeline.discover.templates import template_of
from pipeline.discover.ticks import MIN_TICKS, common_ticks
from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.discover.ports import SeenPort

__all__ = ["find_jobs"]

N_LOOKS: Final = 5
"""Times each port is looked at: its spectrum, its group, and what it carries of the groups first found, of pure ones,
and of weak ones too."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """A group and its beat."""

    group: Group
    beat: Beat


def find_jobs(
    ports: Sequence[SeenPort], *, on_step: Callable[[int, int], None] = lambda _n_done, _n_steps: None
) -> Discovery:
    """Group ports that beat together into jobs, and say which jobs each other port carries.

    Parameters
    ----------
    ports
        Each direction of each port, see `pipeline.discover.gather`.
    on_step
        Called as ports are compared with the number of looks at one done, and of all.

    Notes
    -----
    1. Ports that beat alone are put together where they do alike at every harmonic and keep their lag to one another:
       two jobs of one period drift (`pipeline.discover.groups`, `pipeline.discover.drift`).
    2. Every port is regressed on what the groups do (`pipeline.discover.shares`). Ports that carry several jobs are
       taken out of the groups, whose templates they would blur; a group all of whose ports carry others is none.
    3. Ports that neither beat nor carry anything are compared with one another, and groups of them judged together
       (`pipeline.discover.companions`).
    4. A job is a group whose beat two series or more have.
    """
    skipped = [Skipped.of(port, _quiet(port)) for port in ports if not port.varies]
    varying = [port for port in ports if port.varies]
    ticks = common_ticks(varying, most=MAX_TICKS)
    if ticks is None:
        why = f"recorded for fewer than {MIN_TICKS} ticks together with the others; record longer"
        return Discovery(jobs=(), skipped=(*skipped, *(Skipped.of(port, why) for port in varying)))
    far = [ticks.too_far(port) for port in varying]
    skipped += [Skipped.of(port, reason) for port, reason in zip(varying, far, strict=True) if reason is not None]
    near = [port for port, reason in zip(varying, far, strict=True) if reason is None]
    steps = Steps(N_LOOKS * len(near), on_step)
    spectra = fleet_spectra(near, ticks, on_port=steps.done)
    found = _searched(near, spectra, skipped=skipped, steps=steps)
    steps.finish()
    return found


def _searched(ports: Sequence[SeenPort], spectra: Spectra, *, skipped: list[Skipped], steps: Steps) -> Discovery:
    loads = Loads(ports, spectra, on_port=steps.done)
    groups = [group for group in beating_groups(ports, spectra, on_ports=steps.done) if group.template.tells]
    groups, blends = _own_beats(groups, loads)
    groups = _purified(ports, groups, loads.of(groups, blends=blends), spectra=spectra)
    carried = loads.of(groups, blends=blends)
    known = [_Known(group=group, beat=beat_alone([ports[row] for row in group.rows])) for group in groups]
    taken = {row for group in groups for row in group.rows}
    free = [row for row, of_port in enumerate(carried) if row not in taken and not of_port and not ports[row].is_trunk]
    weak, reasons = weak_groups(ports, spectra, rows=free)
    known += [_Known(group=group, beat=beat) for group, beat in weak]
    if weak:
        carried = loads.of([one.group for one in known], blends=blends)
    known, carried = _with_company(known, carried)
    twins_of = loads.twins([one.group for one in known])
    return _discovery(ports, known, carried, twins_of=twins_of, skipped=skipped, reasons=reasons)


def _own_beats(groups: list[Group], loads: Loads) -> tuple[list[Group], list[Group]]:
    """Return the groups without those that are blends of others, the least clear looked at first, and those."""
    screen = loads.screened(groups)
    blends: set[int] = set()
    for i in reversed(range(len(groups))):
        if loads.is_blend(i, groups, screen=screen, without=blends):
            blends.add(i)
    own = [group for i, group in enumerate(groups) if i not in blends]
    return own, [groups[i] for i in sorted(blends)]


def _purified(
    ports: Sequence[SeenPort], groups: list[Group], carried: list[list[Load]], *, spectra: Spectra
) -> list[Group]:
    """Return the groups without ports that carry others too, or much else, where any port is left."""
    purer = []
    for i, group in enumerate(groups):
        own = [next((load for load in carried[row] if load.i_group == i), None) for row in group.rows]
        fracs = [part_frac(ports[row], load) for row, load in zip(group.rows, own, strict=True)]
        pure = [
            k
            for k, row in enumerate(group.rows)
            if all(one.i_group == i for one in carried[row]) and fracs[k] >= LOW_FRAC * max(fracs)
        ]
        purer.append(group if len(pure) in (0, len(group.rows)) else _only(group, pure, spectra=spectra))
    return purer


def _only(group: Group, places: list[int], *, spectra: Spectra) -> Group:
    rows = tuple(group.rows[k] for k in places)
    lag_s = group.lag_s[places] - group.lag_s[places[0]]
    return Group(
        rows=rows,
        lag_s=lag_s,
        log_chance=group.log_chance[places],
        template=template_of(spectra, rows, lags_s=lag_s, period_s=group.template.period_s),
    )


def _with_company(known: list[_Known], carried: list[list[Load]]) -> tuple[list[_Known], list[list[Load]]]:
    """Return what is a job: a beat that two series have; of the others nothing is carried."""
    having = [set(one.group.rows) for one in known]
    for row, loads in enumerate(carried):
        for load in loads:
            having[load.i_group].add(row)
    place = {i: n for n, i in enumerate(i for i, rows in enumerate(having) if len(rows) > 1)}
    kept = [
        [replace(load, i_group=place[load.i_group]) for load in loads if load.i_group in place] for loads in carried
    ]
    return [known[i] for i in place], kept


def _discovery(
    ports: Sequence[SeenPort],
    known: list[_Known],
    carried: list[list[Load]],
    *,
    twins_of: Sequence[frozenset[int]],
    skipped: list[Skipped],
    reasons: dict[int, str],
) -> Discovery:
    in_jobs = {row for one in known for row in one.group.rows}
    in_jobs |= {row for row, loads in enumerate(carried) if loads}
    jobs = [job_of(ports, i, group=one.group, beat=one.beat, carried=carried) for i, one in enumerate(known)]
    left = [row for row in range(len(ports)) if row not in in_jobs]
    skipped += [Skipped.of(ports[row], reasons.get(row) or _alone(ports[row])) for row in left]
    return Discovery(jobs=named(jobs, twins_of=twins_of), skipped=tuple(skipped))


def _quiet(port: SeenPort) -> str:
    """Return why a port is not looked at."""
    if port.status not in QUIET:
        return f"{port.status}, but moves {format_rate(port.mean_bps)} on average: less than any job"
    return f"{port.status}: {port.reason}" if port.reason else port.status


def _alone(port: SeenPort) -> str:
    """Return why a port that varies is in no job."""
    if port.period_s is None:
        return f"{port.status} alone ({port.reason}), and beats with no other port"
    return f"beats every {format_duration(port.period_s)}, but with no other port"
