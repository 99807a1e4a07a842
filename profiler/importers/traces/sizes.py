"""Message sizes: elements and types, as PyTorch names them, to bytes."""

from __future__ import annotations

import math
from typing import Any, Final

__all__ = [
    "ELEMENT_BYTES",
    "MAX_MESSAGE_BYTES",
    "amount",
    "message_bytes",
    "possible_bytes",
    "tensor_elements",
    "whole",
]

MAX_AMOUNT: Final = 1e300
"""So that no change of units makes a number infinite."""
MAX_MESSAGE_BYTES: Final = float(1 << 43)
"""8 TiB: no GPU's memory holds a larger message, and the sum of a million of them still fits 63 bits."""

ELEMENT_BYTES: Final[dict[str, int]] = {
    "bool": 1,
    "byte": 1,
    "char": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "short": 2,
    "half": 2,
    "bfloat16": 2,
    "float16": 2,
    "int": 4,
    "float": 4,
    "int32": 4,
    "float32": 4,
    "long": 8,
    "double": 8,
    "int64": 8,
    "float64": 8,
    "complexfloat": 8,
    "complexdouble": 16,
}
"""Bytes in an element of a type, by its name in lower case: ``c10::toString`` of PyTorch's ``ScalarType.h``."""


def amount(value: Any) -> float:  # noqa: ANN401 - whatever a file holds
    """Return a number that is finite and not negative; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_AMOUNT:
        return math.nan
    return float(value)


def message_bytes(*n_elements: float, dtype: Any) -> float:  # noqa: ANN401 - whatever a file holds
    """Return the size of a message, the larger of what goes in and what comes out, as nccl-tests counts it.

    NaN if an amount or the type is not known, or if no message is as large.

    Examples
    --------
    >>> message_bytes(1000, 8000, dtype="BFloat16"), message_bytes(1000, dtype="Fancy")
    (16000.0, nan)
    """
    element_bytes = ELEMENT_BYTES.get(dtype.lower()) if isinstance(dtype, str) else None
    if element_bytes is None or not n_elements or any(math.isnan(n) for n in n_elements):
        return math.nan
    return possible_bytes(float(max(n_elements) * element_bytes))


def possible_bytes(n_bytes: float) -> float:
    """Return the size of a message; NaN if no message is as large."""
    return n_bytes if n_bytes <= MAX_MESSAGE_BYTES else math.nan


def tensor_elements(sizes: Any) -> float:  # noqa: ANN401 - whatever a file holds
    """Return the elements of a list of tensors, given their shapes; NaN if it is no such list or they are too many.

    Examples
    --------
    >>> tensor_elements([[4096, 1, 5120]]), tensor_elements([[]]), tensor_elements("?")
    (20971520.0, 1.0, nan)
    """
    if not isinstance(sizes, list | tuple) or not all(isinstance(shape, list | tuple) for shape in sizes):
        return math.nan
    return amount(sum((math.prod(map(amount, shape), start=1.0) for shape in sizes), start=0.0))


def whole(value: Any) -> int | None:  # noqa: ANN401 - whatever a file holds
    """Return a whole number that is not negative and fits 62 bits; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None
