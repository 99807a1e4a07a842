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
        may_be_one = name not in ("t_ns", "value")
        if len(shape) != 1 or (array.shape != shape and (array.ndim or not may_be_one)):
            raise BadInput(
                f"{place}: column {name}: shape {array.shape}, but t_ns has {shape}; give one value a sample"
            )
    return arrays


def _integers(place: str, name: str, values: ArrayLike) -> NDArray[Any]:
    array, dtype = np.asarray(values), COLUMN_TYPES[name]
    if array.dtype == dtype:
        return array
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise BadInput(
            f"{place}: column {name}: expected whole numbers, found {array.dtype}; round or scale them first"
        )
    if array.size and not np.can_cast(array.dtype, dtype):
        low, high = (int(array.min()), int(array.max())) if array.ndim else (int(array), int(array))
        limits = np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            raise BadInput(f"{place}: column {name}: {low} to {high} does not fit {limits.dtype}; {_REMEDIES[name]}")
    return array
