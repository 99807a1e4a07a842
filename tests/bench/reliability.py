"""The reliability diagram of a confidence: of the answers given at about c, how many are right?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import altair as alt

    from tests.bench.scoring import Judged

__all__ = ["BIN_EDGES", "SURE", "Bin", "draw", "reliability", "right_at_least"]

BIN_EDGES: Final = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Finer where answers are given: what a reader asks is whether 0.9 means 0.9."""
SURE: Final = 0.9
"""Answers given with this confidence or more are those that TARGETS asks to be right."""
Z_95: Final = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers whose stated confidence lies in one bin."""

    from_frac: float
    to_frac: float
    n_answers: int
    n_right: int
    mean_confidence: float

    @property
    def right_frac(self) -> float:
        """Part of the answers that are right."""
        return self.n_right / self.n_answers

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the part that is right [1]_.

        References
        ----------
        .. [1] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
        """
        n_answers, right_frac = self.n_answers, self.right_frac
        scale = 1 + Z_95**2 / n_answers
        middle = (right_frac + Z_95**2 / (2 * n_answers)) / scale
        half = Z_95 / scale * np.sqrt(right_frac * (1 - right_frac) / n_answers + Z_95**2 / (4 * n_answers**2))
        return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def reliability(judged: Iterable[Judged], *, edges: Sequence[float] = BIN_EDGES) -> list[Bin]:
    """Return the bins that hold an answer, in order of confidence; periods invented count as wrong answers."""
    answers = [(one.confidence, one.kind == "right") for one in judged if one.is_answer and one.confidence is not None]
    confidence = np.array([stated for stated, _ in answers])
    right = np.array([is_right for _, is_right in answers], dtype=bool)
    i_bins = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)
    return [
        Bin(
            from_frac=edges[i],
            to_frac=edges[i + 1],
            n_answers=int(np.count_nonzero(i_bins == i)),
            n_right=int(np.count_nonzero(right[i_bins == i])),
            mean_confidence=float(confidence[i_bins == i].mean()),
        )
        for i in np.unique(i_bins)
    ]


def right_at_least(judged: Iterable[Judged], confidence: float) -> tuple[int, int]:
    """Return how many of the answers given with at least this confidence are right, and how many there are."""
    sure = [one.kind == "right" for one in judged if one.is_answer and (one.confidence or 0.0) >= confidence]
    return sum(sure), len(sure)


def draw(bins: Sequence[Bin]) -> alt.LayerChart:
    """Return the diagram: part right over stated confidence, with intervals and the line on which both agree."""
    import altair as alt

    rows = [
        {
            "confidence": one.mean_confidence,
            "right": one.right_frac,
            "low": one.interval[0],
            "high": one.interval[1],
            "answers": one.n_answers,
        }
        for one in bins
    ]
    line = alt.Chart(alt.InlineData(values=[{"c": 0, "r": 0}, {"c": 1, "r": 1}])).mark_line(
        color="#999", strokeDash=[4, 4]
    )
    base = alt.Chart(alt.InlineData(values=rows))
    x = alt.X("confidence:Q", title="stated confidence", scale=alt.Scale(domain=[0, 1]))
    ranges = base.mark_rule().encode(x=x, y=alt.Y("low:Q", title="part of answers that are right"), y2="high:Q")
    points = base.mark_circle().encode(x=x, y="right:Q", size=alt.Size("answers:Q", title="answers"))
    chart: alt.LayerChart = line.encode(x="c:Q", y="r:Q") + ranges + points
    return chart.properties(title="reliability of the stated confidence", width=360, height=360)
