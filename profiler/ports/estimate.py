"""`PortsEstimate`: the period that ports of one job have together, or the reason why they have none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from profiler.results import Tabular, json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    import altair as alt

    from profiler.period.status import Status
    from profiler.ports.aliases import AliasPeriod

__all__ = ["PortPhase", "PortsEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPhase:
    """One port's part in an estimate.

    ``nats`` is minus the log of the chance that its own noise has the comb, ``own_nats`` the same of
    the comb it has most of alone, at ``own_period_s``; ``agrees`` is whether it has it: a port that
    is too weak to tell, or has another period, does not. ``delay_s`` is how much later than the others it does the
    same, within half a period either way, None where it does not agree.
    """

    name: str
    nats: float
    own_period_s: float
    own_nats: float
    agrees: bool
    delay_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PortsEstimate(Tabular):
    """The iteration period of ports evaluated together.

    ``period_s`` is the pace of the iterations, ``low_s`` to ``high_s`` its 95 % interval, and ``error_s`` its standard
    error, from how far stretches of the recording, all ports together, stray from it: noise that ports do not share
    averages out, the job's own jitter does not. ``port_error_s`` is the part of it that the differences between ports
    show (the jackknife over them), None where there is one port. ``chance`` is that
    of noise having such a comb anywhere; ``margin_nats`` the evidence over parts and multiples of the period. Where a
    period is under four ticks, ``alias_periods_s`` are those that could not be told apart by one port, and
    ``aliases`` what the ports say of each. All are None or empty unless status is periodic; aliases also if it is
    undersampled.
    """

    status: Status
    reason: str
    period_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    error_s: float | None = None
    port_error_s: float | None = None
    confidence: float | None = None
    chance: float | None = None
    margin_nats: float | None = None
    alias_periods_s: tuple[float, ...] = ()
    alias_margin: float | None = None
    aliases: tuple[AliasPeriod, ...] = ()
    ports: tuple[PortPhase, ...] = ()
    method: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units."""
        document: dict[str, Any] = json_ready(asdict(self))
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a port: its name, evidence, whether it agrees, and its delay."""
        return [asdict(port) for port in self.ports]

    def plot(self) -> alt.Chart:
        """Return each port's evidence as an Altair chart."""
        import altair as alt

        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=self.to_rows()), title="ports")
            .mark_bar()
            .encode(x=alt.X("nats:Q", title="evidence (nats)"), y=alt.Y("name:N", title=None), color="agrees:N")
        )
        return chart

    def __repr__(self) -> str:
        return f"PortsEstimate({self.status}, period {format_duration(self.period_s)}: {self.reason})"
