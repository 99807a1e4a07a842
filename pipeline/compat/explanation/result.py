"""`Explanation`: the bursts that make a link's excess, before and after its advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from pipeline.compat.explanation.overlaps import overlaps_of, side_of, sum_of
from profiler.results import Tabular, json_ready
from profiler.units import format_bytes, format_duration

if TYPE_CHECKING:
    import altair as alt

    from pipeline.compat.explanation.overlaps import Overlap, Side
    from pipeline.compat.explanation.scenes import Scenes

__all__ = ["OVERLAP_COLUMNS", "Explanation", "explain_scenes"]

OVERLAP_COLUMNS: Final = ("link", "direction", "overlap", "before_s", "before_bytes", "after_s", "after_bytes")
"""Of the rows of an explanation, of which there are none where nothing overlaps."""

MAX_OVERLAPS: Final = 20
"""More overlaps than this nobody reads: the least are told of together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Tabular):
    """Where the excess of a link comes from.

    ``overlaps`` come by their bytes before, then after; those left out, fewer bytes each, are summed up in ``rest``.
    The bytes of all of them are the mean excess of the scores. ``has_background`` tells whether traffic without a
    period adds to every overlap.
    """

    link: str | None
    direction: str | None
    capacity_bps: float
    verdict: str
    before: Side
    after: Side
    overlaps: tuple[Overlap, ...]
    rest: Overlap | None
    has_background: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the ``explanation`` document; each overlap with its bursts."""
        fields = ("link", "direction", "capacity_bps", "verdict", "has_background")
        document: dict[str, Any] = json_ready(
            {
                "kind": "explanation",
                "version": 1,
                **{name: getattr(self, name) for name in fields},
                "before": asdict(self.before),
                "after": asdict(self.after),
                "overlaps": [asdict(overlap) for overlap in self.overlaps],
                "rest": None if self.rest is None else {**asdict(self.rest), "bursts": None},
            }
        )
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row an overlap, and one for the rest."""
        told = [(overlap.label, overlap) for overlap in self.overlaps]
        if self.rest is not None:
            told.append(("all others", self.rest))
        return [
            dict(
                zip(
                    OVERLAP_COLUMNS,
                    (self.link, self.direction, label, one.before_s, one.before_bytes, one.after_s, one.after_bytes),
                    strict=True,
                )
            )
            for label, one in told
        ]

    def plot(self) -> alt.Chart:
        """Return the bytes of each overlap before and after as an Altair bar chart."""
        import altair as alt

        rows = [
            {"overlap": row["overlap"], "when": when, "bytes": row[f"{when}_bytes"]}
            for row in self.to_rows()
            for when in ("before", "after")
        ]
        chart: alt.Chart = (
            alt.Chart(alt.InlineData(values=rows), title=f"{self.link or 'link'}: bytes over capacity an iteration")
            .mark_bar()
            .encode(
                x=alt.X("bytes:Q", title="bytes"),
                y=alt.Y("overlap:N", title=None, sort=None),
                yOffset=alt.YOffset("when:N", sort=["before", "after"]),
                color=alt.Color("when:N", sort=["before", "after"]),
            )
        )
        return chart

    def __repr__(self) -> str:
        sides = " -> ".join(
            f"{format_bytes(side.excess_bytes)} over in {format_duration(side.beat_s)}"
            for side in (self.before, self.after)
        )
        return f"Explanation({self.link or '-'}: {self.verdict}, {sides}, {len(self.overlaps)} overlaps)"


def explain_scenes(scenes: Scenes, *, link: str | None, direction: str | None, verdict: str) -> Explanation:
    """Return what each overlap brings in both scenes."""
    overlaps = overlaps_of(scenes)
    total, left = sum_of(overlaps), overlaps[MAX_OVERLAPS:]
    return Explanation(
        link=link,
        direction=direction,
        capacity_bps=scenes.before.excess.capacity_bps,
        verdict=verdict,
        before=side_of(scenes.before, over_s=total.before_s, excess_bytes=total.before_bytes),
        after=side_of(scenes.after, over_s=total.after_s, excess_bytes=total.after_bytes),
        overlaps=tuple(overlaps[:MAX_OVERLAPS]),
        rest=sum_of(left) if left else None,
        has_background=scenes.before.excess.others.mean_bps > 0,
    )
