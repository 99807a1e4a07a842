"""Values of a query's parameters as they are typed: ``NAME=VALUE``, each name once."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.errors import UsageError

__all__ = ["read_assignments"]


def read_assignments(texts: Iterable[str], *, place: str) -> dict[str, str]:
    """Return the values by name.

    Parameters
    ----------
    texts
        What was typed.
    place
        What stands before such a text, for messages.

    Raises
    ------
    UsageError
        If a text is no assignment, or a name is given two values.

    Examples
    --------
    >>> read_assignments(["link_id=trunk", "min_jobs=2"], place="--param")
    {'link_id': 'trunk', 'min_jobs': '2'}
    """
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{place} {text!r}: expected NAME=VALUE, such as link_id=trunk")
        if name in values:
            raise UsageError(f"{place} {text!r}: {name} was given {values[name]!r} before; give one value")
        values[name] = value
    return values
