"""Follow the iterations of a job from burst to burst as samples arrive, between one detection and the next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.errors import UsageError
from profiler.live.absence import Absence, Beat
from profiler.live.bins import Bins
from profiler.live.fits import Fits
from profiler.live.lengths import Change, Lengths
from profiler.live.lookout import N_PERIODS_KEPT, Lookout
from profiler.live.prediction import Prediction
from profiler.live.repeat import N_REPEATS, NEAR_FRAC
from profiler.live.shape import LEAD_FRAC, Shape
from profiler.period.peaks import vertex
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from profiler.live.event import LiveEvent

__all__ = ["BINS_PER_PERIOD", "MIN_BINS_PER_PERIOD", "Tracker"]

BINS_PER_PERIOD: Final = 64
MIN_BINS_PER_PERIOD: Final = 8
"""With fewer samples an iteration there is no shape to follow."""
STEPS_PER_PERIOD: Final = 8
"""The newest bins are looked at this often, in steps counted from the first bin: how samples come in chunks changes
nothing."""
PIECE_PERIODS: Final = 8
"""Samples of a longer time are taken in pieces."""
HOLE_PERIODS: Final = 0.25
"""A window longer than this may hide a burst."""

PRIOR: Final = 0.1
"""What a match at the end of the reach must be better by than one at its middle."""
PART_SLACK: Final = 0.1
"""Jitter moves the median distance of bursts within an iteration further from a part than that of iterations."""
PART_LIKENESS: Final = 0.9
"""A part of the period is no period unless the shape's parts are about as alike as iterations are."""
QUIET_FRAC: Final = 0.2
"""A period that moves a smaller part of the usual bytes above the Down level is silent."""
LONG_SILENCE: Final = 10.0
"""Periods of silence after which what came before it is no part of what comes after it."""
HIDDEN_PART: Final = 0.42
"""Of a job that one of its size joined, 0.44 to 0.87 was found in its place; after changes of pace 0.38 at most."""
SLIGHT_FRAC: Final = 0.2
"""Bursts of a job whose pace changes by less still fit their shape as well as before."""
HIDDEN_AFTER: Final = 4.0
"""In periods of traffic without the beat: as many are needed to tell a job from another one on top of it."""
OVERDUE: Final = 1.1
"""In periods after an iteration should have begun: by now it would have been seen, had it come within its reach."""


class Tracker:
    """A phase-locked loop on the iterations of one counter.

    Parameters
    ----------
    period_s
        The period to follow.
    rate_bps
        Rates over one iteration, starting with its first burst; any number of bins.
    origin_ns
        Time at which the traffic that is given to `add` begins.
    start_ns
        Time at which some iteration began.
    sample_s
        Time between samples.

    Attributes
    ----------
    period_s
        The period that is followed.
    new_period_s
        Set once the iterations have another period; the tracker then stands still and is to be replaced.
    left_beat
        Whether that was told by a repetition after the old shape was left: it may then be the old period.

    Raises
    ------
    UsageError
        If an iteration has fewer than eight samples.

    Notes
    -----
    The shape is correlated with the newest bins; the best match near the prediction is the next start. Prediction and
    period follow its deviation (see `prediction`). Where nothing matches there is silence, which is a pause and at
    last the end, or traffic without the beat, in which a new repetition is looked for. Before another length or a new
    repetition is believed, the old shape is looked for at its even beat: if it is still there another job has joined.
    """

    def __init__(
        self, *, period_s: float, rate_bps: NDArray[np.float64], origin_ns: int, start_ns: int, sample_s: float
    ) -> None:
        n_bins = min(BINS_PER_PERIOD, int(period_s / sample_s * (1 + 1e-9)))
        if n_bins < MIN_BINS_PER_PERIOD:
            raise UsageError(
                f"Tracker: period {period_s} s has {n_bins} samples of {sample_s} s, {MIN_BINS_PER_PERIOD} are needed"
            )
        self.period_s = period_s
        self.new_period_s: float | None = None
        self.left_beat = False
        self._n_bins = n_bins
        self._shape = Shape(_resampled(rate_bps, n_bins))
        self._bins = Bins(
            origin_ns=origin_ns,
            bin_s=period_s / n_bins,
            n_kept=N_PERIODS_KEPT * n_bins,
            hole_s=max(HOLE_PERIODS * period_s, 2 * sample_s),
        )
        self._absence = Absence(self._bins, period_s=period_s, n_bins=n_bins)
        self._lookout = Lookout(self._bins, n_bins=n_bins)
        self._fits = Fits()
        self._lengths = Lengths()
        self._block = max(1, n_bins // STEPS_PER_PERIOD)
        self._at = 0
        self._since: float | None = None
        start_s = (start_ns - origin_ns) / NS_PER_S % period_s
        self._next = Prediction(n_bins=n_bins, expected=self._shape.lead + start_s / self._bins.bin_s)
        self._scan = 0

    @property
    def beat(self) -> Beat:
        """``held`` while iterations come; else why they do not."""
        return self._absence.beat

    @property
    def n_regular(self) -> int:
        """Iterations that came when they were expected."""
        return self._next.n_regular

    @property
    def mean_s(self) -> float:
        """Mean length of the iterations that were followed; the period while they are few."""
        return self._lengths.mean_s() or self.period_s

    @property
    def noticed_ns(self) -> int:
        """Time up to which bins were looked at."""
        return self._bins.at_ns(self._at)

    @property
    def since_ns(self) -> int:
        """Time from which on the beat is the new one, or the old one again, or is missing."""
        place = self._since if self._since is not None else self._absence.since
        return self._bins.at_ns(0.0 if place is None else place)

    @property
    def left_ns(self) -> int | None:
        """Time from which on the beat has been missing; None while it is held."""
        return None if self._absence.since is None else self._bins.at_ns(self._absence.since)

    @property
    def next_start_ns(self) -> int:
        """Time at which the next iteration after the newest bin is expected to begin."""
        return self._bins.at_ns(self._next.following(self._bins.end))

    @property
    def phase_s(self) -> float:
        """Seconds into the present iteration."""
        return (self._bins.end - self._next.expected) % self._next.length * self._bins.bin_s

    @property
    def moved_s(self) -> float:
        """How far the starts have moved from an even beat of the period since they have been followed."""
        return self._next.moved * self._bins.bin_s

    @property
    def drift_frac(self) -> float:
        """The present length of an iteration over the period, less one."""
        return self._next.length / self._n_bins - 1

    def refutes(self, period_s: float) -> bool:
        """Return whether a period is a whole part of the followed one, and iterations do not repeat within."""
        n_parts = round(self.mean_s / period_s)
        is_part = n_parts >= 2 and abs(self.mean_s / n_parts / period_s - 1) <= PART_SLACK
        return is_part and self._shape.likeness_to_part(n_parts) < PART_LIKENESS * self._fits.usual

    def add(self, ends_ns: NDArray[np.int64], delta_bytes: NDArray[np.float64]) -> list[LiveEvent]:
        """Take the bytes of windows that follow those before, and return what happened.

        Parameters
        ----------
        ends_ns
            Ends of the windows, UTC epoch ns, increasing; shape (n_windows,).
        delta_bytes
            Bytes moved in each, shape (n_windows,).
        """
        step = max(1, self._block * STEPS_PER_PERIOD * PIECE_PERIODS)
        for first in range(0, ends_ns.size, step):
            self._bins.add(ends_ns[first : first + step], delta_bytes[first : first + step])
            self._at = max(self._at, self._first_kept())
            while self._at + self._block <= self._bins.end and self.new_period_s is None and self.beat != "ended":
                self._at += self._block
                self._step()
        return self._absence.told()

    def _first_kept(self) -> int:
        """Return the first place, in whole blocks, from which on all bins are still kept."""
        return max(0, -(-self._bins.first // self._block) * self._block)

    def _step(self) -> None:
        # Bins may have been forgotten since: after a hole, all of them.
        self._scan = max(self._scan, self._bins.first)
        if self._at - self._n_bins >= self._scan:
            fits = self._shape.match(self._bins.between(self._scan, self._at))
            found = self._near(fits) if self._scan <= self._limit else self._late(fits)
            if found is not None:
                self._accept(fits, found)
                return
        if self._next.overdue(self._at) > OVERDUE:
            self._miss()

    @property
    def _limit(self) -> int:
        """The last first bin of a window whose iteration begins within the reach of its prediction."""
        return math.floor(self._next.expected + self._next.reach) - self._shape.lead

    def _near(self, fits: NDArray[np.float64]) -> int | None:
        """Return the best match near the prediction, once nothing later can be better."""
        places = self._scan + np.arange(min(fits.size, self._limit - self._scan + 1))
        off = (places + self._shape.lead - self._next.expected) / self._next.reach
        best = int(np.argmax(fits[: places.size] - PRIOR * off**2))
        all_seen = fits.size >= self._limit - self._scan + 1
        if fits[best] >= self._fits.least_good and (all_seen or fits.size > best + self._block):
            return best
        if all_seen:
            self._scan = self._limit + 1
        return None

    def _late(self, fits: NDArray[np.float64]) -> int | None:
        """Return the first good match beyond the reach of the prediction."""
        best = int(np.argmax(fits))
        is_good = fits[best] >= self._fits.least_good
        settled = fits.size - 1 - self._block
        if is_good and settled >= best:
            return best
        self._scan += max(0, min(settled, best) if is_good else settled)
        return None

    def _accept(self, fits: NDArray[np.float64], found: int) -> None:
        """Take the next iteration, and see whether the newest ones have another length."""
        place = self._scan + found
        start = self._scan + vertex(fits, found) + self._shape.lead
        last, is_regular = self._next.last, self._next.take(start)
        self._fits.add(float(fits[found]))
        self._shape.follow(self._bins.between(place, place + self._n_bins))
        if last is not None and self._is_known(math.floor(last)):
            self._lengths.add((start - last) * self._bins.bin_s, is_regular=is_regular)
        self._scan = max(place + 1, self._first_near())
        # Up to here the newest iteration had the old shape.
        self._lookout.begin(start + (1 - LEAD_FRAC) * self._n_bins)
        self._absence.came(start, at=self._at, is_regular=is_regular)
        change = self._lengths.changed()
        if change is not None:
            self._judge(change, since=start - change.lasted_s / self._bins.bin_s)

    def _judge(self, change: Change, *, since: float) -> None:
        """Take another length of the newest iterations, unless traffic repeats otherwise: then some were skipped."""
        if abs(change.length_s / self.mean_s - 1) > SLIGHT_FRAC:
            if self._coasts(since, since=since):
                return
        elif not self._fits.are_alone(n_told := max(1, round(change.lasted_s / change.length_s))):
            # The old beat and a slightly other one both fit for a while: what lies on the bursts has moved them.
            self._lengths.forget_newest(n_told)
            return
        lag = self._lookout.between(
            max(self._bins.first, math.floor(since)),
            self._at,
            shape=self._shape,
            usual_fit=self._fits.usual,
            jitter_frac=self._jitter_frac,
        )
        repeats_s = change.length_s if lag is None else lag * self._bins.bin_s
        is_alike = abs(repeats_s / change.length_s - 1) <= NEAR_FRAC
        self._turn(change.length_s if is_alike else repeats_s, since=since)

    @property
    def _jitter_frac(self) -> float:
        return (self._lengths.spread_s() or 0.0) / self.period_s

    def _is_known(self, first: int) -> bool:
        """Return whether there were samples all the time from a place on: else an iteration may have gone unseen."""
        return not np.isnan(self._bins.between(first, self._at)).any()

    def _miss(self) -> None:
        """Tell silence from traffic without the beat."""
        newest = self._bins.between(self._at - self._n_bins, self._at)
        last, overdue = self._next.expected - self._next.length, self._next.overdue(self._at)
        if np.isnan(newest).any():
            self._lookout.begin(float(self._at))
            self._absence.forget_traffic()
            self._absence.without_samples(at=self._at, overdue=overdue, last=last)
        elif newest.mean() - self._shape.low_bps < QUIET_FRAC * self._shape.excess_bps:
            self._absence.silent(at=self._at, last_traffic=self._last_traffic(last))
            if self._at - (self._absence.silent_from or 0.0) >= LONG_SILENCE * self._n_bins:
                self._lookout.begin(float(self._at - self._block))
                self._absence.forget_traffic()
        elif overdue < HIDDEN_AFTER or not self._coasts(self._next.expected, since=self._next.expected):
            self._look_on()

    def _look_on(self) -> None:
        """Look for a new repetition in traffic that has left the beat."""
        lag = self._lookout.look(
            at=self._at,
            shape=self._shape,
            usual_fit=self._fits.usual,
            jitter_frac=self._jitter_frac,
        )
        if lag is None:
            self._absence.busy(at=self._at, n_new=self._block, missed=self._next.expected)
            return
        since = max(self._lookout.first, self._at - (N_REPEATS + 1) * lag)
        if not self._coasts(self._next.expected, since=since):
            self.left_beat = True
            self._turn(lag * self._bins.bin_s, since=since)

    def _coasts(self, anchor: float, *, since: float) -> bool:
        """Go on at the even beat if the shape is still there beneath other traffic, and return whether it is.

        It had a start, or should have had one, at ``anchor``; traffic since a place is looked at.
        """
        first, length = max(self._bins.first, math.floor(since)), self.mean_s / self._bins.bin_s
        rate_bps = self._bins.between(first, self._at)
        if self.beat != "held" or np.isnan(rate_bps).any():
            return False
        part, off = self._shape.part_in(rate_bps, start=anchor - first, length=length)
        # Of fewer iterations chance makes more.
        if part < HIDDEN_PART * max(1.0, math.sqrt(HIDDEN_AFTER * length / max(1, rate_bps.size))):
            return False
        start = anchor + off
        self._next.coast(start + math.ceil((self._at - start) / length) * length, length=length)
        self._scan = max(self._scan, self._first_near())
        self._lengths.forget_irregular()
        self._lookout.begin(float(self._at))
        self._absence.forget_traffic()
        return True

    def _first_near(self) -> int:
        """Return the first bin of a window whose iteration begins within the reach of its prediction."""
        return math.ceil(self._next.expected - self._next.reach) - self._shape.lead

    def _last_traffic(self, last: float) -> float:
        """Return the end of the newest burst, of those since the last iteration began."""
        first = max(self._bins.first, math.floor(last))
        up = np.flatnonzero(self._bins.between(first, self._at) > self._shape.low_bps + 0.5 * self._shape.excess_bps)
        return first + float(up[-1] + 1 if up.size else 0)

    def _turn(self, new_period_s: float, *, since: float) -> None:
        self.new_period_s, self._since = new_period_s, since


def _resampled(rate_bps: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Return rates over one period in another number of bins, with the same mean."""
    total = np.concatenate(([0.0], np.cumsum(rate_bps))) / rate_bps.size
    at = np.interp(np.linspace(0, 1, n_bins + 1), np.linspace(0, 1, rate_bps.size + 1), total)
    rates: NDArray[np.float64] = np.diff(at) * n_bins
    return rates
