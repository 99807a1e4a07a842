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


def checked_columns(place: str, columns: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return columns as integer arrays of one length, or of shape () where one value serves all rows.

    Raises
    ------
    BadInput
        If a column is not of whole numbers, has another length than ``t_ns``, or does not fit its type.
    """
    arrays = {
        name: _integers(f"{place}: column {name}", values, COLUMN_TYPES[name]) for name, values in columns.items()
    }
    shape = arrays["t_ns"].shape
    for name, array in arrays.items():
        may_be_one = name not in ("t_ns", "value")
        if len(shape) != 1 or (array.shape != shape and (array.ndim or not may_be_one)):
            raise BadInput(
                f"{place}: column {name}: shape {array.shape}, but t_ns has {shape}; give one value a sample"
            )
    return arrays


def _integers(place: str, values: ArrayLike, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise BadInput(f"{place}: expected whole numbers, found {array.dtype}; round or scale them first")
    if array.size and not np.can_cast(array.dtype, dtype):
        limits = np.iinfo(dtype)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            raise BadInput(f"{place}: values {low} to {high} do not fit {limits.dtype}; {_remedy(place)}")
    return array


def _remedy(place: str) -> str:
    if place.endswith("window_ns"):
        return "a window is at most 2.147 s: store sums of longer windows as a cumulative counter"
    return "reduce the counter modulo 2**63 first"
