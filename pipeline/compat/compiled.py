"""How loops are compiled: at the first call on a machine, then kept beside the source.

What takes long to compile is how arrays get in and out of Python, and what numpy does in one line (sorting, searching,
sums of slices). So only `entry` can be called from Python, and the loops are written out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from numba import njit

__all__ = ["entry", "inner"]


_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Compile(Protocol):
    """A decorator that keeps the type of what it compiles."""

    def __call__(self, loop: Callable[_P, _R], /) -> Callable[_P, _R]:
        """Return the compiled function."""


_OPTIONS: Final[dict[str, Any]] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

entry: Final[_Compile] = njit(**_OPTIONS)
"""Of functions that are called from Python."""

inner: Final[_Compile] = njit(**{**_OPTIONS, "no_cpython_wrapper": True})
"""Of functions that are called from compiled ones alone."""
