"""A clean end on SIGINT and SIGTERM."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["stop_on_signals"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals() -> Iterator[Callable[[], bool]]:
    """Within the block, note the first signal instead of dying of it, and die of the second.

    Yields
    ------
    callable
        Returns whether a signal came. For the main thread only.
    """
    caught: list[int] = []

    def note(number: int, _frame: object) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
