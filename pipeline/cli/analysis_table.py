"""How the links of an analysis are shown in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.units import format_rate

if TYPE_CHECKING:
    from pipeline.analysis import LinkAnalysis

__all__ = ["readable_link"]

_SCORES = ("now", "random", "best", "paced")


def readable_link(link: LinkAnalysis) -> dict[str, str]:
    """Return a link as a row for people."""
    found = link.compatibility
    scores = {name: getattr(found, f"score_{name}") for name in _SCORES}
    return {
        "link": link.link,
        "direction": link.direction,
        "capacity": format_rate(link.capacity_bps),
        "jobs": ", ".join(link.demands),
        "verdict": found.verdict,
        **{f"score {name}": "-" if score is None else f"{score:.3f}" for name, score in scores.items()},
    }
