"""Other people's methods, each behind one small function that takes a series and returns its periods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.bench.answers import Method

__all__ = ["METHODS"]

METHODS: Final[dict[str, Method]] = {}
