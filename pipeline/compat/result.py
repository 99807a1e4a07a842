"""`Compatibility`: how well the jobs of one link fit together, and the shifts that make them fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from pipeline.compat.explanation.result import explain_scenes
from profiler.errors import UsageError
from profiler.results import Tabular, json_ready

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.explanation.result import Explanation
    from pipeline.compat.explanation.scenes import Scenes

__all__ = ["VERDICTS", "Compatibility", "JobShift", "Verdict"]

Verdict = Literal["uncontended", "compatible", "paced", "futile", "overloaded", "unknown"]
ADVISING: Final = frozenset({"compatible", "paced"})
"""Verdicts with which the shifts are advice; with the others they are the best of no use."""

VERDICTS: Final[tuple[Verdict, ...]] = ("uncontended", "compatible", "paced", "futile", "overloaded", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShift:
    """Advice for one job: begin an iteration ``shift_s`` after the common anchor, to communicate ``lead_s`` later.

    An iteration begins at the profile's time zero, which in a measured profile is the start of its first Up phase, so
    that ``lead_s`` is 0. A pacer holds communication, so its slots start at ``communication_s``, the sum of both.
    ``pace_period_s`` is the slot period to hold (None: do not pace) and ``stretch_frac`` what that adds to the job's
    own period, as a fraction of it.

    The other jobs at their shifts, this one's may be any from ``plateau_s[0]`` to ``plateau_s[1]`` without loss, and
    any within one of ``good_shifts_s``, shape (n_stretches, 2), for a score lower by at most the tolerance that was
    asked for. The stretch around ``shift_s`` comes first; shifts that differ by ``repeat_s`` are the same. None and
    empty where that was not looked for.
    """

    job: str
    shift_s: float
    lead_s: float = 0.0
    pace_period_s: float | None = None
    stretch_frac: float | None = None
    repeat_s: float | None = None
    plateau_s: tuple[float, float] | None = None
    good_shifts_s: tuple[tuple[float, float], ...] = ()

    @property
    def communication_s(self) -> float:
        """Start of an iteration's communication after the common anchor, in seconds."""
        return self.shift_s + self.lead_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility(Tabular):
    """Scores, verdict and shifts of the jobs on one link.

    Scores are ``1 - E/C`` with E the mean excess of demand over the capacity C (DESIGN section 5); None where a score
    cannot be said. ``gap`` certifies ``score_best``: no shifts score more than ``score_best + gap``; ``is_proved`` says
    that it is rounding. ``horizon_s`` and ``hold_s`` are infinite where a shift lasts for ever.

    ``score_robust`` and ``score_worst`` are the expectation of the best shifts' score and the lowest that was found if
    each job is off its shift by up to ``jitter_frac`` of its period. ``drift_s`` and ``wander_s`` tell how far the
    phase of one job against another's moves in an iteration of the slower, for the pair that moves most: steadily,
    by the difference of their periods, and at random, a standard deviation. ``elapsed_s`` is what the answer took.
    """

    capacity_bps: float
    verdict: Verdict
    jobs: tuple[str, ...]
    shifts: tuple[JobShift, ...]
    score_best: float | None
    score_random: float | None
    score_now: float | None = None
    score_cassini: float | None = None
    score_paced: float | None = None
    score_robust: float | None = None
    score_worst: float | None = None
    jitter_frac: float | None = None
    gap: float | None = None
    is_proved: bool = False
    horizon_s: float | None = None
    hold_s: float | None = None
    drift_s: float | None = None
    wander_s: float | None = None
    link: str | None = None
    direction: str | None = None
    predicted: Mapping[str, float] = field(default_factory=dict)
    """What the simulator says, such as ``{"p90_now_s": …, "p90_paced_s": …, "speedup_p90": …}``."""
    reason: str = ""
    warnings: tuple[str, ...] = ()
    method: str = ""
    elapsed_s: float | None = field(default=None, compare=False)
    scenes: Scenes | None = field(default=None, compare=False, repr=False)
    """What `explain` tells of; None for an answer that `solve` did not give."""

    def __post_init__(self) -> None:
        if not 0 < self.capacity_bps < float("inf"):
            raise UsageError(f"capacity_bps {self.capacity_bps!r}: must be positive and finite")

    @property
    def advises_shifts(self) -> bool:
        """Whether jobs should be given their shifts; else these are only what ``score_best`` stands for."""
        return self.verdict in ADVISING

    @property
    def shifts_s(self) -> dict[str, float]:
        """Shift of each job in seconds."""
        return {shift.job: shift.shift_s for shift in self.shifts}

    @property
    def bound(self) -> float | None:
        """Score that no shifts exceed, whatever they are."""
        return None if self.score_best is None or self.gap is None else self.score_best + self.gap

    def explain(self) -> Explanation:
        """Return where the excess comes from: which bursts of which jobs overlap, before the advice and after.

        Raises
        ------
        UsageError
            If this is not an answer of `solve`.
        """
        if self.scenes is None:
            raise UsageError(f"{self!r}: made without the jobs' profiles; explain an answer that solve gave")
        return explain_scenes(self.scenes, link=self.link, direction=self.direction, verdict=self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Return the ``compat`` document of DESIGN section 6; an infinite horizon or hold time becomes null.

        ``horizon_for_ever`` and ``holds_for_ever`` tell such a null from one that is not known. ``elapsed_s`` is left
        out, so that equal answers are equal documents.
        """
        values = {name: getattr(self, name) for name in _DOCUMENT_FIELDS}
        values["horizon_for_ever"] = self.horizon_s == float("inf")
        values["holds_for_ever"] = self.hold_s == float("inf")
        values["shifts"] = [asdict(shift) | {"advised": self.advises_shifts} for shift in self.shifts]
        document: dict[str, Any] = json_ready({"kind": "compat", "version": 1, **values})
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row a job: the advice, beside the verdict and score of the link."""
        advice = {shift.job: shift for shift in self.shifts}
        return [
            {
                "link": self.link,
                "direction": self.direction,
                "job": job,
                "verdict": self.verdict,
                "score_best": self.score_best,
                "advised": self.advises_shifts,
                "shift_s": advice[job].shift_s if job in advice else None,
                "lead_s": advice[job].lead_s if job in advice else None,
                "pace_period_s": advice[job].pace_period_s if job in advice else None,
                "stretch_frac": advice[job].stretch_frac if job in advice else None,
                "plateau_low_s": _end(advice.get(job), 0),
                "plateau_high_s": _end(advice.get(job), 1),
            }
            for job in self.jobs
        ]

    def plot(self) -> alt.Chart:
        """Return the scores of the link as an Altair bar chart."""
        import altair as alt

        rows = [
            {"score": name.removeprefix("score_"), "value": getattr(self, name)}
            for name in _DOCUMENT_FIELDS
            if name.startswith("score_") and getattr(self, name) is not None
        ]
        title = f"{self.link or 'link'}: {self.verdict}"
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows), title=title)
            .mark_bar()
            .encode(x=alt.X("value:Q", title="score"), y=alt.Y("score:N", title=None, sort=None))
        )
        return chart

    def __repr__(self) -> str:
        best = "-" if self.score_best is None else f"{self.score_best:.3f}"
        return f"Compatibility({self.link or '-'}: {self.verdict}, {len(self.jobs)} jobs, best score {best})"


_DOCUMENT_FIELDS: Final = (
    *("link", "direction", "capacity_bps", "verdict", "reason", "jobs"),
    *("score_now", "score_best", "score_random", "score_cassini", "score_paced", "score_robust", "score_worst"),
    *("jitter_frac", "bound", "gap", "is_proved", "horizon_s", "hold_s", "drift_s", "wander_s"),
    *("predicted", "method", "warnings"),
)


def _end(shift: JobShift | None, place: Literal[0, 1]) -> float | None:
    """Return the first or last shift of a job's plateau, if it has one."""
    return None if shift is None or shift.plateau_s is None else shift.plateau_s[place]
