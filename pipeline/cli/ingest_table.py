"""How what became of each input is shown in a terminal: one row an input."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from profiler.importers import InputReport

__all__ = ["readable_row"]


def readable_row(report: InputReport) -> dict[str, str]:
    """Return what became of an input as a row for people."""
    coverage = report.coverage
    return {
        "input": report.source,
        "status": report.status,
        "format": report.format or "-",
        "rows": str(coverage.n_rows),
        "samples": str(coverage.n_samples),
        "from (UTC)": _time(coverage.t_first_ns),
        "for": _duration(coverage.t_first_ns, coverage.t_last_ns),
        "left out": "; ".join(f"{item.what}: {item.why}" for item in coverage.skipped) or "-",
    }


def _time(t_ns: int | None) -> str:
    if t_ns is None:
        return "-"
    return datetime.fromtimestamp(t_ns // NS_PER_S, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def _duration(t_first_ns: int | None, t_last_ns: int | None) -> str:
    if t_first_ns is None or t_last_ns is None:
        return "-"
    return format_duration((t_last_ns - t_first_ns) / NS_PER_S)
