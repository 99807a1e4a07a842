"""`Overlap`: bursts that are more than a link takes together, before and after its advice; `Side`: all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.compat.explanation.causes import causes_of

if TYPE_CHECKING:
    from pipeline.compat.explanation.bursts import Burst
    from pipeline.compat.explanation.causes import Cause, Scene
    from pipeline.compat.explanation.scenes import Scenes

__all__ = ["Overlap", "Side", "overlaps_of", "side_of", "sum_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A link before or after the advice, by the iteration of its slowest job.

    ``what`` says how the jobs stand to each other; for ``over_s`` of every ``beat_s`` demand exceeds the capacity, by
    ``excess_bytes`` in all. ``score`` is that of the link's compatibility.
    """

    what: str
    score: float
    beat_s: float
    over_s: float
    excess_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Bursts that are on the link together, with no others, and more than it takes; none are other traffic alone.

    Seconds and bytes are those of an iteration of the slowest job: how long demand exceeds the capacity, and by how
    much in all.
    """

    bursts: tuple[Burst, ...]
    before_s: float
    before_bytes: float
    after_s: float
    after_bytes: float

    @property
    def label(self) -> str:
        """The bursts in a few words."""
        return " + ".join(f"{burst.job} {burst.kind} {burst.number}" for burst in self.bursts) or "other traffic"


def overlaps_of(scenes: Scenes) -> list[Overlap]:
    """Return every overlap of either scene, by its bytes before, then after."""
    before, after = causes_of(scenes.before), causes_of(scenes.after)
    overlaps = [_overlap(before.get(key), after.get(key)) for key in {**before, **after}]
    return sorted(overlaps, key=lambda overlap: (-overlap.before_bytes, -overlap.after_bytes, overlap.bursts))


def side_of(scene: Scene, *, over_s: float, excess_bytes: float) -> Side:
    """Return what the overlaps of a scene come to."""
    return Side(what=scene.what, score=scene.score, beat_s=scene.beat_s, over_s=over_s, excess_bytes=excess_bytes)


def sum_of(overlaps: Iterable[Overlap]) -> Overlap:
    """Return several overlaps as one, without its bursts."""
    told = list(overlaps)
    return Overlap(
        bursts=(),
        before_s=sum(overlap.before_s for overlap in told),
        before_bytes=sum(overlap.before_bytes for overlap in told),
        after_s=sum(overlap.after_s for overlap in told),
        after_bytes=sum(overlap.after_bytes for overlap in told),
    )


def _overlap(before: Cause | None, after: Cause | None) -> Overlap:
    cause = before or after
    return Overlap(
        bursts=cause.bursts if cause else (),
        before_s=before.over_s if before else 0.0,
        before_bytes=before.excess_bytes if before else 0.0,
        after_s=after.over_s if after else 0.0,
        after_bytes=after.excess_bytes if after else 0.0,
    )
