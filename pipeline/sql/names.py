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
_KINDS: Final = {
    "status": ("profile of status", "select distinct status as name from profiles order by all"),
    "verdict": ("link of verdict", "select distinct verdict as name from compat order by all"),
}
"""Parameters that choose one of a few kinds, of what, and which there are: few enough to name all."""


def unknown_names(database: Database, values: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each value of a query's parameters that names nothing in the lake, with what there is.

    Parameters
    ----------
    database
        What was asked; an answer of it that is not read to its end is given up.
    values
        Parameters that were given.
    """
    told = []
    for name, value in values.items():
        if name not in _NAMES | _KINDS:
            continue
        kind, statement = (_NAMES | _KINDS)[name]
        known = [row["name"] for row in database.sql(statement).to_pylist() if row["name"] is not None]
        if value not in known:
            hint = f"; those of the lake: {', '.join(known) or 'none'}" if name in _KINDS else _near(str(value), known)
            told.append(f"the lake has no {kind} {value!r}{hint}")
    return told


def _near(value: str, known: list[str]) -> str:
    near = difflib.get_close_matches(value, known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
