"""How what became of each input is shown in a terminal: one row an input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from profiler.importers import IngestReport, InputReport, Skipped

__all__ = ["readable_row", "summary"]

_NAMED: Final = 2
"""Things passed over for one reason that are named; of more the number is told, and ``--json`` has them all."""


def readable_row(report: InputReport) -> dict[str, str]:
    """Return what became of an input as a row for people."""
    coverage = report.coverage
    is_read = report.status in ("read", "partial")
    return {
        "input": report.source,
        "status": report.status,
        "format": report.format or "-",
        "read": str(coverage.n_read) if is_read else "-",
        "kept": str(coverage.n_kept) if is_read else "-",
        "samples": str(coverage.n_samples) if is_read else "-",
        "from (UTC)": _time(coverage.t_first_ns),
        "for": _duration(coverage.t_first_ns, coverage.t_last_ns),
        "left out, and why": _left_out(report),
    }


def summary(report: IngestReport) -> str:
    """Return how many inputs had which status, in the order in which each came first."""
    statuses = Counter(found.status for found in report.inputs)
    return f"{len(report.inputs)} inputs: " + ", ".join(f"{n} {status}" for status, n in statuses.items())


def _left_out(report: InputReport) -> str:
    if report.status in ("skipped", "already there"):
        return report.message
    counted = [f"{why} ({n})" for why, n in report.coverage.left_out.items()]
    return "; ".join((*counted, *_by_reason(report.skipped))) or "-"


def _by_reason(skipped: Iterable[Skipped]) -> Iterable[str]:
    """Yield one text a reason."""
    reasons: dict[str, list[str]] = {}
    for item in skipped:
        reasons.setdefault(item.why, []).append(item.what)
    for why, things in reasons.items():
        named = ", ".join(things[:_NAMED])
        rest = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
        yield f"{named}{rest}: {why}"


def _time(t_ns: int | None) -> str:
    if t_ns is None:
        return "-"
    return datetime.fromtimestamp(t_ns // NS_PER_S, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def _duration(t_first_ns: int | None, t_last_ns: int | None) -> str:
    if t_first_ns is None or t_last_ns is None:
        return "-"
    return format_duration((t_last_ns - t_first_ns) / NS_PER_S)
