"""Rows of query ``contention_by_link`` that earlier analyses told, by the key of all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import duckdb

from pipeline.batch import tool_version
from pipeline.sql.catalog import find_query, list_views
from pipeline.sql.functions import list_functions

if TYPE_CHECKING:
    from pipeline.batch import Work

__all__ = ["key_of", "read_known", "write_known"]

FILE_NAME: Final = "overlaps.index"


def key_of(*inputs: Iterable[str]) -> str:
    """Return the SHA-256 of what a row depends on: its inputs, the SQL that tells it, and what runs that."""
    return hashlib.sha256(json.dumps([_sql_version(), *map(list, inputs)]).encode()).hexdigest()


def read_known(work: Work) -> dict[str, dict[str, Any]]:
    """Return the rows by key; none if the file is missing or torn."""
    try:
        rows: dict[str, dict[str, Any]] = json.loads((work.folder / FILE_NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return rows


def write_known(work: Work, rows: Mapping[str, Mapping[str, Any]], *, before: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep rows by key, and no others, where these are not those that were kept before.

    Raises
    ------
    LakeError
        If the disk is full or the folder cannot be written.
    """
    if rows.keys() != before.keys():
        work.replace(FILE_NAME, lambda path: path.write_text(json.dumps(rows), encoding="utf-8"))


@cache
def _sql_version() -> str:
    texts = [find_query("contention_by_link").text]
    texts += [one.text for one in list_views()] + [one.text for one in list_functions()]
    return hashlib.sha256("\0".join([tool_version(), duckdb.__version__, *texts]).encode()).hexdigest()
