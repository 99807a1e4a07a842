"""`Loads`: which jobs every port carries, found anew where jobs are known better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pipeline.discover.delays import are_blurred, lags_apart, together
from pipeline.discover.matches import Matches, agreement, lags_near, match
from pipeline.discover.shares import Carried, Reference, carried, likely, reference_of, unexplained
from pipeline.discover.spectra import transform
from pipeline.discover.twins import twins
from profiler.ports.fits import N_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pipeline.discover.floors import Swing
    from pipeline.discover.groups import Group
    from pipeline.discover.ports import SeenPort
    from pipeline.discover.spectra import Spectra
    from pipeline.discover.templates import Template

__all__ = ["Load", "Loads", "Screen"]

SCREEN_LOG_CHANCE: Final = float(np.log(0.5))
"""A job is tried on a port if chance would make it fit so well every other time: outbursts of other traffic, which the
regression cuts down, hide a job from a first look."""
LIKELY_LOG_CHANCE: Final = float(np.log(0.02))
"""Of a job that chance would make fit so well once in fifty all lags are tried at once."""
MOST_TRIED: Final = 8
"""Jobs tried on one port together, the likeliest first: more are hardly told apart by one recording."""
CLEAR_LOG_CHANCE: Final = float(np.log(1e-6))
CLEAR_FRAC: Final = 0.05
MATERIAL_LOG_CHANCE: Final = float(np.log(1e-4))
MATERIAL_FRAC: Final = 0.12
"""On a port of a group, another job's load counts if it is a part of the own one that ticks half a tick apart do not
leave over, and chance hardly makes it; or if it is more, and chance seldom makes it."""
TWIN_FRAC: Final = 0.3
"""So does a twin's if it is so great a part: of ports of one job alone that a twin is seen on, it is a smaller one."""
MIN_BLENDED: Final = 2
"""A blend is one of several jobs; what does as one other job is a part of it that was not recognised."""
SURE_T: Final = float(stdtrit(N_PARTS - 1, 0.975))
"""A standard error from so few parts holds the truth in 95 of 100 at so many times itself."""
MAX_LEFT_FRAC: Final = 0.3
"""Lines of a blend of which others leave less are theirs; those of a job of its own are left nearly whole."""
MAX_ALIKE_FRAC: Final = 0.06
"""Where many jobs have near periods, two of them do as a third does but for 0.12 to 0.3: blends of several ports leave
0.06 at most, or hardly more than the ports leave of one another."""
LEAST_APART: Final = 2.0
"""Others that leave more than so many times what a group's ports leave of one another may not be what these do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a port carries of a group's job.

    ``i_group`` is the group's place among those tried, ``weight`` the bits on the port for each bit of the mean port of
    the group, ``error`` its standard error; ``beat_bps`` the mean rate of what beats and ``range_bps`` what holds it in
    95 of 100, both None where the job does not tell; ``lag_s`` how much later than
    the group's first port it passes, the most of it if at ``n_lags`` lags; ``log_chance`` the log of the chance of so
    good a fit. ``has_twin`` is whether another job does not drift from the group's, and may be what is seen.
    """

    i_group: int
    weight: float
    error: float
    beat_bps: float | None
    range_bps: tuple[float, float] | None
    lag_s: float
    log_chance: float
    n_lags: int = 1
    has_twin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screen:
    """How likely each group is on each port, and its lag there; arrays of shape (n_groups, n_ports).

    ``accompanied`` are the ports of groups that have others.
    """

    lag_s: NDArray[np.float64]
    log_chance: NDArray[np.float64]
    accompanied: frozenset[int]

    def tried(self, row: int) -> list[int]:
        """Return the groups worth trying on a port, the likeliest first."""
        likely = np.flatnonzero(self.log_chance[:, row] <= SCREEN_LOG_CHANCE)
        order = np.argsort(self.log_chance[likely, row], kind="stable")
        tried: list[int] = likely[order][:MOST_TRIED].tolist()
        return tried


class Loads:
    """What ports carry of groups' jobs; a port is regressed again only if the groups tried on it change.

    Parameters
    ----------
    ports
        All ports that vary.
    spectra
        Theirs.
    on_port
        Called after each port of which it was found what it carries.
    """

    def __init__(
        self, ports: Sequence[SeenPort], spectra: Spectra, *, on_port: Callable[[], None] = lambda: None
    ) -> None:
        self._ports = ports
        self._spectra = spectra
        self._on_port = on_port
        self._references: dict[tuple[int, ...], Reference] = {}
        self._solved: dict[tuple[int, tuple[tuple[tuple[int, ...], float], ...]], list[Carried]] = {}
        self._matches: dict[Template, Matches] = {}
        # Ports of blends that agree with one another better than with the blend: perhaps a job of their own.
        self._unsure: set[int] = set()

    def of(self, groups: Sequence[Group], *, blends: Sequence[Group] = ()) -> list[list[Load]]:
        """Return what each port carries, in order of ports; ``blends`` are groups that are taken for several jobs'.

        Of a port that beats with a group, what it seems to carry of others must be clear or much: what a template
        leaves of a strong port is not only noise.
        """
        screen, twins_of = self.screened(groups), self.twins([*groups, *blends])
        own = {row: i for i, group in enumerate(groups) for row in group.rows}
        loads = []
        for row in range(len(self._ports)):
            regressed = self._regressed(row, groups, tried=screen.tried(row), screen=screen)
            loads.append(together(regressed))
            self._on_port()
        material = [_material(of_port, own.get(row), twins_of=twins_of) for row, of_port in enumerate(loads)]
        return [
            [replace(load, has_twin=load.has_twin or row in self._unsure) for load in of_port]
            for row, of_port in enumerate(_likely(material, own))
        ]

    def twins(self, groups: Sequence[Group]) -> list[frozenset[int]]:
        """Return for each group the others whose jobs may be taken for its."""
        known = np.ones(self._spectra.ticks.n_ticks, dtype=np.bool_)
        lines = [transform(self._reference(group).rate_bps, known)[0] for group in groups]
        return twins(
            np.array(lines),
            places=[group.template.skirts_at for group in groups],
            periods_s=[group.template.period_s for group in groups],
        )

    def screened(self, groups: Sequence[Group]) -> Screen:
        """Return which groups are worth trying on each port, and at which lag."""
        rows = np.arange(len(self._ports))
        matches: dict[Template, Matches] = {}
        for group in groups:
            near_s = lags_near(group.lag_s, dt_s=self._spectra.ticks.dt_s)
            matches[group.template] = self._matches.get(group.template) or match(
                group.template, self._spectra, rows=rows, lags_s=near_s, limit=SCREEN_LOG_CHANCE
            )
        self._matches = matches
        found = [matches[group.template] for group in groups]
        return Screen(
            lag_s=np.array([one.lag_s for one in found]).reshape(-1, rows.size),
            log_chance=np.array([one.log_chance for one in found]).reshape(-1, rows.size),
            accompanied=frozenset(row for group in groups if len(group.rows) > 1 for row in group.rows),
        )

    def is_blend(self, i_group: int, groups: Sequence[Group], *, screen: Screen, without: Collection[int]) -> bool:
        """Return whether a group does what several others, but for some, do together, and hardly anything else."""
        row = groups[i_group].rows[0]
        tried = [i for i in screen.tried(row) if i != i_group and i not in without]
        if sum(self._delays_s(groups[i]).size for i in tried) < MIN_BLENDED:
            return False
        loads = self._regressed(row, groups, tried=tried, screen=screen)
        if len(loads) < MIN_BLENDED:
            return False
        sources = [self._reference(groups[load.i_group]) for load in loads]
        left_frac = unexplained(
            self._reference(groups[i_group]),
            sources,
            lags_s=[load.lag_s for load in loads],
            ticks=self._spectra.ticks,
        )
        limit_frac = LEAST_APART * self._apart_frac(groups[i_group])
        if left_frac > min(MAX_LEFT_FRAC, max(MAX_ALIKE_FRAC, limit_frac)):
            return False
        if left_frac > limit_frac:
            self._unsure |= set(groups[i_group].rows)
        return True

    def _apart_frac(self, group: Group) -> float:
        """Return what ports of a group leave of one another; a single one may leave anything."""
        n = len(group.rows)
        if n == 1:
            return 1.0
        agree = agreement(group.template, self._spectra, rows=np.array(group.rows), lags_s=group.lag_s)
        # Each port is a part of the mean that it is compared with.
        return float(np.median(1 - agree**2)) * (n / (n - 1)) ** 2

    def _regressed(self, row: int, groups: Sequence[Group], *, tried: Sequence[int], screen: Screen) -> list[Load]:
        """Return a load for each group that a port carries, and for each lag of its ports at which it does.

        Beats at several lags may cancel where they meet, so that none of them alone is seen on a port: where no other
        port does as it does, all lags of what is likely there are tried at once.
        """
        first = [(i, float(screen.lag_s[i, row])) for i in tried]
        found = self._carried(row, groups, first)
        at_once = {load.i_group for load in found}
        if row not in screen.accompanied:
            at_once |= {i for i in tried if screen.log_chance[i, row] <= LIKELY_LOG_CHANCE}
        more = [(i, lag_s) for i, near_s in first if i in at_once for lag_s in self._others_s(row, groups[i], near_s)]
        if not more:
            return found
        passed = {(load.i_group, load.lag_s) for load in self._carried(row, groups, [*first, *more])}
        # A lag at which nothing is carried would take part of what is carried at another.
        return self._carried(row, groups, [*first, *(one for one in more if one in passed)])

    def _others_s(self, row: int, group: Group, near_s: float) -> list[float]:
        """Return the other lags at which a port may carry a group's job; one of its own ports has its own alone."""
        if row in group.rows:
            return []
        delays_s = self._delays_s(group)
        at = int(np.abs(delays_s - near_s).argmin())
        others: list[float] = (np.delete(delays_s, at) + near_s - delays_s[at]).tolist()
        return others

    def _delays_s(self, group: Group) -> NDArray[np.float64]:
        return lags_apart(group.lag_s, dt_s=self._spectra.ticks.dt_s)

    def _carried(self, row: int, groups: Sequence[Group], tried: Sequence[tuple[int, float]]) -> list[Load]:
        """Return which of these groups, each at a lag, a port carries."""
        key = (row, tuple((groups[i].rows, lag_s) for i, lag_s in tried))
        references = [self._reference(groups[i]) for i, _ in tried]
        if tried and key not in self._solved:
            self._solved[key] = carried(
                self._ports[row],
                self._spectra.ticks,
                references=references,
                lags_s=[lag_s for _, lag_s in tried],
                counted=self._spectra.power[row] > 0,
            )
        return [self._load(row, groups, tried[one.i_job], one=one) for one in (self._solved[key] if tried else [])]

    def _load(self, row: int, groups: Sequence[Group], tried: tuple[int, float], *, one: Carried) -> Load:
        """Return what a port carries; no rate of a stranger where the lags of the job's ports blur their sum."""
        i_group, lag_s = tried
        group = groups[i_group]
        is_blurred = row not in group.rows and are_blurred(group.lag_s, dt_s=self._spectra.ticks.dt_s)
        swing = None if is_blurred else self._reference(group).swing
        return Load(
            i_group=i_group,
            weight=one.weight,
            error=one.error,
            beat_bps=None if swing is None else one.weight * swing.mean_bps,
            range_bps=None if swing is None else _range_bps(one, swing),
            lag_s=lag_s,
            log_chance=one.log_chance,
        )

    def _reference(self, group: Group) -> Reference:
        if group.rows not in self._references:
            members = [self._ports[row] for row in group.rows]
            self._references[group.rows] = reference_of(
                members, self._spectra.ticks, lags_s=group.lag_s, template=group.template
            )
        return self._references[group.rows]


def _material(loads: list[Load], own: int | None, *, twins_of: Sequence[frozenset[int]]) -> list[Load]:
    """Return loads of a port without those that its own group's template may have left over.

    A twin may be what is seen of any load but of the port's own group's, where no load of the twin is seen beside it.
    """
    has_twin = {load.i_group for load in loads if twins_of[load.i_group]}
    if own is None:
        return [replace(load, has_twin=load.i_group in has_twin) for load in loads]
    if not any(load.i_group in twins_of[own] for load in loads):
        has_twin.discard(own)
    own_bps = max((load.beat_bps or 0.0 for load in loads if load.i_group == own), default=0.0)
    kept = []
    for load in loads:
        frac = (load.beat_bps or 0.0) / max(own_bps, 1.0)
        is_clear = load.log_chance <= CLEAR_LOG_CHANCE and frac >= CLEAR_FRAC
        is_much = load.log_chance <= MATERIAL_LOG_CHANCE and frac >= MATERIAL_FRAC
        if load.i_group in twins_of[own]:
            is_clear, is_much = is_clear and frac >= TWIN_FRAC, False
        if load.i_group == own or is_clear or is_much:
            kept.append(replace(load, has_twin=load.i_group in has_twin))
    return kept


def _likely(loads: list[list[Load]], own: Mapping[int, int]) -> list[list[Load]]:
    """Return loads without those of a job that are no surer than chance makes some of so many ports look."""
    strangers: dict[int, list[Load]] = {}
    for row, of_port in enumerate(loads):
        for load in of_port:
            if own.get(row) != load.i_group:
                strangers.setdefault(load.i_group, []).append(load)
    likely_ids = set()
    for of_group in strangers.values():
        passed = likely(np.array([load.log_chance for load in of_group]), n_tested=len(loads))
        likely_ids |= {id(load) for load, is_likely in zip(of_group, passed, strict=True) if is_likely}
    return [
        [load for load in of_port if own.get(row) == load.i_group or id(load) in likely_ids]
        for row, of_port in enumerate(loads)
    ]


def _range_bps(one: Carried, swing: Swing) -> tuple[float, float]:
    """Return bounds of a mean rate, from those of the share and of what the job's ports move in bursts.

    The two are independent: how far off each may be adds in squares.
    """
    told_bps = one.weight * swing.mean_bps
    half_bps = SURE_T * one.error * swing.mean_bps
    below_bps = np.hypot(half_bps, one.weight * (swing.mean_bps - swing.low_bps))
    above_bps = np.hypot(half_bps, one.weight * (swing.high_bps - swing.mean_bps))
    return max(0.0, float(told_bps - below_bps)), float(told_bps + above_bps)
