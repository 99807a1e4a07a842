"""`gather`: a stream of series, each profiled and kept small."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pipeline.discover.ports import SeenPort, recent, seen_port
from profiler.batch import profile_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from profiler.signals import RateSeries

__all__ = ["gather"]


def gather(series: Iterable[RateSeries], *, on_port: Callable[[int], None] = lambda _n_done: None) -> list[SeenPort]:
    """Return what is kept of each series, in their order; no more than a few of them are held at a time.

    Parameters
    ----------
    series
        Rates of ports, each direction one; drawn as they are needed.
    on_port
        Called after each with the number done.
    """
    drawn: deque[RateSeries] = deque()
    ports: list[SeenPort] = []
    origin_ns: int | None = None
    for profile in profile_many(_remembered(series, drawn)):
        one = drawn.popleft()
        if origin_ns is None and one.n_samples:
            origin_ns = int(one.edges_ns[0])
        ports.append(seen_port(one, profile, origin_ns=origin_ns or 0))
        on_port(len(ports))
    return ports


def _remembered(series: Iterable[RateSeries], drawn: deque[RateSeries]) -> Iterator[RateSeries]:
    for one in series:
        end = recent(one)
        drawn.append(end)
        yield end
