"""`read_rates`, `read_sources`: every byte series of a lake, a table, a capture or a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.errors import BadInput
from profiler.importers import read_counters, read_traffic
from profiler.importers.memory import Traffic
from profiler.importers.recorder import series_of
from profiler.rates import RATED_METRICS, rate_series
from profiler.store import Lake
from profiler.store.remote.address import RemotePath, locate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from profiler.collectives import CollectiveEvents
    from profiler.importers.sink import Counters
    from profiler.signals import RateSeries
    from profiler.store import Series

__all__ = ["read_rates", "read_sources"]


def read_rates(
    source: str | Path, *, mapping: str | None = None, host: str | None = None
) -> tuple[list[RateSeries], list[str]]:
    """Read the rate of every series of bytes.

    Parameters
    ----------
    source
        Whatever an importer reads: a lake, a table of counters, a capture, ``-``.
    mapping, host
        As for importers; a lake knows its own.

    Returns
    -------
    rates
        In order of host, device, port and direction.
    problems
        What was wrong with the parts that could not be read.

    Raises
    ------
    BadInput
        If nothing could be read, or it holds no series of bytes.
    LakeError
        If it is a lake that is damaged.
    """
    counters, problems = read_counters(source, mapping=mapping, host=host)
    rates = _rates(counters, problems)
    if not rates:
        raise _nothing(source, problems)
    return rates, problems


def read_sources(
    source: str | Path,
    *,
    mapping: str | None = None,
    host: str | None = None,
    capacity_bps: float | None = None,
    chosen: Callable[[Series], bool] = lambda _series: True,
) -> tuple[list[RateSeries], list[CollectiveEvents], list[str]]:
    """Read every series of bytes as `read_rates` does, but collectives one by one.

    Parameters
    ----------
    source, mapping, host
        As for `read_rates`.
    capacity_bps
        What the ports carry, in bit/s, if known: rates above it are impossible, or tell of a wrong unit.
    chosen
        Which series to fetch of a lake in a bucket; of all else every one is read.

    Returns
    -------
    rates, events
        Both in order of their names.
    problems
        What was wrong with the parts that could not be read.

    Raises
    ------
    BadInput
        If nothing could be read, or it holds no series of bytes and no collectives.
    LakeError
        If it is a lake that is damaged.
    """
    place = locate(source)
    if isinstance(place, RemotePath):
        counters, events, problems = Traffic(_fetched(place, chosen), [], [])
    else:
        counters, events, problems = read_traffic(place, mapping=mapping, host=host)
    rates = _rates(counters, problems, capacity_bps=capacity_bps)
    if not rates and not events:
        raise _nothing(source, problems, what="series of bytes and no collectives")
    return rates, sorted(events, key=lambda found: (found.host, found.device, found.port)), problems


def _fetched(place: RemotePath, chosen: Callable[[Series], bool]) -> Counters:
    """Return chosen series of bytes of a lake in a bucket, and nothing of the others."""
    lake = Lake.open(place)
    wanted = {
        series_id: series
        for series_id, series in series_of(lake).items()
        if series.metric in RATED_METRICS and chosen(series)
    }
    return [
        (wanted[series_id], counter.t_ns, counter.value, counter.flags)
        for series_id, counter in lake.counters(wanted)
        if len(counter)
    ]


def _rates(counters: Counters, problems: list[str], *, capacity_bps: float | None = None) -> list[RateSeries]:
    """Return the rate of each series of bytes, in order of their names; one that is no rate becomes a problem."""
    rates = []
    for series, t_ns, value, flags in counters:
        if series.metric not in RATED_METRICS:
            continue
        try:
            rates.append(rate_series(series, t_ns=t_ns, value=value, flags=flags, capacity_bps=capacity_bps))
        except BadInput as error:
            problems.append(f"{series.host}/{series.device} {series.direction}: {error}")
    return sorted(rates, key=lambda rate: (rate.host, rate.device, rate.port, rate.direction))


def _nothing(source: str | Path, problems: list[str], *, what: str = "series of bytes") -> BadInput:
    return BadInput(f"{source}: holds no {what}" + "".join(f"; {problem}" for problem in problems))
