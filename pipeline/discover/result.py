"""`Discovery`: the jobs that were found on ports, what each link carries of them, and what was left out and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.results import Tabular, json_ready
from profiler.units import format_duration

if TYPE_CHECKING:
    import altair as alt

    from pipeline.discover.ports import SeenPort

__all__ = ["MEMBER_COLUMNS", "Discovery", "FoundJob", "Member", "Role", "Skipped"]

Role = Literal["port", "uplink"]
"""A port of the job's own, which carries it alone; or one that carries a part of it, perhaps beside other jobs."""

MEMBER_COLUMNS: Final = (
    "job",
    "period_s",
    "job_confidence",
    "host",
    "device",
    "port",
    "direction",
    "role",
    "lag_s",
    "weight",
    "mean_bps",
    "mean_low_bps",
    "mean_high_bps",
    "share_frac",
    "confidence",
)
"""Columns of `Discovery.to_rows`."""
_SHARE_FIELDS: Final = ("share_frac", "mean_bps", "mean_low_bps", "mean_high_bps", "weight", "confidence")
"""Of a job's share of an uplink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A port, in one direction, that carries a job.

    ``lag_s`` is how much later than the job's clearest port it does the same. ``weight`` is how many bits it moves for
    each bit of the mean of the job's own ports; ``mean_bps`` the mean rate of the job's traffic on it (on an uplink:
    above what the job's ports do between bursts), which ``mean_low_bps`` and ``mean_high_bps`` hold in 95 of 100 (on a
    port of its own: what surely comes in bursts, and all), and ``share_frac`` is the mean over all its traffic. They
    are None where the job's beat is too small a part of its traffic to tell, where jobs together would be more than the
    port moves, or where the job's ports beat so nearly, but not, at once that their sum blurs. ``confidence`` is that
    it carries the job.
    """

    host: str
    device: str
    port: str
    direction: str
    role: Role
    lag_s: float
    weight: float
    mean_bps: float | None
    mean_low_bps: float | None
    mean_high_bps: float | None
    share_frac: float | None
    confidence: float

    @property
    def label(self) -> str:
        """Name for people."""
        return " ".join(word for word in (self.host, self.device, self.port, self.direction) if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A job that was found by its beat.

    ``period_s`` is None where its ports tick too slowly to tell it from the others of ``alias_periods_s``;
    ``confidence`` is that of the period. ``twins`` are other jobs of its period that do not drift from it: what is told
    of it on ports that are not its own may be theirs; or both are one job, whose ports lag behind one another.
    """

    job: str
    period_s: float | None
    alias_periods_s: tuple[float, ...]
    confidence: float
    members: tuple[Member, ...]
    twins: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[Member, ...]:
        """Its own ports."""
        return tuple(member for member in self.members if member.role == "port")

    @property
    def uplinks(self) -> tuple[Member, ...]:
        """Ports that carry a part of it."""
        return tuple(member for member in self.members if member.role == "uplink")

    @property
    def own_bps(self) -> float:
        """Traffic of its own ports."""
        return sum(member.mean_bps or 0.0 for member in self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A port, in one direction, that is in no job, and why."""

    host: str
    device: str
    port: str
    direction: str
    why: str

    @classmethod
    def of(cls, port: SeenPort, why: str) -> Skipped:
        """Return that a port is left out."""
        return cls(host=port.host, device=port.device, port=port.port, direction=port.direction, why=why)

    @property
    def label(self) -> str:
        """Name for people."""
        return " ".join(word for word in (self.host, self.device, self.port, self.direction) if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery(Tabular):
    """Jobs found, the busiest first, the ports in none of them, and files that could not be read."""

    jobs: tuple[FoundJob, ...]
    skipped: tuple[Skipped, ...]
    lost: tuple[Skipped, ...] = ()
    method: str = "coherence of whitened spectra at a beat's lines, lags over time, regression on the jobs' templates"

    @property
    def has_answer(self) -> bool:
        """Whether any job was found."""
        return bool(self.jobs)

    @property
    def is_whole(self) -> bool:
        """Whether every file could be read."""
        return not self.lost

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values in SI units: jobs with their members, uplinks with their jobs' shares."""
        document: dict[str, Any] = json_ready(
            {
                "kind": "discovery",
                "version": 1,
                "jobs": [asdict(job) for job in self.jobs],
                "uplinks": self.uplinks(),
                "skipped": [asdict(one) for one in (*self.lost, *self.skipped)],
                "method": self.method,
            }
        )
        return document

    def uplinks(self) -> list[dict[str, Any]]:
        """Return each port that carries parts of jobs, with the share of each job in its traffic."""
        ports: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
        for job in self.jobs:
            for member in job.uplinks:
                key = (member.host, member.device, member.port, member.direction)
                share = {name: getattr(member, name) for name in _SHARE_FIELDS}
                ports.setdefault(key, []).append({"job": job.job, **share})
        names = ("host", "device", "port", "direction")
        return [{**dict(zip(names, key, strict=True)), "jobs": ports[key]} for key in sorted(ports)]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a member of a job, with the columns `MEMBER_COLUMNS`."""
        return [
            {"job": job.job, "period_s": job.period_s, "job_confidence": job.confidence, **asdict(member)}
            for job in self.jobs
            for member in job.members
        ]

    def plot(self) -> alt.Chart:
        """Return the traffic of each job on each port as an Altair bar chart."""
        import altair as alt

        bars = [
            {"port": member.label, "job": job.job, "mean_bps": member.mean_bps}
            for job in self.jobs
            for member in job.members
            if member.mean_bps is not None
        ]
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=bars), title="jobs by port")
            .mark_bar()
            .encode(x=alt.X("mean_bps:Q", title="bit/s"), y=alt.Y("port:N", title=None), color="job:N")
        )
        return chart

    def __repr__(self) -> str:
        jobs = ", ".join(f"{format_duration(job.period_s)} on {len(job.members)}" for job in self.jobs)
        return f"Discovery({len(self.jobs)} jobs: {jobs or 'none'}; {len(self.skipped)} ports left out)"
