"""What a link's verdict and scores mean, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pipeline.analysis import LinkAnalysis
    from pipeline.compat.result import Compatibility, Verdict

__all__ = [
    "VERDICT_WORDS",
    "ScoreLine",
    "VerdictWords",
    "explain_verdict",
    "is_helped",
    "needs_change",
    "score_lines",
    "severity",
    "words_of",
]


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """A verdict's badge, its mark (so that colour is not needed to tell it) and what it means."""

    badge: str
    mark: str
    meaning: str


VERDICT_WORDS: Final[Mapping[Verdict, VerdictWords]] = {
    "overloaded": VerdictWords(
        "overloaded",
        "▲",
        "The jobs ask for more than the link can carry even on average; no shift can help. Move a job or add capacity.",
    ),
    "paced": VerdictWords(
        "shift and pace",
        "●",
        "The bursts fit between each other if every job is held to slots; a shift alone would wander off.",
    ),
    "compatible": VerdictWords("shift", "●", "The bursts fit between each other once the jobs are shifted."),
    "futile": VerdictWords(
        "no shift helps",
        "■",
        "The bursts collide, but no shift does better than chance, or holding it would cost more than it gains.",
    ),
    "unknown": VerdictWords(
        "cannot be said", "?", "A job on this link shows no period, so its bursts cannot be moved out of the way."
    ),
    "uncontended": VerdictWords("room to spare", "✓", "All bursts together fit the link; nothing to do."),
}
INTERLEAVED: Final = VerdictWords(
    "already interleaved", "✓", "The bursts fit between each other as they are; keep what holds them there."
)
_ORDER: Final = tuple(VERDICT_WORDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLine:
    """One score of a link: its name, value, the excess it stands for as a fraction of the capacity, its meaning."""

    name: str
    score: float
    excess_frac: float
    meaning: str


def is_helped(compatibility: Compatibility) -> bool:
    """Return whether the verdict recommends a shift."""
    return compatibility.verdict in ("compatible", "paced")


def needs_change(link: LinkAnalysis) -> bool:
    """Return whether a shift is recommended that the jobs do not have already."""
    return is_helped(link.compatibility) and not link.is_interleaved


def words_of(link: LinkAnalysis) -> VerdictWords:
    """Return badge, mark and meaning of a link's verdict."""
    return INTERLEAVED if link.is_interleaved else VERDICT_WORDS[link.compatibility.verdict]


def severity(compatibility: Compatibility) -> tuple[int, float]:
    """Return a sort key that puts the links that matter most first."""
    scores = (compatibility.score_now, compatibility.score_random, compatibility.score_best)
    return _ORDER.index(compatibility.verdict), next((score for score in scores if score is not None), 1.0)


def explain_verdict(compatibility: Compatibility) -> str:
    """Return the solver's reason as a sentence, or what the verdict means where it gave none."""
    reason = compatibility.reason.strip().rstrip(".")
    return f"{reason[0].upper()}{reason[1:]}." if reason else VERDICT_WORDS[compatibility.verdict].meaning


def score_lines(compatibility: Compatibility) -> list[ScoreLine]:
    """Return the scores that are known, from how it is to how it could be."""
    known = (
        ("now", compatibility.score_now, "as the jobs were seen to stand to each other"),
        ("chance", compatibility.score_random, "on average over all relations, which is what drifting jobs get"),
        ("best shift", compatibility.score_best, _best_meaning(compatibility)),
        ("paced", compatibility.score_paced, "with every job held to its slots"),
        ("robust", compatibility.score_robust, "with the best shift and no pacer, when iterations come early or late"),
    )
    return [
        ScoreLine(name=name, score=score, excess_frac=max(0.0, 1.0 - score), meaning=meaning)
        for name, score, meaning in known
        if score is not None
    ]


def _best_meaning(compatibility: Compatibility) -> str:
    gap = compatibility.gap
    proof = "" if gap is None else ("; proved best" if gap < 5e-4 else f"; at most {gap:.2g} from the true best")
    horizon_s = compatibility.horizon_s
    if horizon_s is None or horizon_s == float("inf"):
        return f"with the best shift, if nothing drifts{proof}"
    return f"with the best shift, until the jobs drift{proof}"
