"""`BatchOptions` and `Share`: how the shards of a lake are computed, and which of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pipeline.batch.plan import DAY_S
from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipeline.batch.engines import EngineName
    from pipeline.batch.shard import Shard

__all__ = ["BatchOptions", "Share"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How shards are computed; what comes of them is the same whatever is chosen, but for the window.

    Parameters
    ----------
    engine
        ``local`` processes, or tasks of a ``ray`` cluster.
    n_workers
        Processes; by default one a processor.
    window_s
        Length of the closed ranges of the history, and at least that of the present, in seconds.
    work
        Folder for finished shards; by default ``work`` in the lake.
    compute
        Whether shards that are not finished are computed, or reported as missing.

    Raises
    ------
    UsageError
        If there is no process.
    """

    engine: EngineName = "local"
    n_workers: int | None = None
    window_s: float = DAY_S
    work: Path | None = None
    compute: Literal["missing", "nothing"] = "missing"

    def __post_init__(self) -> None:
        if self.n_workers is not None and self.n_workers < 1:
            raise UsageError(f"workers {self.n_workers}: must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Part ``number`` of ``total``, counted from 1: what one process of a job array does."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``i/N``.

        Raises
        ------
        UsageError
            If it is not two whole numbers, or i is not in 1 to N.

        Examples
        --------
        >>> Share.parse("2/8")
        Share(number=2, total=8)
        """
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip())
        if match is None:
            raise UsageError(f"shard {text!r}: expected i/N, such as 1/8 to 8/8")
        number, total = int(match[1]), int(match[2])
        if not 1 <= number <= total:
            raise UsageError(
                f"shard {text!r}: shards are counted from 1 to N; start a Slurm array with --array=1-N, "
                "or add 1 to an index that counts from 0"
            )
        return cls(number=number, total=total)

    def of(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return this share: every ``total``-th shard by size, so that shares take about the same time.

        Those of the present are divided first: of the others all may be known.
        """
        largest_first = sorted(shards, key=lambda shard: (not shard.is_present, -shard.n_samples, shard.key))
        return largest_first[self.number - 1 :: self.total]
