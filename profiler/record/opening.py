"""Sources to open counters, with what is wrong with the rest."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.collectors import COLLECTORS
from profiler.collectors.base import Source, open_counters
from profiler.collectors.blind import blind_spots_among, doubles_among
from profiler.errors import NotHere, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from profiler.collectors.base import AnyCounter, Probe
    from profiler.errors import OffbeatError

__all__ = ["OpenSources", "opened", "remarks_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSources:
    """Counters that can be read, why others cannot, and what their user must know of them."""

    counters: tuple[AnyCounter, ...]
    broken: tuple[OffbeatError, ...]
    remarks: tuple[str, ...] = ()


@contextmanager
def opened(sources: Sequence[Source | Probe], *, host: str) -> Iterator[OpenSources]:
    """Keep the counters of some ports and probes open within the block.

    Raises
    ------
    UsageError
        If two of them are the same series: its samples could not be told apart.
    """
    counters: list[AnyCounter] = []
    probed: list[AnyCounter] = []
    broken: list[OffbeatError] = []
    with ExitStack() as files:
        for source in sources:
            if not isinstance(source, Source):
                files.callback(source.close)
                probed += source.counters()
                continue
            try:
                found, faults = open_counters(source, COLLECTORS[source.collector], host=host)
            except NotHere as error:
                broken.append(error)
                continue
            for counter in found:
                files.callback(counter.close)
            counters += found
            broken += faults
        _refuse_twins([*counters, *probed])
        yield OpenSources(counters=(*counters, *probed), broken=tuple(broken), remarks=tuple(remarks_on(sources)))


def remarks_on(sources: Sequence[Source | Probe]) -> list[str]:
    """Return what the user of some sources must know: what they do not see, what they see twice, what a read costs."""
    ports = [source for source in sources if isinstance(source, Source)]
    probes = [source for source in sources if not isinstance(source, Source)]
    own = [remark for probe in probes for remark in probe.remarks]
    return [*blind_spots_among(ports), *doubles_among(probes), *own]


def _refuse_twins(counters: Sequence[AnyCounter]) -> None:
    known: dict[int, AnyCounter] = {}
    for counter in counters:
        twin = known.setdefault(counter.series.series_id, counter)
        if twin is not counter:
            ways = " and ".join(sorted({twin.source.collector, counter.source.collector}))
            raise UsageError(
                f"{counter.source.name}: {counter.series.raw_name} is named twice, for {ways}; name it once, or the"
                " statistics to read, as --ethtool eth0:NAME,NAME"
            )
