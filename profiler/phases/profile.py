"""`TrafficProfile`: the Up and Down phases of an iteration, measured or given."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

import numpy as np

from profiler.documents import Fields
from profiler.errors import BadInput, UsageError
from profiler.period.length import Z95
from profiler.period.status import STATUSES
from profiler.phases.phase import Outlier, Phase, check_phases, with_downs
from profiler.results import Tabular, json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt
    from numpy.typing import NDArray

    from profiler.period.status import Status

__all__ = ["Outlier", "Phase", "TrafficProfile", "with_downs"]


MAX_RATE_BPS: Final = 1e18
"""A million times what the fastest ports of today send."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficProfile(Tabular):
    """What one traffic series does in an iteration, or why that cannot be said.

    ``phases`` are in order of time, begin with the first Up phase at 0 s and sum to ``period_s``. ``anchor_ns`` is
    the time (UTC epoch ns) at which such a first Up phase began. ``period_error_s`` is the standard error of
    ``period_s``; None means the period is exact. Nine of ten iterations take at most ``p90_period_s``.
    ``levels_bps`` are the rates of traffic without a period in equal shares of the time, the quietest first; their mean
    is ``mean_bps``. ``fold_bps`` is the folded demand, shape (n_bins,), or empty. ``others`` are further jobs on the
    same counter, each with a profile of its own traffic alone, and ``other_periods_s`` their periods.
    ``repeated_frac`` is that of `RateSeries` where the counter is busy; None where no reading repeats.
    """

    status: Status
    reason: str = ""
    host: str = ""
    device: str = ""
    port: str = ""
    direction: str = ""
    layer: str = ""
    period_s: float | None = None
    period_low_s: float | None = None
    period_high_s: float | None = None
    period_error_s: float | None = None
    p90_period_s: float | None = None
    confidence: float | None = None
    n_cycles: float | None = None
    jitter_frac: float | None = None
    other_periods_s: tuple[float, ...] = ()
    alias_periods_s: tuple[float, ...] = ()
    mean_bps: float | None = None
    peak_bps: float | None = None
    levels_bps: tuple[float, ...] = ()
    duty_frac: float | None = None
    repeated_frac: float | None = None
    need_more_s: float | None = None
    anchor_ns: int | None = None
    phases: tuple[Phase, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    others: tuple[TrafficProfile, ...] = ()
    warnings: tuple[str, ...] = ()
    fold_bps: NDArray[np.float64]
    method: str = ""

    def __post_init__(self) -> None:
        self.fold_bps.setflags(write=False)
        if self.status == "periodic" and (self.period_s is None or not self.phases):
            raise UsageError("a periodic profile needs a period and its phases")
        if self.period_s is not None and not 0 < self.period_s < float("inf"):
            raise UsageError(f"period_s {self.period_s!r}: must be positive and finite")
        if not all(0 <= level_bps < float("inf") for level_bps in self.levels_bps):
            raise UsageError(f"levels_bps {self.levels_bps}: rates are finite and not negative")
        check_phases(self.phases, self.period_s)

    @classmethod
    def from_phases(cls, *, period_s: float, phases: Sequence[tuple[float, float, float]]) -> Self:
        """Make an exact profile from Up phases.

        Parameters
        ----------
        period_s
            Iteration period in seconds; taken as exact.
        phases
            ``(start_s, width_s, rate_bps)`` of each Up phase, in any order; time outside them is Down at rate 0.

        Raises
        ------
        UsageError
            If a phase is empty, negative, longer than the period, or overlaps another.

        Examples
        --------
        >>> vgg = TrafficProfile.from_phases(period_s=0.255, phases=[(0.0, 0.114, 400e6)])
        >>> vgg.duty_frac
        0.447...
        """
        if not 0 < period_s < float("inf"):
            raise UsageError(f"period_s {period_s!r}: must be positive and finite")
        if any(isnan(rate_bps) for _, _, rate_bps in phases):
            raise UsageError("rate_bps of a phase is not a number; an exact profile needs the rate of every Up phase")
        fastest_bps = max((rate_bps for _, _, rate_bps in phases), default=0.0)
        if fastest_bps > MAX_RATE_BPS:
            raise UsageError(f"rate_bps {fastest_bps:g} of a phase: no port sends so fast; give bit/s")
        ups = tuple(
            Phase(kind="up", start_s=start_s, width_s=width_s, rate_bps=rate_bps, peak_bps=rate_bps)
            for start_s, width_s, rate_bps in sorted(phases)
        )
        check_phases(ups, period_s)
        up_s = sum(phase.width_s for phase in ups)
        volume_bits = sum(phase.width_s * phase.rate_bps for phase in ups)
        return cls(
            status="periodic",
            period_s=period_s,
            period_low_s=period_s,
            period_high_s=period_s,
            confidence=1.0,
            phases=with_downs(ups, period_s=period_s),
            duty_frac=up_s / period_s,
            mean_bps=volume_bits / period_s,
            peak_bps=max((phase.rate_bps for phase in ups), default=0.0),
            fold_bps=np.zeros(0),
            method="given",
        )

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Make a profile from one entry of a ``profile`` document, or from ``{"period_s", "phases"}``.

        The latter is written by hand, and exact but for what else it tells, such as ``jitter_frac``,
        ``period_error_s`` (or the 95 % interval ``period_low_s``, ``period_high_s``) and ``anchor_ns``.

        Raises
        ------
        BadInput
            If a key is missing, a value is not what it should be, phases are not those of one iteration, or a profile
            written by hand has a key that nobody reads.
        """
        given = Fields(document, place="profile")
        try:
            return cls._measured(given) if "status" in document else cls._written(given)
        except UsageError as error:
            raise BadInput(f"profile: {error}") from None

    @classmethod
    def _measured(cls, given: Fields) -> Self:
        return cls(
            status=cast("Status", given.choice("status", STATUSES)),
            phases=tuple(_phase(phase) for phase in given.objects("phases", what="phase")),
            outliers=tuple(_outlier(outlier) for outlier in given.objects("outliers", what="outlier")),
            others=tuple(cls.from_dict(other) for other in given.items("others")),
            fold_bps=np.array(given.numbers("fold_bps"), dtype=np.float64),
            **_told(given),
        )

    @classmethod
    def _written(cls, given: Fields) -> Self:
        given.only(_WRITTEN)
        period_s, told = given.needed("period_s"), _told(given)
        _check_ranges(told, period_s=period_s)
        ups = _ups(given)
        exact = cls.from_phases(period_s=period_s, phases=[(up.start_s, up.width_s, up.rate_bps) for up in ups])
        ups = [replace(up, peak_bps=up.rate_bps if up.peak_bps is None else up.peak_bps) for up in ups]
        return replace(
            exact,
            phases=with_downs(ups, period_s=period_s),
            **{name: value for name, value in told.items() if value not in (None, "", ())},
        )

    @property
    def label(self) -> str:
        """``host/device/direction``, without the parts that are empty."""
        return "/".join(part for part in (self.host, self.device, self.port, self.direction) if part)

    @property
    def up_s(self) -> float:
        """Seconds of an iteration spent communicating."""
        return sum(phase.width_s for phase in self.phases if phase.kind == "up")

    def to_dict(self) -> dict[str, Any]:
        """Return one entry of the ``profile`` document of DESIGN section 6."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a phase."""
        return [asdict(phase) for phase in self.phases]

    def plot(self) -> alt.Chart:
        """Return the folded demand over one iteration as an Altair step chart."""
        import altair as alt

        times_s, rates_bps = self.steps()
        steps = zip(times_s, rates_bps, strict=True)
        rows = json_ready([{"t_s": t_s, "rate_bps": rate_bps} for t_s, rate_bps in steps])
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows), title=self.label or "profile")
            .mark_line(interpolate="step-after")
            .encode(x=alt.X("t_s:Q", title="time in iteration (s)"), y=alt.Y("rate_bps:Q", title="rate (bit/s)"))
        )
        return chart

    def steps(self) -> tuple[list[float], list[float]]:
        """Return times (s) and the rate (bit/s) from each on, over one iteration; the last repeats the first rate."""
        if self.fold_bps.size and self.period_s is not None:
            bin_s = self.period_s / self.fold_bps.size
            times_s = [i * bin_s for i in range(self.fold_bps.size + 1)]
            return times_s, [*self.fold_bps.tolist(), float(self.fold_bps[0])]
        times_s = [phase.start_s for phase in self.phases]
        rates_bps = [phase.rate_bps for phase in self.phases]
        return [*times_s, self.period_s or 0.0], [*rates_bps, *rates_bps[:1]]

    def __repr__(self) -> str:
        period = format_duration(self.period_s)
        return f"TrafficProfile({self.label or '-'}: {self.status}, period {period}, {len(self.phases)} phases)"


_TEXTS: Final = ("reason", "host", "device", "port", "direction", "layer", "method")
_LISTS: Final = ("other_periods_s", "alias_periods_s", "levels_bps")
_NUMBERS: Final = tuple(f.name for f in fields(TrafficProfile) if str(f.type) == "float | None")
_WRITTEN: Final = ("phases", *_NUMBERS, *_LISTS, *_TEXTS, "anchor_ns", "warnings")
_OF_PHASE: Final = tuple(f.name for f in fields(Phase))


def _told(given: Fields) -> dict[str, Any]:
    """Return what a document says of an iteration but its phases; None and empty where it says nothing."""
    return {
        "anchor_ns": given.whole("anchor_ns"),
        **{name: given.text(name) for name in _TEXTS},
        **{name: given.number(name, least=0.0) for name in _NUMBERS},
        **{name: tuple(given.numbers(name)) for name in _LISTS},
        "warnings": tuple(given.texts("warnings")),
    }


def _check_ranges(told: dict[str, Any], *, period_s: float) -> None:
    """Check what is told of a period, and take its error from its 95 % interval if only that is told."""
    low_s, high_s = (period_s if told[name] is None else told[name] for name in ("period_low_s", "period_high_s"))
    if not low_s <= period_s <= high_s:
        raise UsageError(f"period_s {period_s!r} does not lie in period_low_s {low_s!r} to period_high_s {high_s!r}")
    if told["jitter_frac"] is not None and told["jitter_frac"] >= 1:
        raise UsageError(f"jitter_frac {told['jitter_frac']!r}: must lie in 0 to 1; give a fraction of the period")
    if told["period_error_s"] is None and low_s < high_s:
        told["period_error_s"] = max(period_s - low_s, high_s - period_s) / Z95


def _ups(given: Fields) -> list[Phase]:
    """Return the Up phases that are written, in order of time; what lies between them is Down and silent."""
    written = given.objects("phases", what="phase")
    for one in written:
        one.only(_OF_PHASE)
    phases = sorted((_phase(one, kind="up") for one in written), key=lambda phase: phase.start_s)
    for phase in phases:
        if phase.kind == "down" and phase.rate_bps > 0:
            raise UsageError(f"phase at {phase.start_s} s is down at {phase.rate_bps:g} bit/s; write it as one up")
    return [phase for phase in phases if phase.kind == "up"]


def _phase(given: Fields, *, kind: str = "") -> Phase:
    """Return a phase, of this kind where none is told."""
    return Phase(
        kind=cast("Literal['up', 'down']", given.choice("kind", ("up", "down"), default=kind)),
        start_s=given.needed("start_s"),
        width_s=given.needed("width_s"),
        rate_bps=given.needed("rate_bps"),
        width_low_s=given.number("width_low_s", least=0.0),
        width_high_s=given.number("width_high_s", least=0.0),
        peak_bps=given.number("peak_bps", least=0.0),
    )


def _outlier(given: Fields) -> Outlier:
    return Outlier(
        t_ns=given.whole("t_ns") or 0,
        duration_s=given.needed("duration_s", least=0.0),
        moved_bytes=given.number("moved_bytes", least=0.0),
        kind=cast("Literal['long', 'large']", given.choice("kind", ("long", "large")))
        if given.text("kind")
        else "long",
    )
