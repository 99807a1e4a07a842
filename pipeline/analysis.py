"""`Analysis`: what the network's jobs do to its links, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from profiler.results import Tabular, json_ready
from profiler.schema import arrow_schema

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.result import Compatibility
    from pipeline.shifts import ShiftPlan
    from profiler.phases import TrafficProfile

__all__ = ["LINK_COLUMNS", "Analysis", "LinkAnalysis", "Skipped", "were_apart"]

LINK_COLUMNS: Final = (
    "link",
    "direction",
    "capacity_bps",
    "jobs",
    "verdict",
    "score_now",
    "score_random",
    "score_best",
    "score_paced",
)
"""Columns of `Analysis.to_rows`."""

_FITTING: Final = frozenset({"compatible", "paced"})
"""Verdicts that let jobs share a contended link without loss."""


APART_SHARE: Final = 0.1
"""Jobs keep apart if they share at most this part of the Up time of one; the edges of bursts are blurred."""


def were_apart(shared_frac: float | None, profiles: Iterable[TrafficProfile]) -> bool | None:
    """Return whether jobs kept clear of each other, given how much of the time several were Up; None if unknown."""
    duties = [profile.duty_frac for profile in profiles if profile.duty_frac is not None]
    if shared_frac is None or not duties:
        return None
    return shared_frac <= APART_SHARE * min(duties)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that could not be analysed, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnalysis:
    """One direction of one link: the demand that each job puts on it, and how they fit.

    ``demands`` maps a job to its demand on this link as it was solved: the job's own profile (corrected for
    congestion), times its weight on the link. ``is_interleaved`` says that the jobs were seen to fit as well as they
    can, and steadily. ``shared_frac`` is the part of the recording in which two or more jobs were Up, None where they
    were not seen at one time.
    """

    link: str
    direction: str
    capacity_bps: float
    demands: Mapping[str, TrafficProfile]
    compatibility: Compatibility
    is_interleaved: bool = False
    shared_frac: float | None = None

    @property
    def were_apart(self) -> bool | None:
        """Whether the recording shows the jobs' bursts clear of each other; None if it cannot be said."""
        return were_apart(self.shared_frac, self.demands.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis(Tabular):
    """What the network's jobs do to its links, and what to do about it.

    ``profiles`` maps a series' label (``host/device/direction``) to its measured profile, ``jobs`` a job to the
    profile of its own traffic, corrected for congestion. ``links`` are those that two or more jobs cross. ``skipped``
    is what could not be used for what it is, ``faults`` what could not be read or computed: it is missing here, and
    ``kept`` names the jobs and links that need it, of which the lake keeps what an earlier analysis found.
    ``n_profiled`` series were profiled for it, counted once a time range; the others had been before. ``n_otherwise``
    shards had been finished, but for other capacities of their ports.
    """

    profiles: Mapping[str, TrafficProfile]
    jobs: Mapping[str, TrafficProfile]
    links: tuple[LinkAnalysis, ...]
    plan: ShiftPlan
    skipped: tuple[Skipped, ...] = ()
    faults: tuple[Skipped, ...] = ()
    n_profiled: int = 0
    n_otherwise: int = 0
    kept: tuple[Skipped, ...] = ()

    @property
    def n_periodic(self) -> int:
        """Number of series that have a period."""
        return sum(profile.status == "periodic" for profile in self.profiles.values())

    @property
    def has_answer(self) -> bool:
        """Whether something is periodic and, if links are contended, shifts make the jobs fit on one of them."""
        contended = [link.compatibility.verdict for link in self.links if link.compatibility.verdict != "uncontended"]
        return self.n_periodic > 0 and (not contended or not _FITTING.isdisjoint(contended))

    def measured(self, job: str) -> TrafficProfile:
        """Return a job's profile as measured: where it was hindered, not what it would be alone."""
        own = self.jobs[job]
        return self.profiles.get(own.label, own)

    def to_dict(self) -> dict[str, Any]:
        """Return the ``analysis`` document of DESIGN section 6, and the plan."""
        document: dict[str, Any] = json_ready(
            {
                "kind": "analysis",
                "version": 1,
                "profiles": len(self.profiles),
                "periodic": self.n_periodic,
                "links": [link.compatibility.to_dict() for link in self.links],
                "shifts": self.plan.to_rows(),
                "skipped": [asdict(one) for one in (*self.faults, *self.kept, *self.skipped)],
                "warnings": [f"{one.what}: {one.why}" for one in self.faults],
                "plan": self.plan.to_dict(),
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a link and direction."""
        return [
            {
                **{name: getattr(link.compatibility, name, None) for name in LINK_COLUMNS},
                "link": link.link,
                "direction": link.direction,
                "jobs": ", ".join(link.demands),
            }
            for link in self.links
        ]

    def to_tables(self) -> dict[str, pa.Table]:
        """Return the rows of the lake's tables ``compat`` and ``shifts``."""
        compat = [
            {
                **{name: getattr(link.compatibility, name, None) for name in arrow_schema("compat").names},
                "link_id": link.link,
                "direction": link.direction,
            }
            for link in self.links
        ]
        holds = self._hold_s()
        shifts = [
            {
                "job_id": shift.job,
                "shift_s": shift.communication_s,
                "pace_period_s": shift.pace_period_s,
                "stretch_frac": shift.stretch_frac,
                "hold_s": holds.get(shift.job),
            }
            for shift in self.plan.shifts
        ]
        return {
            name: pa.Table.from_pylist(json_ready(rows), schema=arrow_schema(name))
            for name, rows in (("compat", compat), ("shifts", shifts))
        }

    def plot(self) -> alt.Chart:
        """Return the scores of each link, unmanaged and at best, as an Altair bar chart."""
        import altair as alt

        bars = [
            {"link": f"{row['link']} {row['direction']}", "score": name.removeprefix("score_"), "value": row[name]}
            for row in self.to_rows()
            for name in ("score_now", "score_random", "score_best", "score_paced")
            if row[name] is not None
        ]
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=bars), title="compatibility by link")
            .mark_bar()
            .encode(x="value:Q", y="score:N", color="score:N", row="link:N")
        )
        return chart

    def _hold_s(self) -> dict[str, float]:
        """Return, for each job, how long its shift lasts unheld on the link where it lasts shortest."""
        holds: dict[str, float] = {}
        for link in self.links:
            hold_s = link.compatibility.hold_s
            for job in link.compatibility.jobs if hold_s is not None else ():
                holds[job] = min(holds.get(job, float("inf")), float(hold_s or 0.0))
        return holds

    def __repr__(self) -> str:
        return (
            f"Analysis({len(self.profiles)} series, {self.n_periodic} periodic; {len(self.jobs)} jobs on "
            f"{len(self.links)} shared links; {len(self.plan.shifts)} shifts, {len(self.skipped)} skipped)"
        )
