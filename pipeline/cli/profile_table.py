"""How profiles are shown: in a terminal one row a job, in CSV one row a series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from profiler.units import format_count, format_duration, format_rate

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["exact_rows", "readable_rows"]

MAX_SHOWN: Final = 6
"""Up phases shown in a table; the JSON has them all, as an iteration of collectives may have dozens."""

_EXACT: Final = (
    "host",
    "device",
    "port",
    "direction",
    "layer",
    "status",
    "period_s",
    "period_low_s",
    "period_high_s",
    "other_periods_s",
    "alias_periods_s",
    "p90_period_s",
    "confidence",
    "n_cycles",
    "jitter_frac",
    "mean_bps",
    "peak_bps",
    "duty_frac",
    "need_more_s",
    "reason",
    "warnings",
)
_LEAST_SHOWN: Final = 0.01
"""Confidence is shown with two digits; none is so high or low that the digits left out do not matter."""
_LEAST_JITTER: Final = 0.001
_LEAST_ERROR_S: Final = 1e-9
"""No clock says more."""


def readable_rows(profile: TrafficProfile) -> list[dict[str, str]]:
    """Return a profile as rows for people: one of the series, and one for each further job on the same counter."""
    label = "/".join(part for part in (profile.host, profile.device, profile.port) if part)
    further = [_readable_row(other, name=f"{label} + job {i}") for i, other in enumerate(profile.others, start=2)]
    return [_readable_row(profile, name=label), *further]


def exact_rows(profile: TrafficProfile) -> list[dict[str, Any]]:
    """Return a profile as one row for programs, in SI units; phases and further jobs are in the JSON alone.

    Several periods are parted by spaces, several warnings by semicolons.
    """
    given = {name: getattr(profile, name) for name in _EXACT}
    return [{name: _joined(value) if isinstance(value, tuple) else value for name, value in given.items()}]


def _joined(values: Sequence[float | str]) -> str | None:
    parts = list(map(str, values))
    return ("; " if any(" " in part for part in parts) else " ").join(parts) or None


def _readable_row(profile: TrafficProfile, *, name: str) -> dict[str, str]:
    return {
        "port": name,
        "direction": profile.direction,
        "status": profile.status,
        "period": _period(profile),
        "confidence": _confidence(profile.confidence),
        "iterations": "-" if profile.n_cycles is None else f"{profile.n_cycles:.0f}",
        "jitter": _jitter(profile.jitter_frac),
        "phases": _phases(profile),
        "note": _note(profile),
    }


def _confidence(confidence: float | None) -> str:
    """Write a confidence; certainty is never written, as nothing measured is certain."""
    if confidence is None:
        return "-"
    if confidence > 1 - _LEAST_SHOWN:
        return f">{1 - _LEAST_SHOWN:.2f}"
    return f"{confidence:.2f}" if confidence >= _LEAST_SHOWN else f"<{_LEAST_SHOWN:.2f}"


def _jitter(jitter_frac: float | None) -> str:
    """Write a jitter; one of exactly 0 hides below what the samples resolve."""
    if not jitter_frac:
        return "-"
    return f"{jitter_frac:.1%}" if jitter_frac >= _LEAST_JITTER else f"<{_LEAST_JITTER:.1%}"


def _period(profile: TrafficProfile) -> str:
    if profile.period_s is None or profile.period_high_s is None:
        return format_duration(profile.period_s)
    error_s = profile.period_high_s - profile.period_s
    shown = format_duration(error_s) if error_s >= _LEAST_ERROR_S else "<1 ns"
    return f"{format_duration(profile.period_s)} ± {shown}"


def _phases(profile: TrafficProfile) -> str:
    shown = [
        f"{phase.kind.capitalize()} {format_duration(phase.width_s)} at {format_rate(phase.rate_bps)}"
        for phase in profile.phases
        if phase.kind == "up"
    ]
    more = [f"{len(shown) - MAX_SHOWN} more"] if len(shown) > MAX_SHOWN else []
    return ", ".join([*shown[:MAX_SHOWN], *more]) or f"mean {format_rate(profile.mean_bps)}"


def _note(profile: TrafficProfile) -> str:
    if profile.status != "periodic":
        return profile.reason
    n_long = len(profile.outliers)
    outliers = format_count(n_long, "long iteration") if n_long else ""
    return "; ".join(part for part in (outliers, *profile.warnings) if part) or "-"
