"""Headers of the SQL files: what a query, a view or a function promises, in comments at its top.

A line of a header is ``-- key: text``; one that begins with ``--`` and two spaces or more goes on::

    -- purpose: the jobs that meet on each link
    -- params: link_id text = null: only this link
    -- returns: link_id, direction, job_id
    -- order: link_id, direction, job_id
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from pipeline.sql.moments import utc_text
from profiler.errors import BadInput, UsageError

__all__ = ["Parameter", "read_header", "read_parameters"]

_KEY_LINE: Final = re.compile(r"-- (?P<key>purpose|params|returns|order|example): (?P<text>.*)")
_PARAMETER: Final = re.compile(
    r"(?P<name>\w+) (?P<type>text|integer|count|flag|real|time|bin|list)(?: = (?P<default>\S+))?: (?P<meaning>.+)"
)

_LEAST_BIN_S: Final = 1e-6
"""Bytes are whole: in shorter bins the rest of a division would count."""
_MOST_BIN_S: Final = 86_400.0
"""A day: a mean over more is no percentile of anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a query or function: type (a key of `_TYPES`), meaning, and its value unless given.

    One that ``is_needed`` has no such value.
    """

    name: str
    type: str
    default: Any
    meaning: str
    is_needed: bool = False

    def parse(self, text: str) -> Any:  # noqa: ANN401 - of the declared type
        """Read a value of this parameter's type.

        Raises
        ------
        UsageError
            If the text is not of that type.
        """
        try:
            return _TYPES[self.type](text)
        except ValueError:
            kind = self.type + _WORDS.get(self.type, "")
            raise UsageError(f"parameter {self.name}={text!r}: expected type {kind} ({self.meaning})") from None


def _count(text: str) -> int:
    if (count := int(text)) < 0:
        raise ValueError(text)
    return count


def _flag(text: str) -> int:
    if text not in ("0", "1"):
        raise ValueError(text)
    return int(text)


def _finite(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(text)
    return value


def _bin(text: str) -> float:
    if (value := _finite(text)) != 0 and not _LEAST_BIN_S <= value <= _MOST_BIN_S:
        raise ValueError(text)
    return value


_TYPES: Final[Mapping[str, Callable[[str], Any]]] = {
    "text": str,
    "integer": int,
    "count": _count,
    "flag": _flag,
    "real": _finite,
    "time": utc_text,
    "bin": _bin,
}
_WORDS: Final = {
    "count": ", a whole number from 0 on",
    "flag": ", 0 or 1",
    "real": ", a finite number",
    "bin": ", seconds from 1e-6 to 86400, or 0",
}
"""What a type asks for, where its name alone does not say."""


def read_header(text: str, *, keys: Sequence[str], place: str) -> dict[str, list[str]]:
    """Return the texts of each key of a header, in order.

    Raises
    ------
    BadInput
        If one of the keys is missing.
    """
    header: dict[str, list[str]] = {}
    key = ""
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        match = _KEY_LINE.fullmatch(line)
        if match:
            key = match["key"]
            header.setdefault(key, []).append(match["text"].strip())
        elif key and line.startswith("--  "):
            header[key][-1] += " " + line.removeprefix("--").strip()
    missing = set(keys) - set(header)
    if missing:
        raise BadInput(f"{place}: the header lacks {', '.join(sorted(missing))}; see pipeline/sql/header.py")
    return header


def read_parameters(lines: Sequence[str], *, place: str) -> tuple[Parameter, ...]:
    """Return the parameters that a header tells, none for ``none``.

    Raises
    ------
    BadInput
        If a line is not a parameter.
    """
    return tuple(_parameter(line, place=place) for line in lines if line != "none")


def _parameter(line: str, *, place: str) -> Parameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        raise BadInput(
            f"{place}: params {line!r}: expected 'name TYPE = default: meaning', TYPE of {', '.join(_TYPES)}"
        )
    default = match["default"]
    return Parameter(
        name=match["name"],
        type=match["type"],
        default=None if default in (None, "null") else _TYPES[match["type"]](default),
        meaning=match["meaning"],
        is_needed=default is None,
    )
