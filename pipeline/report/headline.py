"""The first lines of the report: what was found, what to do, what it should bring, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pipeline.report.verdicts import needs_change
from profiler.units import format_count, format_duration

if TYPE_CHECKING:
    from pipeline.analysis import Analysis, LinkAnalysis
    from pipeline.report.advice import Advice

__all__ = ["Expectation", "caveats", "expect", "headline", "lead"]

MAX_NAMED: Final = 3
"""More jobs than this are counted, not named."""
MAX_PORTS: Final = 12
GOOD_SCORE: Final = 0.99

CLUSTER_HINT: Final = (
    'A cluster file tells jobs and links: [[link]] with id = "trunk", a = "sw1:t1", b = "sw2:t1", capacity = "400Gbps" '
    'and [[job]] with id = "A", ranks = [{host = "a1", device = "eth0"}]; then run again with --cluster cluster.toml.'
)

_STATISTICS: Final = {
    "p90": "90 % of iterations take at most",
    "p50": "half of the iterations take at most",
    "mean": "an iteration takes on average",
}
_RESTORE: Final = "Restore what cannot be read, or run the shards that are missing, and analyse again."
_AFTER: Final = {"paced": "held to slots", "shifted": "shifted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the simulator expects of the advice on a link: one statistic of iteration times, unmanaged and then.

    ``words`` say the statistic, ``how`` what the jobs do then.
    """

    statistic: str
    words: str
    how: str
    now_s: float
    then_s: float

    @property
    def speedup(self) -> float:
        """Now over then: above 1 is a gain."""
        return self.now_s / self.then_s


def headline(analysis: Analysis) -> str:
    """Return one sentence that says what was found."""
    if not analysis.jobs:
        return _without_jobs(analysis)
    if not analysis.links:
        return f"{format_count(len(analysis.jobs), 'job')} found, but {_why_no_link(analysis)}"
    contended = [link for link in analysis.links if link.compatibility.verdict != "uncontended"]
    helped = [link for link in contended if needs_change(link)]
    if not contended:
        return "No link is contended: leave the jobs as they are"
    if not helped:
        return _without_remedy(contended)
    remedy = "shifting and pacing" if any(link.compatibility.verdict == "paced" for link in helped) else "shifting"
    return f"{_who(helped)} {_collide(helped)} {_where(helped)}; {remedy} them should {_outcome(helped)}"


def lead(analysis: Analysis, *, advice: Sequence[Advice]) -> list[str]:
    """Return the sentences under the headline: what to do and what to expect."""
    if not analysis.jobs:
        return _next_without_jobs(analysis)
    if not analysis.links:
        if analysis.kept:
            return [_RESTORE]
        return ["Give a cluster file with hosts, links and capacities to see where the jobs meet."]
    return [*_todo(advice), *_expected(analysis), *_kept(analysis)]


def expect(predicted: Mapping[str, float]) -> Expectation | None:
    """Return the most telling expectation among a solver's predictions: the 90th percentile, else median, else mean."""
    for statistic, words in _STATISTICS.items():
        now_s = predicted.get(f"{statistic}_now_s")
        for after, how in _AFTER.items():
            then_s = predicted.get(f"{statistic}_{after}_s")
            if now_s and then_s:
                return Expectation(statistic=statistic, words=words, how=how, now_s=now_s, then_s=then_s)
    return None


def caveats(analysis: Analysis) -> list[str]:
    """Return what a reader should know before trusting the headline."""
    helped = [link for link in analysis.links if needs_change(link)]
    found = []
    if any(expect(link.compatibility.predicted) for link in helped):
        found.append("Expected times come from a simulation with fair sharing of the link; measure again once applied.")
    if any(link.compatibility.verdict == "paced" for link in helped):
        found.append(
            "The shift must be held: without the pacer, jobs drift and the gain is lost within seconds to minutes."
        )
    elif any(shift.pace_period_s is not None for shift in analysis.plan.shifts) and helped:
        found.append(
            "The shift lasts by itself; its slot is the job's own period, so that the pacer sets it at no cost."
        )
    if any(link.were_apart for link in helped):
        found.append("The jobs were seen clear of each other, but not steadily: whether that lasts cannot be told.")
    if any(link.compatibility.score_now is None for link in helped):
        found.append("How the jobs stand to each other now could not be observed, so the gain is against chance.")
    if analysis.skipped:
        skipped = format_count(len(analysis.skipped), "item")
        found.append(f"{skipped} could not be analysed and may hide further contention.")
    return found


def _todo(advice: Sequence[Advice]) -> list[str]:
    moved = [item for item in advice if not item.leads]
    if len(moved) > MAX_NAMED:
        return [f"Shift {len(moved)} jobs as the table of shifts says."]
    return [item.naming for item in moved]


def _expected(analysis: Analysis) -> list[str]:
    """Return what is expected of each link that is helped; of its directions, of the one that gains least."""
    expected: dict[str, tuple[Expectation, LinkAnalysis]] = {}
    for link in analysis.links:
        gain = expect(link.compatibility.predicted) if needs_change(link) else None
        if gain is not None and (link.link not in expected or gain.speedup <= expected[link.link][0].speedup):
            expected[link.link] = (gain, link)
    return [
        f"Expected on {name}: {gain.words} {format_duration(gain.then_s)} {gain.how}. "
        f"{_seen(gain, link, analysis)} over all relative positions, {format_duration(gain.now_s)}."
        for name, (gain, link) in list(expected.items())[:MAX_NAMED]
    ]


def _seen(gain: Expectation, link: LinkAnalysis, analysis: Analysis) -> str:
    """Return the same statistic as it was measured, a mean over the jobs as the simulated ones are."""
    profiles = [analysis.measured(job) for job in link.demands if job in analysis.jobs]
    figures_s = [profile.p90_period_s if gain.statistic == "p90" else profile.period_s for profile in profiles]
    known_s = [figure_s for figure_s in figures_s if figure_s is not None]
    if not known_s or len(known_s) < len(figures_s):
        return "Simulated unmanaged"
    return f"In this recording it was {format_duration(sum(known_s) / len(known_s))}; simulated unmanaged"


def _kept(analysis: Analysis) -> list[str]:
    kept = [link for link in analysis.links if link.is_interleaved]
    if not kept:
        return []
    periods = dict.fromkeys(format_duration(analysis.measured(job).period_s) for link in kept for job in link.demands)
    return [f"Keep what holds {_who(kept)} there, every {' and '.join(periods)}: another slot would only slow them."]


def _without_jobs(analysis: Analysis) -> str:
    if analysis.kept:
        return "No job could be read anew: what an earlier analysis found of them stays"
    if not analysis.n_periodic:
        return "No periodic traffic was found"
    ports = "port carries" if analysis.n_periodic == 1 else "ports carry"
    return f"{analysis.n_periodic} {ports} periodic traffic, but whose job it is and which links it takes is not known"


def _why_no_link(analysis: Analysis) -> str:
    kept = {one.what.rpartition(" ")[0] for one in analysis.kept if one.what.startswith("link ")}
    if kept:
        links = format_count(len(kept), "link")
        return f"not all could be read: what an earlier analysis found of {links} stays"
    if analysis.kept:
        return "not all could be read, and no link is left to judge them on"
    return "no link to judge them on"


def _next_without_jobs(analysis: Analysis) -> list[str]:
    if analysis.kept:
        return [_RESTORE]
    if not analysis.n_periodic:
        return ["Record for longer, or nearer to the training hosts, and look at the list of what was skipped."]
    periodic = [(label, profile) for label, profile in analysis.profiles.items() if profile.status == "periodic"]
    named = ", ".join(f"{label} every {format_duration(profile.period_s)}" for label, profile in periodic[:MAX_PORTS])
    more = f" and {len(periodic) - MAX_PORTS} more" if len(periodic) > MAX_PORTS else ""
    return [f"Periodic: {named}{more}.", CLUSTER_HINT]


def _without_remedy(contended: Sequence[LinkAnalysis]) -> str:
    kept = [link for link in contended if link.is_interleaved]
    others = [link for link in contended if not link.is_interleaved]
    unknown = [link for link in others if link.compatibility.verdict == "unknown"]
    lost = [link for link in others if link.compatibility.verdict != "unknown"]
    keeping = f"{_who(kept)} already interleave {_where(kept)}: keep what holds them there" if kept else ""
    helpless = f"{_links(lost)} contended, and no shift would help" if lost else ""
    open_ = f"{_who(unknown)} meet {_where(unknown)}, and whether a shift would help is not known" if unknown else ""
    return "; ".join(part for part in (keeping, helpless, open_) if part)


def _collide(links: Sequence[LinkAnalysis]) -> str:
    """Say it as surely as it was seen: in the recording as a whole, at its end, or not at all."""
    if any(link.were_apart is False for link in links):
        return "collide"
    found = [link.compatibility for link in links if link.were_apart is None]
    if any(one.score_now is not None and one.score_now <= (one.score_random or 0.0) for one in found):
        return "collided when last seen"
    return "can collide"


def _who(links: Sequence[LinkAnalysis]) -> str:
    return _names(sorted({job for link in links for job in link.demands}))


def _where(links: Sequence[LinkAnalysis]) -> str:
    names = dict.fromkeys(link.link for link in links)
    return f"on {next(iter(names))}" if len(names) == 1 else f"on {len(names)} links"


def _outcome(helped: Sequence[LinkAnalysis]) -> str:
    scores = [link.compatibility.score_paced or link.compatibility.score_best or 0.0 for link in helped]
    return "keep them apart" if min(scores) >= GOOD_SCORE else "ease it"


def _links(links: Sequence[LinkAnalysis]) -> str:
    names = list(dict.fromkeys(link.link for link in links))
    return f"{names[0]} is" if len(names) == 1 else f"{len(names)} links are"


def _names(names: Sequence[str]) -> str:
    """Return the names if they are few, else their number."""
    if len(names) > MAX_NAMED:
        return f"{len(names)} jobs"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
