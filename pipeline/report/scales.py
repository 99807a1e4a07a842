"""Axis units: one unit an axis, so that tick labels stay short numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Scale", "rate_scale", "time_scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """Unit of an axis and its size in bit/s or s."""

    unit: str
    size: float


_RATES: Final = (Scale("Tbit/s", 1e12), Scale("Gbit/s", 1e9), Scale("Mbit/s", 1e6), Scale("kbit/s", 1e3))
_TIMES: Final = (Scale("min", 60.0), Scale("s", 1.0), Scale("ms", 1e-3))
_ROOM: Final = 2.0
"""A unit is used from twice its size on: 1.4 s is drawn as 1400 ms."""


def rate_scale(largest_bps: float) -> Scale:
    """Return the unit for rates up to ``largest_bps``.

    Examples
    --------
    >>> rate_scale(400e6).unit
    'Mbit/s'
    """
    return next((scale for scale in _RATES if largest_bps >= scale.size), Scale("bit/s", 1.0))


def time_scale(longest_s: float) -> Scale:
    """Return the unit for times up to ``longest_s``.

    Examples
    --------
    >>> time_scale(0.64).unit, time_scale(75.0).unit
    ('ms', 's')
    """
    return next((scale for scale in _TIMES if longest_s >= _ROOM * scale.size), Scale("µs", 1e-6))
