"""Values of a JSON document, each checked for its type and range, with its place in the message."""

from __future__ import annotations

import difflib
import math
import sys
from typing import TYPE_CHECKING, Any, Final

from profiler.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Fields"]

MAX_NUMBER: Final = sys.float_info.max
"""JSON has whole numbers of any length; one beyond this is no float."""

MAX_WHOLE: Final = 2**63 - 1
"""Counts and times in ns are kept in 64 bits."""


class Fields:
    """The values of one JSON object.

    Parameters
    ----------
    document
        The object.
    place
        What it is, for messages: ``profile``, ``profile: phase 2``.

    Raises
    ------
    BadInput
        On construction, if it is no object; on reading, if a value is missing, of another type, or out of range.
    """

    def __init__(self, document: Any, *, place: str) -> None:  # noqa: ANN401 - whatever JSON has
        if not isinstance(document, dict):
            raise BadInput(f"{place}: expected an object with keys, found {_kind(document)}")
        self._document: Mapping[str, Any] = document
        self._place = place

    def number(self, name: str, *, least: float = -math.inf) -> float | None:
        """Return a finite number of at least ``least``; None if it is absent or null."""
        value = self._document.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
            raise self._wrong(name, "a finite number")
        if value < least:
            raise self._wrong(name, f"a number of at least {least:g}")
        return float(value)

    def needed(self, name: str, *, least: float = -math.inf) -> float:
        """Return a number that must be there."""
        value = self.number(name, least=least)
        if value is None:
            raise BadInput(f"{self._place}: key {name!r} is missing; give it as a number")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number of 64 bits; None if it is absent or null."""
        value = self._document.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "a whole number")
        if abs(value) > MAX_WHOLE:
            raise self._wrong(name, "a whole number that 64 bits hold")
        return value

    def text(self, name: str, *, default: str = "") -> str:
        """Return a text."""
        value = self._document.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def choice(self, name: str, choices: tuple[str, ...], *, default: str = "") -> str:
        """Return one of some texts."""
        value = self.text(name, default=default)
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list; empty if it is absent or null."""
        value = self._document.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return value

    def numbers(self, name: str) -> list[float]:
        """Return a list of finite numbers."""
        return [Fields({name: value}, place=self._place).needed(name) for value in self.items(name)]

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return [Fields({name: value}, place=self._place).text(name) for value in self.items(name)]

    def objects(self, name: str, *, what: str) -> list[Fields]:
        """Return a list of objects, each called by ``what`` and its place in the list."""
        return [Fields(value, place=f"{self._place}: {what} {i}") for i, value in enumerate(self.items(name), start=1)]

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that nobody reads, with the known one that is nearest."""
        for key in self._document:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(known)}"
                raise BadInput(f"{self._place}: unknown key {key[:40]!r}; {hint}")

    def _wrong(self, name: str, expected: str) -> BadInput:
        value = str(self._document.get(name, ""))
        return BadInput(f"{self._place}: {name} is {value[:40]!r}; expected {expected}")


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", type(None): "null", bool: "true or false"}
    return names.get(type(value), "a number")
