"""`summarize`: the report in a few lines of text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pipeline.report.advice import advise
from pipeline.report.headline import caveats, headline, lead
from pipeline.report.twins import group_twins
from pipeline.report.verdicts import explain_verdict, severity, words_of

if TYPE_CHECKING:
    from pipeline.analysis import Analysis, LinkAnalysis

__all__ = ["summarize"]

MAX_LINKS: Final = 5


def summarize(analysis: Analysis) -> list[str]:
    """Return lines that say what was found, what to do, why on each contended link, and what to be careful about."""
    contended = [link for link in analysis.links if link.compatibility.verdict != "uncontended"]
    contended.sort(key=lambda link: severity(link.compatibility))
    groups = group_twins(contended)
    n_more = len(groups) - MAX_LINKS
    return [
        f"{headline(analysis)}.",
        *lead(analysis, advice=advise(analysis)),
        *(_line(group) for group in groups[:MAX_LINKS]),
        *([f"{n_more} more links are contended."] if n_more > 0 else []),
        *(f"Note: {caveat}" for caveat in caveats(analysis)),
    ]


def _line(group: Sequence[LinkAnalysis]) -> str:
    first = group[0]
    which = first.direction if len(group) == 1 else "(both directions)"
    return f"{first.link} {which}: {words_of(first).badge}. {explain_verdict(first.compatibility)}"
