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


def column_of_numbers(
    numbers: NDArray[Any], kind: pa.DataType, *, is_known: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return numbers, which fit its type, as a column; null where they are not known."""
    values = np.ascontiguousarray(numbers, dtype=_NUMBERS[kind])
    return pa.Array.from_buffers(kind, values.size, [_validity(is_known), pa.py_buffer(values)])


def column_of_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return texts, less than 2 GiB of them, or numbers as a column; None is null.

    Examples
    --------
    >>> column_of_values(["a", None], pa.string()).to_pylist(), column_of_values([None, 7], pa.int16()).to_pylist()
    (['a', None], [None, 7])
    """
    is_known = np.array([value is not None for value in values], dtype=bool) if None in values else None
    if not pa.types.is_string(kind):
        known = values if is_known is None else [0 if value is None else value for value in values]
        return column_of_numbers(np.array(known, _NUMBERS[kind]), kind, is_known=is_known)
    return _texts(["" if value is None else value for value in values], is_known)


def _texts(texts: list[str], is_known: NDArray[np.bool_] | None) -> pa.Array:
    joined = "".join(texts).encode()
    lengths = map(len, texts) if joined.isascii() else (len(text.encode()) for text in texts)
    offsets = np.cumsum([0, *lengths])
    buffers = [_validity(is_known), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(joined)]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _validity(is_known: NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if is_known is None else pa.py_buffer(np.packbits(is_known, bitorder="little"))
