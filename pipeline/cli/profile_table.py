"""How profiles are shown in a terminal: one row a series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from profiler.units import format_duration, format_rate

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

__all__ = ["exact_row", "readable_row"]

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
    "p90_period_s",
    "confidence",
    "n_cycles",
    "jitter_frac",
    "mean_bps",
    "peak_bps",
    "duty_frac",
    "need_more_s",
    "reason",
)


def readable_row(profile: TrafficProfile) -> dict[str, str]:
    """Return a profile as a row for people."""
    return {
        "port": "/".join(part for part in (profile.host, profile.device, profile.port) if part),
        "direction": profile.direction,
        "status": profile.status,
        "period": _period(profile),
        "confidence": "-" if profile.confidence is None else f"{profile.confidence:.2f}",
        "iterations": "-" if profile.n_cycles is None else f"{profile.n_cycles:.0f}",
        "jitter": "-" if profile.jitter_frac is None else f"{profile.jitter_frac:.1%}",
        "phases": _phases(profile),
        "note": _note(profile),
    }


def exact_row(profile: TrafficProfile) -> dict[str, Any]:
    """Return a profile as a row for programs, in SI units; its phases are in the JSON alone."""
    return {name: getattr(profile, name) for name in _EXACT}


def _period(profile: TrafficProfile) -> str:
    if profile.period_s is None or profile.period_high_s is None:
        return format_duration(profile.period_s)
    return f"{format_duration(profile.period_s)} ± {format_duration(profile.period_high_s - profile.period_s)}"


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
    outliers = f"{len(profile.outliers)} long iterations" if profile.outliers else ""
    return "; ".join(part for part in (outliers, *profile.warnings) if part) or "-"
