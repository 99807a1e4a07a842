"""`profile_shard`: the profiles of a shard's ports; a pure function of the shard and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from profiler.batch.outcome import profile_or_reason
from profiler.errors import BadInput
from profiler.rates import rate_series
from profiler.refresh import ClockKnots, knots_of_ticks
from profiler.schema import Flag
from profiler.signals import RateSeries
from profiler.store import Series
from profiler.store.counters import read_counters

if TYPE_CHECKING:
    from pipeline.batch.shard import Shard
    from profiler.phases import TrafficProfile
    from profiler.store import Counter

__all__ = ["SeriesProfile", "port_rate", "profile_shard"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesProfile:
    """The profile of one series, and the time that it describes (UTC epoch ns; None where there are no samples).

    ``clock`` is the counter's own, None where it has none that reads see.
    """

    series_id: int
    profile: TrafficProfile
    from_ns: int | None
    to_ns: int | None
    clock: ClockKnots | None = None


def profile_shard(shard: Shard) -> list[SeriesProfile]:
    """Profile the ports of a shard, in order of series id.

    A series that cannot be read as a rate has status ``no_data`` and the reason.

    Raises
    ------
    LakeError
        If a file is missing or damaged.
    """
    port_of = {port["series_id"]: port for port in shard.ports}
    kinds = {series_id: port["kind"] for series_id, port in port_of.items()}
    counters = read_counters(
        shard.paths, kinds, kinds=kinds, n_rows=shard.n_samples, t_range_ns=(shard.from_ns, shard.to_ns)
    )
    return [_profile(port_of[series_id], counter, shard=shard) for series_id, counter in counters]


def port_rate(port: Mapping[str, Any], counter: Counter) -> tuple[RateSeries, str | None]:
    """Return the rate of a port, empty where its readings are none, and why they are none."""
    names = {name: port[name] for name in ("host", "device", "port", "direction", "layer")}
    series = Series(kind=port["kind"], raw_scale=port["raw_scale"], width_bits=port["width_bits"], **names)
    try:
        rate = rate_series(
            series,
            t_ns=counter.t_ns,
            value=counter.value,
            flags=counter.flags,
            capacity_bps=port["capacity_bps"],
        )
    except BadInput as error:
        return RateSeries.from_deltas([], []).named(**names), str(error)
    return rate, None


def _profile(port: Mapping[str, Any], counter: Counter, *, shard: Shard) -> SeriesProfile:
    rate, fault = port_rate(port, counter)
    profile = profile_or_reason(rate)
    if fault is not None:
        profile = replace(profile, reason=fault)
    if shard.n_left_out:
        note = (
            f"of the readings from {shard.from_ns} ns on: about {shard.n_left_out} older ones of a series are too many "
            "to analyse with them"
        )
        profile = replace(profile, warnings=(*profile.warnings, note))
    edges_ns = rate.edges_ns
    return SeriesProfile(
        series_id=port["series_id"],
        profile=profile,
        from_ns=int(edges_ns[0]) if edges_ns.size else None,
        to_ns=int(edges_ns[-1]) if edges_ns.size else None,
        clock=_clock(rate, counter),
    )


def _clock(rate: RateSeries, counter: Counter) -> ClockKnots | None:
    if rate.refresh_s is None:
        return None
    reads_ns = counter.t_ns[(counter.flags & np.uint16(Flag.IMPOSSIBLE)) == 0]
    return knots_of_ticks(rate.edges_ns, reads_ns, refresh_s=rate.refresh_s)
