"""`PickleShape`: how deep and how large the value of a pickle would be, found without making it.

A pickle's instructions work on a stack [1]_. Here they work on one that holds only how deep and large each value is.

References
----------
.. [1] CPython, ``Lib/pickletools.py``, "A pickle is a program for a virtual pickle machine".
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["MAX_DEPTH", "MAX_SIZE", "PickleShape"]

MAX_DEPTH: Final = 16
"""A dump is five deep: dict, entries, entry, sizes, shape. What reads values may recurse as deep as they are."""
MAX_SIZE: Final = 100_000_000
"""Values, shared ones counted wherever they stand; a ring of 10^5 entries with stacks of 30 frames has half of it."""
MAX_INSTRUCTIONS: Final = 100_000_000
"""A ring of 10^5 entries with their stacks has a third of it; a minute of looking."""
MAX_HELD: Final = 10_000_000
"""Lists, tuples and dicts made, values remembered, or values that wait: 1 GiB at most; the same ring has half."""
_CHECK_EVERY: Final = 4096
TEXT_A_VALUE: Final = 16
"""Characters that count as much as a number."""


@dataclass(slots=True, eq=False)
class _Value:
    depth: int = 0
    size: int = 1
    may_grow: bool = False
    """Whether it is a list or dict that no other value holds yet; writers finish one before another holds it."""


_NUMBER: Final = _Value()
_TUPLES: Final = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class PickleShape:
    """Follows a pickle of plain values, instruction by instruction (`take`)."""

    def __init__(self) -> None:
        self._stack: list[_Value] = []
        self._below: list[list[_Value]] = []
        """The stacks below each mark."""
        self._memo: dict[int, _Value] = {}
        self._n_taken = 0
        self._n_made = 0

    def take(self, instruction: str, argument: Any) -> None:  # noqa: ANN401 - whatever an instruction is given
        """Carry out an instruction.

        Raises
        ------
        pickle.UnpicklingError
            If a value would be too deep or too large, hold itself, or be a dict with keys that are not plain, or the
            pickle is longer than any that is to be loaded.
        IndexError, KeyError
            If it needs values that are not there.
        """
        self._n_taken += 1
        if self._n_taken % _CHECK_EVERY == 0:
            self._check_held()
        act = _ACTS.get(instruction)
        if act is not None:
            act(self, argument)
        elif instruction in _TUPLES:
            self._make(self._pop(_TUPLES[instruction]), may_grow=False)
        elif isinstance(argument, str | bytes):
            self._stack.append(_Value(size=1 + len(argument) // TEXT_A_VALUE))
        else:
            self._stack.append(_NUMBER)

    def _check_held(self) -> None:
        n_waiting = len(self._stack) + sum(map(len, self._below))
        if self._n_taken > MAX_INSTRUCTIONS or max(self._n_made, n_waiting, len(self._memo)) > MAX_HELD:
            raise pickle.UnpicklingError(f"more than {MAX_HELD} lists, or {MAX_INSTRUCTIONS} instructions")

    def _pop(self, n_values: int) -> list[_Value]:
        return [self._stack.pop() for _ in range(n_values)][::-1]

    def _pop_to_mark(self) -> list[_Value]:
        values, self._stack = self._stack, self._below.pop()
        return values

    def _mark(self, _: object) -> None:
        if len(self._below) > MAX_DEPTH:
            raise pickle.UnpicklingError(f"values nested more than {MAX_DEPTH} deep")
        self._below.append(self._stack)
        self._stack = []

    def _drop(self, _: object) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._pop_to_mark()

    def _drop_to_mark(self, _: object) -> None:
        self._pop_to_mark()

    def _repeat(self, _: object) -> None:
        self._stack.append(self._stack[-1])

    def _memoize(self, _: object) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _put(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    def _get(self, place: int) -> None:
        self._stack.append(self._memo[place])

    def _make(self, parts: list[_Value], *, may_grow: bool) -> None:
        self._n_made += 1
        made = _Value(may_grow=True)
        _hold(made, parts)
        made.may_grow = may_grow
        self._stack.append(made)

    def _make_empty(self, _: object) -> None:
        self._n_made += 1
        self._stack.append(_Value(may_grow=True))

    def _make_tuple(self, _: object) -> None:
        self._make(self._pop_to_mark(), may_grow=False)

    def _make_list(self, _: object) -> None:
        self._make(self._pop_to_mark(), may_grow=True)

    def _make_dict(self, _: object) -> None:
        parts = self._pop_to_mark()
        _check_keys(parts)
        self._make(parts, may_grow=True)

    def _append(self, _: object) -> None:
        parts = self._pop(1)
        _hold(self._stack[-1], parts)

    def _extend(self, _: object) -> None:
        parts = self._pop_to_mark()
        _hold(self._stack[-1], parts)

    def _set_item(self, _: object) -> None:
        parts = self._pop(2)
        _check_keys(parts)
        _hold(self._stack[-1], parts)

    def _set_items(self, _: object) -> None:
        parts = self._pop_to_mark()
        _check_keys(parts)
        _hold(self._stack[-1], parts)

    def _ignore(self, _: object) -> None:
        """Take an instruction that leaves the stack as it is."""


def _hold(holder: _Value, parts: list[_Value]) -> None:
    """Let a list or dict hold more values."""
    for part in parts:
        part.may_grow = False
        holder.depth = max(holder.depth, part.depth + 1)
        holder.size += part.size
    if not holder.may_grow and parts:
        raise pickle.UnpicklingError("a value grows after another holds it, or holds itself")
    if holder.depth > MAX_DEPTH:
        raise pickle.UnpicklingError(f"values nested more than {MAX_DEPTH} deep")
    if holder.size > MAX_SIZE:
        raise pickle.UnpicklingError(f"more than {MAX_SIZE} values, shared ones counted wherever they stand")


def _check_keys(parts: list[_Value]) -> None:
    """Refuse a dict's keys and values, in turn, if a key is a list, tuple or dict: hashing one recurses."""
    if any(key.depth or key.may_grow for key in parts[::2]):
        raise pickle.UnpicklingError("a dict's key is neither text nor number")


_ACTS: Final[dict[str, Callable[[PickleShape, Any], None]]] = {
    "PROTO": PickleShape._ignore,
    "FRAME": PickleShape._ignore,
    "STOP": PickleShape._ignore,
    "MARK": PickleShape._mark,
    "POP": PickleShape._drop,
    "POP_MARK": PickleShape._drop_to_mark,
    "DUP": PickleShape._repeat,
    "MEMOIZE": PickleShape._memoize,
    "PUT": PickleShape._put,
    "BINPUT": PickleShape._put,
    "LONG_BINPUT": PickleShape._put,
    "GET": PickleShape._get,
    "BINGET": PickleShape._get,
    "LONG_BINGET": PickleShape._get,
    "EMPTY_LIST": PickleShape._make_empty,
    "EMPTY_DICT": PickleShape._make_empty,
    "TUPLE": PickleShape._make_tuple,
    "LIST": PickleShape._make_list,
    "DICT": PickleShape._make_dict,
    "APPEND": PickleShape._append,
    "APPENDS": PickleShape._extend,
    "SETITEM": PickleShape._set_item,
    "SETITEMS": PickleShape._set_items,
}
