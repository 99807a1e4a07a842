"""How jobs that were found are shown in a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pipeline.discover import Discovery, FoundJob, Member

__all__ = ["readable_job", "readable_skipped", "readable_twins", "readable_uplinks"]

MOST_PORTS: Final = 4
MOST_LINES: Final = 20


def readable_job(job: FoundJob) -> dict[str, str]:
    """Return a job as a row for people."""
    aliases = " or ".join(format_duration(period_s) for period_s in job.alias_periods_s[:2])
    return {
        "job": job.job,
        "period": format_duration(job.period_s) if job.period_s is not None else aliases,
        "confidence": f"{job.confidence:.3f}",
        "ports": str(len(job.own)),
        "uplinks": str(len(job.uplinks)),
        "traffic a port": format_rate(_mean_bps(job.own)),
        "own ports": _names(job.own),
    }


def readable_uplinks(found: Discovery) -> list[str]:
    """Return a line for each port that carries parts of jobs, with each job's share of its traffic."""
    uplinks = found.uplinks()
    lines = [f"{_label(uplink)}: {', '.join(_share(job) for job in uplink['jobs'])}" for uplink in uplinks]
    return ["", *_at_most(lines)] if lines else []


def readable_twins(found: Discovery) -> list[str]:
    """Return a line for jobs that do not drift from one another."""
    sets = sorted({tuple(sorted((job.job, *job.twins))) for job in found.jobs if job.twins})
    lines = [
        f"{' and '.join(names)} do not drift apart: what other ports are told to carry of one may be another's, "
        "or they are one job whose ports lag; record longer to tell"
        for names in sets
    ]
    return ["", *_at_most(lines)] if lines else []


def readable_skipped(found: Discovery) -> list[str]:
    """Return a line for each port in no job but for idle ones, which are counted."""
    n_idle = sum(one.why.startswith("idle") for one in found.skipped)
    told = (*found.lost, *(one for one in found.skipped if not one.why.startswith("idle")))
    lines = [f"Skipped {one.label}: {one.why}" for one in told]
    idle = [f"Skipped {n_idle} series of idle ports"] if n_idle else []
    return ["", *_at_most(lines), *idle] if lines or idle else []


def _mean_bps(members: Sequence[Member]) -> float | None:
    known = [member.mean_bps for member in members if member.mean_bps is not None]
    return sum(known) / len(known) if known else None


def _names(members: Sequence[Member]) -> str:
    units = list(Counter(" ".join(filter(None, (one.host, one.device, one.port))) for one in members))
    more = len(units) - MOST_PORTS
    return ", ".join(units[:MOST_PORTS]) + (f" and {more} more" if more > 0 else "")


def _label(uplink: dict[str, Any]) -> str:
    return " ".join(uplink[name] for name in ("host", "device", "port", "direction") if uplink[name])


def _share(job: dict[str, Any]) -> str:
    if job["share_frac"] is None:
        return str(job["job"])
    told = f"{job['job']} {job['share_frac']:.0%}"
    if job["mean_low_bps"] is None or not job["mean_bps"]:
        return told
    low, high = (job["share_frac"] * job[name] / job["mean_bps"] for name in ("mean_low_bps", "mean_high_bps"))
    return f"{told} ({low:.0%} to {high:.0%})"


def _at_most(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]
