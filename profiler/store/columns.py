"""Columns of samples as callers give them, checked before they are stored: nothing is wrapped or cut in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from profiler.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["COLUMN_TYPES", "checked_columns"]

COLUMN_TYPES: Final[dict[str, type[np.integer[Any]]]] = {
    "t_ns": np.int64,
    "window_ns": np.int32,
    "value": np.int64,
    "flags": np.uint16,
    "epoch": np.int32,
}
"""Columns of table ``samples`` other than its series."""

_LIMITS: Final = {
    name: (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), np.dtype(dtype)) for name, dtype in COLUMN_TYPES.items()
}

_ONE_A_SAMPLE: Final = ("t_ns", "value")
"""Columns of which no value serves all rows."""

_REMEDIES: Final = {
    "t_ns": "give UTC nanoseconds",
    "window_ns": "a window is at most 2.147 s: store the sums of longer ones as a cumulative counter",
    "value": "reduce the counter modulo 2**63 first",
    "flags": "give bits of profiler.schema.Flag",
    "epoch": "count resets from 0",
}


def checked_columns(place: str, columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return columns as integer arrays of one length, or of shape () where one value serves all rows.

    Raises
    ------
    BadInput
        If a column is not of whole numbers, has another length than ``t_ns``, or does not fit its type.
    """
    arrays = {name: _integers(place, name, values) for name, values in columns.items()}
    shape = arrays["t_ns"].shape
    for name, array in arrays.items():
        if len(shape) != 1 or (array.shape != shape and (array.ndim or name in _ONE_A_SAMPLE)):
            raise BadInput(
                f"{place}: column {name}: shape {array.shape}, but t_ns has {shape}; give one value a sample"
            )
    return arrays


def _integers(place: str, name: str, values: ArrayLike | int) -> NDArray[Any]:
    low, high, dtype = _LIMITS[name]
    if isinstance(values, int) and low <= values <= high:  # a recorder asks this so often that it shows
        return np.array(values, dtype)
    array = np.asarray(values)
    if array.dtype == dtype:
        return array
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise BadInput(
            f"{place}: column {name}: expected whole numbers, found {array.dtype}; round or scale them first"
        )
    if array.size and not np.can_cast(array.dtype, dtype):
        least, most = (int(array.min()), int(array.max())) if array.ndim else (int(array), int(array))
        if least < low or most > high:
            raise BadInput(f"{place}: column {name}: {least} to {most} does not fit {dtype}; {_REMEDIES[name]}")
    return array
