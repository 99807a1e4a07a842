"""`beating_groups`: ports that beat alone, put together where they keep one beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from pipeline.discover.delays import at_once
from pipeline.discover.drift import Locks, locks
from pipeline.discover.kin import are_kin
from pipeline.discover.matches import agreement, match, stand_out
from pipeline.discover.pace import wander_s
from pipeline.discover.templates import Template, template_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.discover.ports import SeenPort
    from pipeline.discover.spectra import Spectra

__all__ = ["Group", "beating_groups", "grown", "line_energy"]

MAX_CHANCE: Final = 1e-3
"""Of fleets whose ports have nothing in common, one in a thousand would have two ports put together by chance."""
MIN_AGREEMENT: Final = 0.7
"""Ports of one job agree by 0.85 or more on real switches (by less where harmonics fold onto one another), those of
jobs with one period by 0.65 at most."""
LEAST_WANDER: Final = 3.0
"""Over the spread of a lag: ports of jobs that drift less than can be seen stray up to 2.8 times as far as they part,
those of one job as far as they happen to, often 20 times."""
N_ROUNDS: Final = 2
"""The template of the ports found first is sharper than the seed, and finds those that it missed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Ports that keep one beat, the seed first, and what each does; arrays of shape (n_rows,)."""

    rows: tuple[int, ...]
    lag_s: NDArray[np.float64]
    log_chance: NDArray[np.float64]
    template: Template


def beating_groups(
    ports: Sequence[SeenPort], spectra: Spectra, *, on_ports: Callable[[int], None] = lambda _n_ports: None
) -> list[Group]:
    """Return groups of the ports that beat alone, the clearest first; a port that beats with no other is one alone.

    Ports of trunks, where that is known, make no groups: what they carry is several jobs'. ``on_ports`` is called after
    each group with the number of its ports.
    """
    # A port that several jobs share may have more lines than any of theirs, but beats less surely.
    clarity = line_energy(spectra) * np.array([(port.confidence or 0.0) ** 2 for port in ports])
    left = [row for row in np.argsort(-clarity, kind="stable").tolist() if ports[row].beats and not ports[row].is_trunk]
    groups = []
    while left:
        group = grown(ports, left[0], rows=left, spectra=spectra, period_s=ports[left[0]].period_s)
        groups.append(group)
        taken = set(group.rows)
        left = [row for row in left if row not in taken]
        on_ports(len(group.rows))
    return groups


def grown(
    ports: Sequence[SeenPort], seed: int, *, rows: Sequence[int], spectra: Spectra, period_s: float | None
) -> Group:
    """Return the ports among ``rows`` that keep the beat of one of them.

    Notes
    -----
    Every port is compared with the template of those found before it, not with every other port, and only where it
    does something at the template's lines: n ports of m jobs cost n * m looks, and about n comparisons.

    A lag that is kept tells of one job only where the job's own time wanders. Where it keeps an even pace, what beats
    at another time may be another such job: it is left to a group of its own.
    """
    members, lag_s = [seed], np.zeros(1)
    log_chance = np.full(1, -np.inf)
    template = template_of(spectra, members, lags_s=lag_s, period_s=period_s)
    others = np.array([row for row in rows if row != seed], dtype=np.int64)
    for _ in range(N_ROUNDS):
        if not template.tells or not others.size:
            break
        limit = float(np.log(MAX_CHANCE / others.size))
        near = others[stand_out(template, spectra, rows=others)]
        found = match(template, spectra, rows=near, limit=limit)
        close = np.flatnonzero(found.log_chance <= limit)
        agree = agreement(template, spectra, rows=near[close], lags_s=found.lag_s[close]) >= MIN_AGREEMENT
        close = close[agree]
        kept = locks(template, spectra, rows=near[close], lags_s=found.lag_s[close])
        is_near = at_once(found.lag_s[close], dt_s=spectra.ticks.dt_s)
        keeps = close[kept.is_locked & _is_one_job(ports[seed], kept, is_near=is_near, period_s=period_s)]
        units = [ports[row].unit for row in (seed, *near[keeps].tolist())]
        keeps = keeps[are_kin(template, spectra, rows=np.append(seed, near[keeps]), units=units)[1:]]
        members = [seed, *near[keeps].tolist()]
        lag_s = np.append(0.0, found.lag_s[keeps])
        log_chance = np.append(-np.inf, found.log_chance[keeps])
        template = template_of(spectra, members, lags_s=lag_s, period_s=period_s)
    return Group(rows=tuple(members), lag_s=lag_s, log_chance=log_chance, template=template)


def _is_one_job(
    seed: SeenPort, kept: Locks, *, is_near: NDArray[np.bool_], period_s: float | None
) -> NDArray[np.bool_]:
    """Return which ports beat at once with one, or keep their lag to it while it strays from an even pace."""
    if period_s is None or is_near.all():
        return np.ones_like(is_near)
    return is_near | (LEAST_WANDER * kept.spread_s <= wander_s(seed, period_s=period_s))


def line_energy(spectra: Spectra) -> NDArray[np.float64]:
    """Return how much of each port stands in lines, shape (n_ports,)."""
    energy: NDArray[np.float64] = np.sum(np.where(spectra.is_line, np.abs(spectra.white) ** 2, 0.0), axis=1)
    return energy
