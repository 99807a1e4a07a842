"""The SQL files of queries and views: where they are, and what they are. A file holds one SELECT under its header."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.sql.header import Parameter, read_header, read_parameters
from profiler.errors import BadInput, UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["VIEWS", "Query", "find_query", "list_queries", "list_views", "queries_folder", "sql_files"]

VIEWS: Final = (
    "readings",
    "rates",
    "address_jobs",
    "pair_jobs",
    "flow_points",
    "flow_parts",
    "port_series",
    "spare_points",
    "unported_flows",
    "link_series",
    "found_flows",
    "link_meters",
    "series_bursts",
    "job_ports",
    "job_series",
    "job_profiles",
    "job_timeline",
    "link_counters",
    "link_jobs",
    "link_crossings",
    "link_contention",
    "series_demands",
    "link_demands",
)
"""Views of ``queries/views`` in order of making: each reads only tables, functions and views before it."""


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
            If a given name is not a parameter of this query, a text is not of the parameter's type, or a time ends
            before it begins.
        """
        known = {parameter.name: parameter for parameter in self.params}
        for name in given:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise UsageError(f"query {self.name}: no parameter {name!r}; it has: {listed}")
        values = {parameter.name: parameter.default for parameter in self.params}
        for name, value in given.items():
            text = value.isoformat() if isinstance(value, datetime) else value
            values[name] = known[name].parse(text) if isinstance(text, str) else value
        since, until = values.get("since"), values.get("until")
        if since is not None and until is not None and since > until:  # in UTC, so that text sorts as time does
            raise UsageError(f"query {self.name}: since={since} is after until={until}, both in UTC; exchange them")
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
    return tuple(_read(file) for file in sql_files(queries_folder()))


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
    files = {file.name.removesuffix(".sql"): file for file in sql_files(queries_folder())}
    if name not in files:
        near = difflib.get_close_matches(name, files, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "offbeat query --list shows them all"
        raise UsageError(f"query {name!r} does not exist; {hint}")
    return _read(files[name])


def sql_files(folder: Traversable) -> list[Traversable]:
    """Return the SQL files of a folder, in order of name."""
    return sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)


def _read(file: Traversable) -> Query:
    text = file.read_text(encoding="utf-8")
    header = read_header(text, keys=("purpose", "params", "returns", "order"), place=str(file))
    return Query(
        name=file.name.removesuffix(".sql"),
        purpose=" ".join(header["purpose"]),
        params=read_parameters(header["params"], place=str(file)),
        returns=_names(header["returns"]),
        order=_names(header["order"]),
        text=text,
    )


def _names(lines: list[str]) -> tuple[str, ...]:
    return tuple(name.strip() for line in lines for name in line.split(",") if name.strip() != "none")
