"""Columns of Arrow from numpy and Python without pandas, which `pyarrow.array` takes 0.25 s to import, and to look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["column_of_numbers", "column_of_values"]

_NUMBERS: Final = {
    pa.from_numpy_dtype(dtype): dtype
    for dtype in (np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64, np.float64)
}


def column_of_numbers(numbers: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Return numbers as a column that has no nulls; they fit its type."""
    values = np.ascontiguousarray(numbers, dtype=_NUMBERS[kind])
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])


def column_of_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return texts or numbers as a column; None is null.

    Examples
    --------
    >>> column_of_values(["a", None], pa.string()).to_pylist(), column_of_values([None, 7], pa.int16()).to_pylist()
    (['a', None], [None, 7])
    """
    is_known = np.fromiter((value is not None for value in values), dtype=bool, count=len(values))
    buffers = [pa.py_buffer(np.packbits(is_known, bitorder="little"))]
    if pa.types.is_string(kind):
        texts = [b"" if value is None else value.encode() for value in values]
        offsets = np.cumsum([0, *map(len, texts)])
        if offsets[-1] > np.iinfo(np.int32).max:
            return pa.array(values, type=kind)
        buffers += [pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(texts))]
    else:
        buffers.append(pa.py_buffer(np.array([0 if value is None else value for value in values], _NUMBERS[kind])))
    return pa.Array.from_buffers(kind, len(values), buffers)
