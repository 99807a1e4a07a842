"""Sources to open counters, with what is wrong with the rest."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.collectors import COLLECTORS
from profiler.collectors.base import Source, open_counters
from profiler.errors import NotHere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from profiler.collectors.base import AnyCounter, Probe
    from profiler.errors import OffbeatError

__all__ = ["OpenSources", "opened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSources:
    """Counters that can be read, and why others cannot."""

    counters: tuple[AnyCounter, ...]
    broken: tuple[OffbeatError, ...]


@contextmanager
def opened(sources: Sequence[Source | Probe], *, host: str) -> Iterator[OpenSources]:
    """Keep the counters of some ports and probes open within the block."""
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
        yield OpenSources(counters=(*counters, *probed), broken=tuple(broken))
