"""How a simulation is shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.simulation import Comparison, JobRun

__all__ = ["readable_links", "readable_runs"]


def readable_runs(found: Comparison) -> list[dict[str, str]]:
    """Return a row for people for each job unmanaged, and below it one for the job with the plan."""
    rows = []
    for i, run in enumerate(found.unmanaged.runs):
        rows.append(_row(run, plan="unmanaged"))
        if found.planned is not None:
            rows.append(_row(found.planned.runs[i], plan="planned"))
    return rows


def readable_links(found: Comparison) -> str:
    """Return a line for each link, and one with what the plan gains."""
    lines = []
    for link, frac in found.unmanaged.full_frac.items():
        planned = "" if found.planned is None else f", {found.planned.full_frac[link]:.1%} with the plan"
        lines.append(f"{link}: congested {frac:.1%} of the time{planned}")
    if found.speedup_p90 is not None and found.speedup_mean is not None:
        lines.append(
            f"with the plan iterations are {found.speedup_mean:.2f}x shorter in the mean, "
            f"{found.speedup_p90:.2f}x at the 90th percentile"
        )
    return "\n".join(lines)


def _row(run: JobRun, *, plan: str) -> dict[str, str]:
    return {
        "job": run.job,
        "plan": plan,
        "iterations": str(run.iteration_s.size),
        "p50": format_duration(run.p50_s),
        "p90": format_duration(run.p90_s),
        "mean": format_duration(run.mean_s),
        "hindered": f"{run.hindered_frac:.1%}",
        "slots missed a minute": f"{run.adjustments_per_min:.2g}",
        "let go": str(run.n_let_go),
    }
