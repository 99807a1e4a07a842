"""A clock not much slower than the polls: single polls do not show it, their spectrum does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from profiler.refresh.agreement import agreement
from profiler.refresh.beat import are_streams, has_partial_borders, has_place, in_streams
from profiler.refresh.level import level_clock
from profiler.refresh.lines import Events, clocks_near
from profiler.refresh.wander import followed_clock

if TYPE_CHECKING:
    from profiler.refresh.clock import Refresh

__all__ = ["near_refresh"]

MIN_EVENTS: Final = 30
"""Fewer events than this show no clock."""
MIN_EVENT_FRAC: Final = 0.002
"""Where events are rarer than this among changes, the counter is no slower than the polls."""
SHORT_SPACING_FRAC: Final = 0.1
"""Changes are one tick apart if they are no more than a poll further apart than this part of them."""
USUAL_GAP: Final = 2.0
"""Gaps between polls longer than this many typical ones are holes."""
MAX_OFF: Final = 0.3
"""How far the frequency may be from that of the ticks counted, over the least of it and of its beat with the polls."""
MAX_OFF_UNEVEN: Final = 0.5
"""The same where gaps between polls are uneven, so that no other frequency looks the same."""
UNEVEN_GAPS: Final = 0.15
"""Standard deviation of uneven gaps between polls over their mean."""
MIN_AGREEMENT: Final = 0.75
"""Least part of the way from chance to certainty by which a clock says at which polls the value moves: clocks have 0.8
to 1, and the silences of jobs that happen to gather by an interval hardly ever more than 0.7."""
MIN_AGREEMENT_UNEVEN: Final = 0.5
"""The same where gaps between polls are uneven: clocks of real ports, read as unevenly, have 0.55 to 0.9."""
SURE_AGREEMENT: Final = 0.95
"""A clock that says it so well of stale polls amid steady streams is one wherever its bytes are: long bursts at round
times have a place among the polls by chance in 2 to 4 % of recordings."""
AS_GOOD: Final = 0.01
"""Where a clock of another interval agrees this nearly as well, the polls do not tell which it is."""
LEAST_SHIFTED: Final = 0.4
"""No phase makes a clock of a line that agrees less."""
SHIFTS: Final = (np.linspace(-0.24, 0.24, 25), np.linspace(-0.018, 0.018, 13))
"""Phases that are tried, in ticks: as far off as half a gap between polls may be, then finer about the best."""
ROUND_FRAC: Final = 1e-4
"""An interval this near to a round one is that: the clocks of devices are off by less."""
SAME_FRAC: Final = 0.01
"""Intervals that differ by less are one, seen by two lines."""


def near_refresh(t_s: NDArray[np.float64], delta_bytes: NDArray[np.float64], *, is_sparse: bool) -> Refresh | None:
    """Return the clock of a counter copied at 1.002 to 4 times the gap between polls, else None.

    Parameters
    ----------
    t_s
        Times of the polls in seconds, increasing, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).
    is_sparse
        The value hardly ever moves at two polls in a row.

    Notes
    -----
    The spectrum of the times at which events happen has a line at the clock's frequency, and its phase is the
    clock's (`lines`). Events are single polls that see nothing move while their neighbours do, or the changes where
    they are sparse. Of the strongest lines the clock is the one that says best at which polls the value moves
    (`agreement`), unless their bytes tell that they are silences of a job (`beat`). A clock that wanders has no line,
    and is followed (`wander`); it must agree as well as one that is sure.
    """
    moved = delta_bytes != 0
    events = _events(t_s, moved, is_sparse=is_sparse)
    if events is None or has_partial_borders(t_s, delta_bytes):
        return None
    counted_hz, polls_hz, is_even = _counted(t_s, moved)
    if counted_hz >= polls_hz:
        return None
    reach_hz = (MAX_OFF if is_even else MAX_OFF_UNEVEN) * min(counted_hz, polls_hz - counted_hz)
    low_hz, high_hz = counted_hz - reach_hz, counted_hz + reach_hz
    if is_even:
        low_hz, high_hz = _without_mirror(low_hz, high_hz, counted_hz=counted_hz, polls_hz=polls_hz)
    least = MIN_AGREEMENT if is_even else MIN_AGREEMENT_UNEVEN
    seen = _Seen(t_s=t_s, delta_bytes=delta_bytes, counted_hz=counted_hz, is_sparse=is_sparse)
    found = [seen.agreeing(clock) for clock in clocks_near(events, low_hz=low_hz, high_hz=high_hz)]
    if is_even:
        found = [_at_its_phase(agrees, clock, seen) for agrees, clock in found]
    if max((agrees for agrees, _ in found), default=0.0) >= least:
        return _best(found, seen)
    level = level_clock(t_s, delta_bytes)
    if level is not None:
        agrees, level = _at_its_phase(LEAST_SHIFTED, level, seen)
        return level if agrees >= MIN_AGREEMENT else None
    followed = followed_clock(events, low_hz=low_hz, high_hz=high_hz)
    if followed is None or seen.agreeing(followed)[0] < SURE_AGREEMENT:
        return None
    return _best([seen.agreeing(followed)], seen)


def _without_mirror(low_hz: float, high_hz: float, *, counted_hz: float, polls_hz: float) -> tuple[float, float]:
    """Return the part of a range on the side of half the frequency of even polls on which ticks were counted.

    To even polls a clock of frequency f and one of ``polls_hz - f`` look the same, but for how many ticks there are.
    """
    if counted_hz < 0.5 * polls_hz:
        return low_hz, min(high_hz, 0.5 * polls_hz)
    return max(low_hz, 0.5 * polls_hz), high_hz


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """What polls see.

    Parameters
    ----------
    t_s
        Their times in seconds, shape (n_polls,).
    delta_bytes
        By how much the value moved from each poll to the next, shape (n_polls - 1,).
    counted_hz
        How often it moves while there is traffic.
    is_sparse
        It hardly ever moves at two polls in a row.
    """

    t_s: NDArray[np.float64]
    delta_bytes: NDArray[np.float64]
    counted_hz: float
    is_sparse: bool

    def agreeing(self, clock: Refresh) -> tuple[float, Refresh]:
        """Return how well a clock agrees with the polls, and it."""
        return agreement(clock, self.t_s, moved=self.delta_bytes != 0), clock

    def are_streams(self) -> bool:
        """Return whether bursts are steady streams of many ticks."""
        return are_streams(self.delta_bytes) if self.is_sparse else in_streams(self.delta_bytes)

    def has_place(self, clock: Refresh) -> bool:
        """Return whether bytes have a place between the ticks of a clock."""
        return has_place(clock, self.t_s, seen_bytes=self.delta_bytes, counted=self.delta_bytes > 0)


def _at_its_phase(agrees: float, clock: Refresh, seen: _Seen) -> tuple[float, Refresh]:
    """Return how well a clock agrees at the phase at which it does best, and it.

    Notes
    -----
    Of polls on a lattice of ticks the middles of gaps tell the phase no better than to a part of the lattice; where
    that has a tick at a poll, the jitter of the poll decides by which one it is seen.
    """
    if not LEAST_SHIFTED <= agrees < SURE_AGREEMENT:
        return agrees, clock
    for shifts in SHIFTS:
        tried = (replace(clock, knots_ticks=clock.knots_ticks + shift) for shift in shifts)
        agrees, clock = max([(agrees, clock), *map(seen.agreeing, tried)], key=lambda one: one[0])
    return agrees, clock


def _best(found: list[tuple[float, Refresh]], seen: _Seen) -> Refresh | None:
    """Return the clock that agrees best, None if another one does nearly as well or it may be the silences of a job.

    Notes
    -----
    Bursts that come back after a whole number of ticks are told as well by a clock of a tick more or less in that
    time. Amid streams both put the same polls between the same ticks, and the likeliest is taken; elsewhere the one
    between the ticks of which bytes have no place.
    """
    agrees, best = max(found, key=lambda one: one[0])
    rivals = [clock for other, clock in found if other >= agrees - AS_GOOD]
    is_alone = all(abs(clock.interval_s / best.interval_s - 1) < SAME_FRAC for clock in rivals)
    if agrees < SURE_AGREEMENT:
        return best if is_alone and not seen.has_place(best) else None
    if seen.are_streams():
        return best if is_alone else _likeliest(rivals, seen)
    placeless = [clock for clock in ([best] if is_alone else rivals) if not seen.has_place(clock)]
    return placeless[0] if len(placeless) == 1 else None


def _likeliest(rivals: list[Refresh], seen: _Seen) -> Refresh | None:
    """Return the one of a round interval, or else of what was counted, which is exact where ticks are seen singly."""
    are_round = [clock for clock in rivals if _is_round(clock.interval_s)]
    if len(are_round) == 1:
        return are_round[0]
    return min(rivals, key=lambda clock: abs(1 / clock.interval_s - seen.counted_hz)) if seen.is_sparse else None


def _is_round(interval_s: float) -> bool:
    """Return whether an interval has one digit, as those that devices are set to have."""
    digits = interval_s / 10 ** np.floor(np.log10(interval_s * (1 + ROUND_FRAC)))
    return bool(abs(digits - np.round(digits)) <= ROUND_FRAC * digits)


def _events(t_s: NDArray[np.float64], moved: NDArray[np.bool_], *, is_sparse: bool) -> Events | None:
    """Return the changes where they are sparse, a tick being in each, else the stale polls, none being in any."""
    happened = moved
    if not is_sparse:
        happened = np.zeros(moved.size, dtype=bool)
        happened[1:-1] = moved[:-2] & ~moved[1:-1] & moved[2:]
    if np.count_nonzero(happened) < max(MIN_EVENTS, MIN_EVENT_FRAC * np.count_nonzero(moved)):
        return None
    return Events(mid_s=0.5 * (t_s[1:] + t_s[:-1]), happened=happened, phase=0.0 if is_sparse else 0.5)


def _counted(t_s: NDArray[np.float64], moved: NDArray[np.bool_]) -> tuple[float, float, bool]:
    """Return how often the value moves while there is traffic, how often it is polled, and whether that is even."""
    n_polls = np.diff(np.flatnonzero(moved))
    n_next = n_polls[n_polls <= np.quantile(n_polls, SHORT_SPACING_FRAC) + 1]
    gaps_s = np.diff(t_s)
    usual_s = gaps_s[gaps_s <= USUAL_GAP * np.median(gaps_s)]
    polls_hz = 1 / float(usual_s.mean())
    return polls_hz / float(n_next.mean()), polls_hz, bool(usual_s.std() < UNEVEN_GAPS * usual_s.mean())
