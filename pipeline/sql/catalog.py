"""The SQL files: where they are, and what their headers promise.

A file holds one SELECT under a header of four keys; a line that begins with ``--`` and two spaces or more goes on::

    -- purpose: the jobs that meet on each link
    -- params: link_id text = null: only this link
    -- returns: link_id, direction, job_id
    -- order: link_id, direction, job_id
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["VIEWS", "Parameter", "Query", "find_query", "list_queries", "list_views", "queries_folder"]

VIEWS: Final = (
    "readings",
    "rates",
    "port_series",
    "link_series",
    "series_bursts",
    "job_ports",
    "job_series",
    "job_profiles",
    "job_timeline",
    "link_counters",
    "link_jobs",
    "link_contention",
)
"""Views of ``queries/views`` in order of making: each reads only tables and views before it."""

_KEY_LINE: Final = re.compile(r"-- (?P<key>purpose|params|returns|order): (?P<text>.*)")
_PARAMETER: Final = re.compile(r"(?P<name>\w+) (?P<type>text|integer|real) = (?P<default>\S+): (?P<meaning>.+)")
_TYPES: Final[Mapping[str, Callable[[str], Any]]] = {"text": str, "integer": int, "real": float}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One ``$name`` of a query: its type (text, integer, real), the value it has unless given, and its meaning."""

    name: str
    type: str
    default: Any
    meaning: str

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
            raise UsageError(f"parameter {self.name}={text!r}: expected type {self.type} ({self.meaning})") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One SQL file: its header, and its text as it runs."""

    name: str
    purpose: str
    params: tuple[Parameter, ...]
    returns: tuple[str, ...]
    order: tuple[str, ...]
    text: str

    def to_row(self) -> dict[str, str]:
        """Return name, parameters with their defaults, and purpose."""
        params = ", ".join(f"{p.name}={'null' if p.default is None else p.default}" for p in self.params)
        return {"query": self.name, "params": params, "purpose": self.purpose}

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a value for every parameter: the given one, else its default.

        Raises
        ------
        UsageError
            If a given name is not a parameter of this query, or a text is not of the parameter's type.
        """
        known = {parameter.name: parameter for parameter in self.params}
        for name in given:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise UsageError(f"query {self.name}: no parameter {name!r}; it has: {listed}")
        values = {parameter.name: parameter.default for parameter in self.params}
        for name, value in given.items():
            values[name] = known[name].parse(value) if isinstance(value, str) else value
        return values


def queries_folder() -> Traversable:
    """Return the folder of the SQL files: inside the package when installed, beside it in a checkout.

    Raises
    ------
    BadInput
        If there is neither.
    """
    checkout = Path(__file__).parents[2] / "queries"
    for folder in (resources.files("pipeline") / "queries", checkout):
        if folder.is_dir():
            return folder
    raise BadInput(f"{checkout}: the SQL files are missing; reinstall offbeat")


def list_queries() -> tuple[Query, ...]:
    """Return every named query, in order of name."""
    return tuple(_read(file) for file in _sql_files(queries_folder()))


def list_views() -> tuple[Query, ...]:
    """Return the views over the lake's tables, in order of making."""
    folder = queries_folder() / "views"
    return tuple(_read(folder / f"{name}.sql") for name in VIEWS)


def find_query(name: str) -> Query:
    """Return one named query.

    Raises
    ------
    UsageError
        If there is none of that name; the message lists near ones.
    """
    files = {file.name.removesuffix(".sql"): file for file in _sql_files(queries_folder())}
    if name not in files:
        near = difflib.get_close_matches(name, files, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "offbeat query --list shows them all"
        raise UsageError(f"query {name!r} does not exist; {hint}")
    return _read(files[name])


def _sql_files(folder: Traversable) -> list[Traversable]:
    return sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)


def _read(file: Traversable) -> Query:
    text = file.read_text(encoding="utf-8")
    header = _header(text, place=str(file))
    return Query(
        name=file.name.removesuffix(".sql"),
        purpose=" ".join(header["purpose"]),
        params=tuple(_parameter(line, place=str(file)) for line in header["params"] if line != "none"),
        returns=_names(header["returns"]),
        order=_names(header["order"]),
        text=text,
    )


def _header(text: str, *, place: str) -> dict[str, list[str]]:
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
    missing = {"purpose", "params", "returns", "order"} - set(header)
    if missing:
        raise BadInput(f"{place}: the header lacks {', '.join(sorted(missing))}; see pipeline/sql/catalog.py")
    return header


def _names(lines: list[str]) -> tuple[str, ...]:
    return tuple(name.strip() for line in lines for name in line.split(",") if name.strip() != "none")


def _parameter(line: str, *, place: str) -> Parameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        raise BadInput(f"{place}: params {line!r}: expected 'name text|integer|real = default: meaning'")
    default = None if match["default"] == "null" else _TYPES[match["type"]](match["default"])
    return Parameter(name=match["name"], type=match["type"], default=default, meaning=match["meaning"])
