"""`compat`: the exact kernel of two jobs as a function of SQL, vectorised over Arrow columns."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from profiler.errors import OffbeatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.phases import TrafficProfile

__all__ = ["PROFILE_TYPE", "SCORE_TYPE", "score_columns"]

PROFILE_TYPE: Final = (
    "struct(period_s double, period_error_s double, phases struct(start_s double, width_s double, rate_bps double)[])"
)
SCORE_TYPE: Final = "struct(score_best double, score_random double, shift_s double)"
_PHASE: Final = ("start_s", "width_s", "rate_bps")
_SCORES: Final = pa.struct([(name, pa.float64()) for name in ("score_best", "score_random", "shift_s")])
_N_KEPT: Final = 10_000
"""Profiles kept between the chunks of a query, about a kilobyte each."""

_Key = tuple[float, float | None, tuple[tuple[float | None, ...], ...]]


def score_columns(a: pa.ChunkedArray, b: pa.ChunkedArray, *, capacity_bps: pa.ChunkedArray) -> pa.Array:
    """Return the scores of two profiles on a link, a row each; null where an argument is.

    Parameters
    ----------
    a, b
        Profiles, of `PROFILE_TYPE`, shape (n_rows,).
    capacity_bps
        Of the link, shape (n_rows,).

    Raises
    ------
    UsageError
        If a capacity is not positive or a profile makes no sense; the message names it.
    """
    rows = list(zip(a.to_pylist(), b.to_pylist(), capacity_bps.to_pylist(), strict=True))
    scores: list[dict[str, float] | None] = [None] * len(rows)
    of_capacity: dict[float, list[int]] = {}
    for i, row in enumerate(rows):
        if row[2] is not None and _is_whole(row[0]) and _is_whole(row[1]):
            of_capacity.setdefault(row[2], []).append(i)
    for capacity, places in of_capacity.items():
        pairs = [(_key(rows[i][0]), _key(rows[i][1])) for i in places]
        for i, score in zip(places, _scores(pairs, capacity_bps=capacity), strict=True):
            scores[i] = score
    return pa.array(scores, _SCORES)


def _is_whole(profile: dict[str, Any] | None) -> bool:
    return profile is not None and profile["period_s"] is not None and profile["phases"] is not None


def _key(profile: dict[str, Any]) -> _Key:
    phases = tuple(tuple(phase[name] for name in _PHASE) for phase in profile["phases"])
    return profile["period_s"], profile["period_error_s"], phases


def _scores(pairs: Sequence[tuple[_Key, _Key]], *, capacity_bps: float) -> list[dict[str, float]]:
    # What compiles loops is imported when the function is called, not when a database is opened.
    from pipeline.compat import score_chosen_pairs

    profiles = {key: _profile(key) for pair in pairs for key in pair}
    place = {key: i for i, key in enumerate(profiles)}
    found = score_chosen_pairs(
        {f"compat {i}": profile for i, profile in enumerate(profiles.values())},
        first=[place[first] for first, _ in pairs],
        second=[place[second] for _, second in pairs],
        capacity_bps=capacity_bps,
    )
    columns = [values.tolist() for values in found]
    return [dict(zip(_SCORES.names, values, strict=True)) for values in zip(*columns, strict=True)]


@lru_cache(maxsize=_N_KEPT)
def _profile(key: _Key) -> TrafficProfile:
    from profiler.phases import TrafficProfile

    period_s, period_error_s, phases = key
    document: dict[str, Any] = {
        "period_s": period_s,
        "phases": [dict(zip(_PHASE, phase, strict=True)) for phase in phases],
    }
    if period_error_s:
        document["period_error_s"] = period_error_s
    try:
        return TrafficProfile.from_dict(document)
    except OffbeatError as error:
        raise UsageError(f"function compat: {error}") from None
