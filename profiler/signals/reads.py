"""What comes in: reads of a counter or rows of deltas, checked and put in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from profiler.errors import BadInput, UsageError

__all__ = ["Reads", "checked_deltas", "checked_reads", "checked_width_bits"]

MOST_BYTES: Final = 2.0**64
"""No counter moves by more between two reads."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reads:
    """Reads of a counter in order of time, one at each; ``t_ns`` int64 and ``value`` uint64, shape (n_reads,).

    ``n_late`` came out of order and ``n_duplicate`` at the time of another, of which the last counts.
    """

    t_ns: NDArray[np.int64]
    value: NDArray[np.uint64]
    n_late: int
    n_duplicate: int


def checked_reads(t_ns: ArrayLike, value: ArrayLike) -> Reads:
    """Return reads in order.

    Raises
    ------
    BadInput
        If lengths differ, or something is no list of numbers, not finite, negative or too large.
    """
    times = _whole(t_ns, np.int64, name="from_counter: t_ns")
    values = _whole(value, np.uint64, name="from_counter: value")
    if times.size != values.size:
        raise BadInput(f"from_counter: {times.size} times for {values.size} values; give one time for each value")
    steps_ns = np.diff(times)
    if times.size < 2 or steps_ns.min() > 0:
        return Reads(t_ns=times, value=values, n_late=0, n_duplicate=0)
    n_late = int(np.count_nonzero(steps_ns < 0))
    if n_late:
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
    is_last = np.append(np.diff(times) > 0, True)
    n_duplicate = int(np.count_nonzero(~is_last))
    return Reads(t_ns=times[is_last], value=values[is_last], n_late=n_late, n_duplicate=n_duplicate)


def checked_deltas(t_ns: ArrayLike, delta_bytes: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ends of windows and the bytes of each.

    Raises
    ------
    BadInput
        If lengths do not fit, times do not increase, or something is no list of numbers, not finite, negative or too
        large.
    """
    edges_ns = _whole(t_ns, np.int64, name="from_deltas: t_ns")
    numbers = _numbers(delta_bytes, name="from_deltas: delta_bytes")
    _refuse(numbers, numbers < 0, name="from_deltas: delta_bytes")
    if numbers.dtype.kind == "f":
        _refuse_too_large(numbers, numbers >= MOST_BYTES, name="from_deltas: delta_bytes", n_bits=64)
    deltas = numbers.astype(np.float64)
    if edges_ns.size != deltas.size + 1 and not (edges_ns.size == 0 and deltas.size == 0):
        raise BadInput(f"from_deltas: {edges_ns.size} times for {deltas.size} windows; give one more time than windows")
    steps_ns = np.diff(edges_ns)
    if steps_ns.size and steps_ns.min() <= 0:
        back = int(np.argmax(steps_ns <= 0))
        raise BadInput(f"from_deltas: t_ns[{back + 1}] does not come after t_ns[{back}]; sort the windows")
    return edges_ns, deltas


def checked_width_bits(given: object) -> int:
    """Return the width of a counter.

    Raises
    ------
    UsageError
        If no counter has it.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given <= 64:
        raise UsageError(f"width_bits {given!r}: must be a whole number; a counter has from 1 to 64 bits")
    return int(given)


def _whole(given: ArrayLike, dtype: type[np.int64] | type[np.uint64], *, name: str) -> NDArray[Any]:
    """Return numbers as whole ones; those given as integers stay exactly what they are."""
    numbers = _numbers(given, name=name)
    _refuse(numbers, numbers < 0, name=name)
    n_bits = 63 if dtype is np.int64 else 64
    most = np.iinfo(dtype).max
    # Compared as floats, 2**63 - 1 is rounded up: what is not below it does not fit.
    too_large = numbers >= float(most) if numbers.dtype.kind == "f" else numbers > most
    _refuse_too_large(numbers, too_large, name=name, n_bits=n_bits)
    return numbers.astype(dtype)


def _numbers(given: ArrayLike, *, name: str) -> NDArray[Any]:
    numbers = _in_a_row(given, name=name)
    if numbers.size == 0:
        return np.zeros(0, dtype=np.int64)
    if numbers.dtype.kind == "f" and not isinstance(given, np.ndarray):
        numbers = _exact(given, numbers)
    if numbers.dtype.kind == "O":
        numbers = _from_objects(numbers, name=name)
    if numbers.dtype.kind not in "iuf":
        raise BadInput(f"{name}[0] = {numbers[0]!r}: must be a number, found {numbers.dtype}")
    if numbers.dtype.kind == "f":
        _refuse(numbers, ~np.isfinite(numbers), name=name)
    return numbers


def _in_a_row(given: ArrayLike, *, name: str) -> NDArray[Any]:
    """Return what is given as an array of one dimension, nothing of it hidden by a mask."""
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        i = int(np.argmax(np.ma.getmaskarray(given)))
        raise BadInput(f"{name}[{i}] is masked: leave such reads out, or give `.filled(...)` values")
    try:
        numbers = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{name}: cannot be read as numbers ({error}); give a list of one number an entry") from error
    if numbers.ndim != 1:
        raise BadInput(f"{name}: shape {numbers.shape}; give one list of numbers, a series for each column")
    return numbers


def _exact(given: ArrayLike, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return a list of integers on both sides of 2**63, of which NumPy makes rounded floats, as they were."""
    objects = np.asarray(given, dtype=object).ravel()
    return objects if all(isinstance(number, int) for number in objects) else numbers


def _from_objects(numbers: NDArray[Any], *, name: str) -> NDArray[Any]:
    """Return Python integers too large for NumPy's guess, as unsigned ones."""
    for i, number in enumerate(numbers):
        if not isinstance(number, int) or not 0 <= number < 2**64:
            raise BadInput(f"{name}[{i}] = {number!r}: must be a whole number from 0 up to 2**64")
    return numbers.astype(np.uint64)


def _refuse_too_large(numbers: NDArray[Any], too_large: NDArray[np.bool_], *, name: str, n_bits: int) -> None:
    if too_large.any():
        i = int(np.argmax(too_large))
        raise BadInput(f"{name}[{i}] = {numbers[i]} does not fit {n_bits} bits; is the unit right?")


def _refuse(numbers: NDArray[Any], wrong: NDArray[np.bool_], *, name: str) -> None:
    if wrong.any():
        i = int(np.argmax(wrong))
        raise BadInput(f"{name}[{i}] = {numbers[i]}: must be finite and not negative")
