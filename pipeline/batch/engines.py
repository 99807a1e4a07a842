"""`Engine`: what runs shards; `ENGINES`: the two there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from pipeline.batch.local import LocalEngine
from pipeline.batch.on_ray import RayEngine

if TYPE_CHECKING:
    from pipeline.batch.outcome import Outcome
    from pipeline.batch.shard import Shard
    from pipeline.batch.work import Work

__all__ = ["ENGINES", "Engine", "EngineName"]

EngineName: TypeAlias = Literal["local", "ray"]


class Engine(Protocol):
    """Runs `run_shard` on shards, somewhere."""

    def run(self, shards: Sequence[Shard], work: Work) -> Iterator[Outcome]:
        """Yield how each shard ended, in any order; a shard whose process dies is a fault and costs no other."""


ENGINES: Final[Mapping[EngineName, Callable[[int | None], Engine]]] = {"local": LocalEngine, "ray": RayEngine}
"""By name; made with the number of processes, None for as many as there are processors."""
