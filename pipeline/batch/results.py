"""What comes of a shard, as one Parquet file: every field of every profile, to the last bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.batch.compute import SeriesProfile
from profiler.phases import TrafficProfile
from profiler.phases.phase import Outlier, Phase
from profiler.refresh import ClockKnots

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["clock_columns", "read_result", "write_result"]

_SCALARS: Final = {
    "str": pa.string(),
    "Status": pa.string(),
    "Literal['up', 'down']": pa.string(),
    "Literal['long', 'large']": pa.string(),
    "float": pa.float64(),
    "float | None": pa.float64(),
    "int": pa.int64(),
    "int | None": pa.int64(),
}
"""Arrow type of a field by its annotation; one that is not here fails at import, so that no field is lost."""


def _struct(kind: type) -> pa.StructType:
    return pa.struct([(field.name, _SCALARS[str(field.type)]) for field in fields(kind)])


_TYPES: Final = {
    **_SCALARS,
    "tuple[float, ...]": pa.list_(pa.float64()),
    "tuple[str, ...]": pa.list_(pa.string()),
    "NDArray[np.float64]": pa.list_(pa.float64()),
    "tuple[Phase, ...]": pa.list_(_struct(Phase)),
    "tuple[Outlier, ...]": pa.list_(_struct(Outlier)),
}
_NESTED: Final = "tuple[TrafficProfile, ...]"
"""A profile's others stand in rows of their own, before its own row, and name its row as their parent."""

_FIELDS: Final = {field.name: str(field.type) for field in fields(TrafficProfile) if str(field.type) != _NESTED}
_SCHEMA: Final = pa.schema(
    [
        ("series_id", pa.uint64()),
        ("from_ns", pa.int64()),
        ("to_ns", pa.int64()),
        ("refresh_s", pa.float64()),
        ("knots_ns", pa.list_(pa.int64())),
        ("knots_ticks", pa.list_(pa.float64())),
        ("n_others", pa.int32()),
        *((name, _TYPES[kind]) for name, kind in _FIELDS.items()),
    ]
)
_KEY: Final = b"offbeat_shard"


def write_result(path: Path, found: Iterable[SeriesProfile], *, key: str) -> None:
    """Write the profiles of a shard.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    rows = [row for one in found for row in _rows(one)]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA).replace_schema_metadata({_KEY: key})
    pq.write_table(table, path, compression="zstd")


def read_result(path: Path, *, key: str) -> list[SeriesProfile] | None:
    """Return the profiles of a shard; None if the file is missing, torn, or of another shard or layout."""
    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException):
        return None
    if (table.schema.metadata or {}).get(_KEY) != key.encode() or not table.schema.equals(_SCHEMA):
        return None
    rows = iter(table.to_pylist()[::-1])
    return [_series_profile(row, rows) for row in rows][::-1]


def _rows(one: SeriesProfile) -> Iterator[dict[str, Any]]:
    """Yield the row of a profile's others, each after its own others, and then of the profile."""
    place = {"series_id": one.series_id, "from_ns": one.from_ns, "to_ns": one.to_ns}
    *others, own = _flattened(one.profile)
    yield from ({**place, **row} for row in others)
    yield {**place, **clock_columns(one.clock), **own}


def clock_columns(clock: ClockKnots | None) -> dict[str, Any]:
    """Return what tables ``profiles`` and ``profile_history`` have of a counter's clock."""
    if clock is None:
        return {"refresh_s": None, "knots_ns": None, "knots_ticks": None}
    return {"refresh_s": clock.refresh_s, "knots_ns": clock.t_ns, "knots_ticks": clock.ticks}


def _flattened(profile: TrafficProfile) -> Iterator[dict[str, Any]]:
    for other in profile.others:
        yield from _flattened(other)
    yield {"n_others": len(profile.others), **{name: _plain(getattr(profile, name), _FIELDS[name]) for name in _FIELDS}}


def _plain(value: Any, kind: str) -> Any:  # noqa: ANN401 - of any field's type
    if kind in ("tuple[Phase, ...]", "tuple[Outlier, ...]"):
        return [{field.name: getattr(item, field.name) for field in fields(item)} for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _series_profile(row: dict[str, Any], rows: Iterator[dict[str, Any]]) -> SeriesProfile:
    place = {name: row[name] for name in ("series_id", "from_ns", "to_ns")}
    return SeriesProfile(profile=_profile(row, rows), clock=_clock(row), **place)


def _clock(row: dict[str, Any]) -> ClockKnots | None:
    if row["refresh_s"] is None:
        return None
    t_ns, ticks = np.array(row["knots_ns"], np.int64), np.array(row["knots_ticks"], np.float64)
    return ClockKnots(refresh_s=row["refresh_s"], t_ns=t_ns, ticks=ticks)


def _profile(row: dict[str, Any], rows: Iterator[dict[str, Any]]) -> TrafficProfile:
    """Return a profile, its others from the rows that follow it backwards."""
    others = [_profile(next(rows), rows) for _ in range(row["n_others"])][::-1]
    return TrafficProfile(**{name: _field(row[name], kind) for name, kind in _FIELDS.items()}, others=tuple(others))


def _field(value: Any, kind: str) -> Any:  # noqa: ANN401 - of any field's type
    match kind:
        case "NDArray[np.float64]":
            return np.array(value, dtype=np.float64)
        case "tuple[Phase, ...]":
            return tuple(Phase(**item) for item in value)
        case "tuple[Outlier, ...]":
            return tuple(Outlier(**item) for item in value)
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
