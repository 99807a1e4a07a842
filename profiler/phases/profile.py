"""`TrafficProfile`: the Up and Down phases of an iteration, measured or given."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import isnan
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

import numpy as np

from profiler.documents import Fields
from profiler.errors import UsageError
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

        Raises
        ------
        BadInput
            If a key is missing or a value is not what it should be.
        """
        given = Fields(document, place="profile")
        phases = given.objects("phases", what="phase")
        if "status" not in document:
            ups = [
                (phase.needed("start_s"), phase.needed("width_s"), phase.needed("rate_bps"))
                for phase in phases
                if phase.text("kind", default="up") == "up"
            ]
            return cls.from_phases(period_s=given.needed("period_s"), phases=ups)
        return cls(
            status=cast("Status", given.choice("status", STATUSES)),
            phases=tuple(_phase(phase) for phase in phases),
            outliers=tuple(_outlier(outlier) for outlier in given.objects("outliers", what="outlier")),
            others=tuple(cls.from_dict(other) for other in given.items("others")),
            fold_bps=np.array(given.numbers("fold_bps"), dtype=np.float64),
            anchor_ns=given.whole("anchor_ns"),
            **cast("dict[str, Any]", {name: given.text(name) for name in _TEXTS}),
            **cast("dict[str, Any]", {name: given.number(name, least=0.0) for name in _NUMBERS}),
            **cast("dict[str, Any]", {name: tuple(given.numbers(name)) for name in _LISTS}),
            warnings=tuple(given.texts("warnings")),
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


def _phase(given: Fields) -> Phase:
    return Phase(
        kind=cast("Literal['up', 'down']", given.choice("kind", ("up", "down"))),
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
