"""`Reads`: the samples that tell when jobs of some links were Up; `gather` puts those of several links together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from profiler.schema import arrow_schema
from profiler.store.reading import read_segments
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pipeline.batch import SampleFile, SeriesProfile
    from pipeline.overlaps.scene import Place

__all__ = ["GROUP_SAMPLES", "Reads", "gather"]

GROUP_SAMPLES: Final = 2**19
"""Samples in SQL at a time: some 20 MB, and as much again for each step of the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The samples of some series over the time that their profiles describe.

    Parameters
    ----------
    first_ns, last_ns
        That time, to the last read of it, UTC epoch ns.
    n_of
        About how many samples they are, by series id; a sum of flows has none itself, its parts have.
    """

    first_ns: int
    last_ns: int
    n_of: Mapping[int, int]

    @classmethod
    def of(cls, one: SeriesProfile, *, ids: Iterable[int], files: Sequence[SampleFile]) -> Self:
        """Return the samples of a profiled series, which stand under some ids."""
        # A tick is read after it, up to one interval of the counter's clock.
        late_ns = 0 if one.clock is None else round(one.clock.refresh_s * NS_PER_S)
        first_ns, last_ns = one.from_ns or 0, (one.to_ns or 0) + late_ns
        n_of = {each: sum(file.n_between(each, from_ns=first_ns, to_ns=last_ns + 1) for file in files) for each in ids}
        return cls(first_ns=first_ns, last_ns=last_ns, n_of=n_of)

    @property
    def n_samples(self) -> int:
        """About how many samples there are."""
        return sum(self.n_of.values())

    def joined(self, other: Reads) -> Reads:
        """Return the samples of both."""
        return Reads(
            first_ns=min(self.first_ns, other.first_ns),
            last_ns=max(self.last_ns, other.last_ns),
            n_of={**self.n_of, **other.n_of},
        )

    def files_of(self, files: Iterable[SampleFile]) -> list[SampleFile]:
        """Return the files that may hold them."""
        return [
            file
            for file in files
            if file.first_ns <= self.last_ns
            and file.last_ns >= self.first_ns
            and not self.n_of.keys().isdisjoint(file.n_rows)
        ]

    def read(self, files: Iterable[SampleFile]) -> pa.Table:
        """Return them as rows of table ``samples``.

        Raises
        ------
        LakeError
            If a file is missing or damaged.
        """
        chosen = pc.field("series_id").isin(pa.array(sorted(self.n_of), pa.uint64()))
        chosen = chosen & (pc.field("t_ns") >= self.first_ns) & (pc.field("t_ns") <= self.last_ns)
        return read_segments([file.path for file in self.files_of(files)], arrow_schema("samples"), filters=chosen)


def gather(reads: Mapping[Place, Reads]) -> Iterator[tuple[list[Place], Reads]]:
    """Yield places, and the samples that they need, of about `GROUP_SAMPLES` together."""
    places: list[Place] = []
    gathered: Reads | None = None
    for place, own in reads.items():
        both = own if gathered is None else gathered.joined(own)
        if places and both.n_samples > GROUP_SAMPLES:
            yield places, gathered or own
            places, both = [], own
        places.append(place)
        gathered = both
    if gathered is not None:
        yield places, gathered
