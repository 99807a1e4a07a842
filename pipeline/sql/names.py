"""`unknown_names`: what to tell whom a query answered nothing, since a name is mistyped easily."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pipeline.sql.database import Database

__all__ = ["unknown_names"]

_NAMES: Final = {
    "link_id": ("link", "select distinct link_id as name from links"),
    "job_id": ("job", "select distinct job_id as name from jobs"),
    "host": ("host", "select distinct host as name from series"),
}
"""Parameters of queries that are names, what they name, and which there are."""


def unknown_names(database: Database, values: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each value of a query's parameters that names nothing in the lake, with near names.

    Parameters
    ----------
    database
        What was asked; an answer of it that is not read to its end is given up.
    values
        Parameters that were given.
    """
    told = []
    for name, value in values.items():
        if name not in _NAMES:
            continue
        kind, statement = _NAMES[name]
        known = [row["name"] for row in database.sql(statement).to_pylist() if row["name"] is not None]
        if value not in known:
            near = difflib.get_close_matches(str(value), known, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            told.append(f"the lake has no {kind} {value!r}{hint}")
    return told
