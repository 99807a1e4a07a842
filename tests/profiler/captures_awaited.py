"""What the reader is yet to learn: the traps that it falls into, by test; a line goes when it no longer does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark import ParameterSet

__all__ = ["AWAITED", "as_parameters"]

AWAITED: Final[dict[str, dict[str, str]]] = {}


def as_parameters(names: Iterable[str], *, test: str) -> list[ParameterSet]:
    """Return traps for a test, those marked that are known to fail it."""
    awaited = AWAITED.get(test, {})
    return [
        pytest.param(name, marks=[pytest.mark.xfail(reason=awaited[name])] if name in awaited else []) for name in names
    ]
