"""`profile_lake`: the profile of every port's byte series in a lake, and its rows for the lake."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from profiler.batch import profile_many
from profiler.errors import BadInput
from profiler.rates import rate_series
from profiler.schema import arrow_schema
from profiler.signals import RateSeries
from profiler.store import Series

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile
    from profiler.store import Counter, Lake

__all__ = ["SeriesProfile", "profile_lake", "profile_tables"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesProfile:
    """The profile of one series, and the time that it describes (UTC epoch ns; None where there are no samples)."""

    series_id: int
    profile: TrafficProfile
    from_ns: int | None
    to_ns: int | None


def profile_lake(
    lake: Lake, ports: Sequence[Mapping[str, Any]], *, on_port: Callable[[int, int], None]
) -> dict[int, SeriesProfile]:
    """Profile the byte series of ports, as many at a time as there are processors.

    Parameters
    ----------
    lake
        Where the samples are.
    ports
        Rows of query ``series_by_port``.
    on_port
        Called after each port with the number of ports done and their total.

    Returns
    -------
    dict of int to SeriesProfile
        By series id, in order of ports. A series that cannot be read as a rate has status ``no_data`` and the reason.

    Raises
    ------
    LakeError
        If a file of the lake is missing or damaged.
    """
    port_of = {port["series_id"]: port for port in ports}
    drawn: deque[_Drawn] = deque()
    profiles: dict[int, SeriesProfile] = {}
    for profile in profile_many(_rates(lake, port_of, drawn=drawn)):
        one = drawn.popleft()
        profiles[one.series_id] = one.with_profile(profile)
        on_port(len(profiles), len(port_of))
    return {series_id: profiles[series_id] for series_id in port_of}


def profile_tables(profiles: Iterable[SeriesProfile]) -> dict[str, pa.Table]:
    """Return the rows of tables ``profiles`` and ``phases``."""
    known = list(profiles)
    phases = [
        {"series_id": one.series_id, "i_phase": i, **_columns("phases", phase)}
        for one in known
        for i, phase in enumerate(one.profile.phases)
    ]
    rows = [
        {"series_id": one.series_id, "from_ns": one.from_ns, "to_ns": one.to_ns, **_columns("profiles", one.profile)}
        for one in known
    ]
    return {
        "profiles": pa.Table.from_pylist(rows, schema=arrow_schema("profiles")),
        "phases": pa.Table.from_pylist(phases, schema=arrow_schema("phases")),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A series that was read and whose profile is to come; ``fault`` tells why it is no rate, None where it is one."""

    series_id: int
    from_ns: int | None
    to_ns: int | None
    fault: str | None

    def with_profile(self, profile: TrafficProfile) -> SeriesProfile:
        known = profile if self.fault is None else replace(profile, reason=self.fault)
        return SeriesProfile(series_id=self.series_id, profile=known, from_ns=self.from_ns, to_ns=self.to_ns)


def _rates(lake: Lake, port_of: Mapping[int, Mapping[str, Any]], *, drawn: deque[_Drawn]) -> Iterator[RateSeries]:
    """Yield the rate of each port, empty where its readings are none, and append what else is known of it."""
    for series_id, counter in lake.counters(port_of):
        rate, fault = _rate(port_of[series_id], counter)
        edges_ns = rate.edges_ns
        drawn.append(
            _Drawn(
                series_id=series_id,
                from_ns=int(edges_ns[0]) if edges_ns.size else None,
                to_ns=int(edges_ns[-1]) if edges_ns.size else None,
                fault=fault,
            )
        )
        yield rate


def _rate(port: Mapping[str, Any], counter: Counter) -> tuple[RateSeries, str | None]:
    names = {name: port[name] for name in ("host", "device", "port", "direction", "layer")}
    series = Series(kind=port["kind"], raw_scale=port["raw_scale"], width_bits=port["width_bits"], **names)
    try:
        rate = rate_series(series, t_ns=counter.t_ns, value=counter.value, capacity_bps=port["capacity_bps"])
    except BadInput as error:
        return RateSeries.from_deltas([], []).named(**names), str(error)
    return rate, None


def _columns(table: str, result: object) -> dict[str, Any]:
    """Return those columns of a table that a result has under the same name."""
    return {name: getattr(result, name) for name in arrow_schema(table).names if hasattr(result, name)}
