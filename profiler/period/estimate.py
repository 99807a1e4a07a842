"""`PeriodEstimate`: a series' iteration period, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from profiler.results import Tabular, json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    import altair as alt

    from profiler.period.status import Status

__all__ = ["PeriodEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeriodEstimate(Tabular):
    """The iteration period of a series.

    ``period_s`` is the median iteration, ``period_low_s`` to ``period_high_s`` its 95 % interval and
    ``period_error_s`` its standard error; nine of ten iterations take at most ``p90_period_s`` (None where
    single iterations cannot be told). ``confidence`` (0 to 1) is the chance that the period is right within 2 %;
    ``z`` the evidence it rests on (contrast of the autocorrelation at the period over what chance gives).
    ``jitter_frac`` is the robust standard deviation of an iteration's length over the period. ``starts_s`` are the
    iterations' starts, seconds after the series begins, shape (n_starts,); ``at_onsets`` tells whether they are the
    onsets of bursts or only the same point of each iteration. ``margin`` is how far the evidence exceeds that of
    the best fraction or multiple of the period (1: not at all). ``others`` are further jobs on the same counter, each
    with a period and iterations of its own. All are None, 0 or empty unless status is periodic.
    """

    status: Status
    reason: str
    period_s: float | None = None
    period_low_s: float | None = None
    period_high_s: float | None = None
    period_error_s: float | None = None
    p90_period_s: float | None = None
    confidence: float | None = None
    z: float | None = None
    n_cycles: float | None = None
    jitter_frac: float | None = None
    margin: float | None = None
    alias_periods_s: tuple[float, ...] = ()
    others: tuple[PeriodEstimate, ...] = ()
    need_more_s: float | None = None
    starts_s: NDArray[np.float64]
    at_onsets: bool = False
    method: str = ""

    def __post_init__(self) -> None:
        self.starts_s.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row an iteration that was followed: its start and its length."""
        starts_s = self.starts_s.tolist()
        lengths_s = [*np.diff(self.starts_s).tolist(), None] if starts_s else []
        return [{"start_s": start, "length_s": length} for start, length in zip(starts_s, lengths_s, strict=True)]

    def plot(self) -> alt.Chart:
        """Return the length of each iteration over time as an Altair chart."""
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=self.to_rows()[:-1]), title="iterations")
            .mark_point()
            .encode(x=alt.X("start_s:Q", title="start (s)"), y=alt.Y("length_s:Q", title="length (s)"))
        )
        return chart

    def __repr__(self) -> str:
        return f"PeriodEstimate({self.status}, period {format_duration(self.period_s)}: {self.reason})"
