"""The first lines of the report: what was found, what to do, what it should bring, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.report.verdicts import is_helped, is_lucky
from profiler.units import format_duration

if TYPE_CHECKING:
    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.report.advice import Advice

__all__ = ["Expectation", "caveats", "expect", "headline", "lead"]

MAX_NAMED: Final = 3
"""More jobs than this are counted, not named."""
GOOD_SCORE: Final = 0.99

_STATISTICS: Final = {
    "p90": "90 % of iterations take at most",
    "p50": "half of the iterations take at most",
    "mean": "an iteration takes on average",
}
_AFTER: Final = ("paced", "shifted", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the simulator expects of the advice on a link: one statistic of iteration times, now and then."""

    statistic: str
    words: str
    now_s: float
    then_s: float

    @property
    def speedup(self) -> float:
        """Now over then: above 1 is a gain."""
        return self.now_s / self.then_s


def headline(analysis: Analysis) -> str:
    """Return one sentence that says what was found."""
    if not analysis.jobs:
        return "No training job with a beat was found"
    if not analysis.links:
        return f"{_count(len(analysis.jobs), 'job')} found, but no link to judge them on"
    contended = [link for link in analysis.links if link.compatibility.verdict != "uncontended"]
    helped = [link for link in contended if is_helped(link.compatibility)]
    if not contended:
        return "No link is contended: leave the jobs as they are"
    if not helped:
        return f"{_links(contended)} contended, and no shift would help"
    remedy = "shifting and pacing" if any(link.compatibility.verdict == "paced" for link in helped) else "shifting"
    jobs = _names(sorted({job for link in helped for job in link.demands}))
    names = dict.fromkeys(link.link for link in helped)
    where = f"on {next(iter(names))}" if len(names) == 1 else f"on {len(names)} links"
    collide = "drift in and out of collision" if all(is_lucky(link.compatibility) for link in helped) else "collide"
    return f"{jobs} {collide} {where}; {remedy} them should {_outcome(helped)}"


def lead(analysis: Analysis, *, advice: Sequence[Advice]) -> list[str]:
    """Return the sentences under the headline: what to do and what to expect."""
    if not analysis.jobs:
        return ["Record for longer, or nearer to the training hosts, and look at the list of what was skipped."]
    if not analysis.links:
        return ["Give a cluster file with hosts, links and capacities to see where the jobs meet."]
    return [*_todo(advice), *_expected(analysis)]


def expect(predicted: Mapping[str, float]) -> Expectation | None:
    """Return the most telling expectation among a solver's predictions: the 90th percentile, else median, else mean."""
    for statistic, words in _STATISTICS.items():
        now_s = predicted.get(f"{statistic}_now_s")
        for after in _AFTER:
            then_s = predicted.get(f"{statistic}_{after}_s")
            if now_s and then_s:
                return Expectation(statistic=statistic, words=words, now_s=now_s, then_s=then_s)
    return None


def caveats(analysis: Analysis) -> list[str]:
    """Return what a reader should know before trusting the headline."""
    helped = [link for link in analysis.links if is_helped(link.compatibility)]
    found = []
    if any(expect(link.compatibility.predicted) for link in helped):
        found.append("Expected times come from a simulation with fair sharing of the link; measure again once applied.")
    if any(link.compatibility.verdict == "paced" for link in helped):
        found.append(
            "The shift must be held: without the pacer, jobs drift and the gain is lost within seconds to minutes."
        )
    if any(is_lucky(link.compatibility) for link in helped):
        found.append("When last seen the jobs happened to interleave; nothing holds them there, and they drift back.")
    if any(link.compatibility.score_now is None for link in helped):
        found.append("How the jobs stand to each other now could not be observed, so the gain is against chance.")
    if analysis.skipped:
        found.append(f"{_count(len(analysis.skipped), 'item')} could not be analysed and may hide further contention.")
    return found


def _todo(advice: Sequence[Advice]) -> list[str]:
    moved = [item for item in advice if not item.leads]
    if len(moved) > MAX_NAMED:
        return [f"Shift {len(moved)} jobs as the table below says."]
    return [item.naming for item in moved]


def _expected(analysis: Analysis) -> list[str]:
    """Return what is expected of each link that is helped; of its directions, of the one that gains least."""
    expected: dict[str, Expectation] = {}
    for link in analysis.links:
        expectation = expect(link.compatibility.predicted) if is_helped(link.compatibility) else None
        if expectation is not None and expectation.speedup <= expected.get(link.link, expectation).speedup:
            expected[link.link] = expectation
    return [
        f"Expected on {name}: {gain.words} {format_duration(gain.then_s)} instead of {format_duration(gain.now_s)} "
        f"when nobody holds them ({gain.speedup:.2f} times shorter)."
        for name, gain in list(expected.items())[:MAX_NAMED]
    ]


def _outcome(helped: Sequence[LinkAnalysis]) -> str:
    scores = [link.compatibility.score_paced or link.compatibility.score_best or 0.0 for link in helped]
    return "keep them apart" if min(scores) >= GOOD_SCORE else "ease it"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _links(links: Sequence[LinkAnalysis]) -> str:
    names = list(dict.fromkeys(link.link for link in links))
    return f"{names[0]} is" if len(names) == 1 else f"{len(names)} links are"


def _names(names: Sequence[str]) -> str:
    """Return the names if they are few, else their number."""
    if len(names) > MAX_NAMED:
        return f"{len(names)} jobs"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
