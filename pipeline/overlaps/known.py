"""Rows of query ``contention_by_link`` that earlier analyses told, by the key of all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

import duckdb

from pipeline.batch import tool_version
from pipeline.sql.catalog import find_query, list_views
from pipeline.sql.functions import list_functions

if TYPE_CHECKING:
    from pipeline.batch import Work

__all__ = ["key_of", "read_known", "write_known"]

FILE_NAME: Final = "overlaps.index"
"""Its first line is the SHA-256 of the rest, which is the rows as JSON."""


def key_of(*, told: Iterable[str], digests: Iterable[str]) -> str:
    """Return the SHA-256 of what a row depends on: its inputs, the SQL that tells it, and what runs that.

    Parameters
    ----------
    told
        All that is known of the link and its series.
    digests
        SHA-256 of the files that have the samples.
    """
    return _sha256(json.dumps([_sql_version(), list(told), list(digests)]).encode())


def read_known(work: Work) -> dict[str, dict[str, Any]]:
    """Return the rows by key; none if the file is missing, torn, damaged, or of another layout."""
    try:
        digest, _, text = (work.folder / FILE_NAME).read_bytes().partition(b"\n")
        rows: object = json.loads(text) if digest == _sha256(text).encode() else None
    except (OSError, ValueError):
        return {}
    is_sound = isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values())
    return cast("dict[str, dict[str, Any]]", rows) if is_sound else {}


def write_known(work: Work, rows: Mapping[str, Mapping[str, Any]], *, before: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep rows by key, and no others, where these are not those that were kept before.

    Raises
    ------
    LakeError
        If the disk is full or the folder cannot be written.
    """
    if rows.keys() != before.keys():
        text = json.dumps(rows)
        content = f"{_sha256(text.encode())}\n{text}"
        work.replace(FILE_NAME, lambda path: path.write_text(content, encoding="utf-8", newline="\n"))


@cache
def _sql_version() -> str:
    texts = [find_query("contention_by_link").text]
    texts += [one.text for one in list_views()] + [one.text for one in list_functions()]
    return _sha256("\0".join([tool_version(), duckdb.__version__, *texts]).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
