"""`QueryBar`: how far a query is, on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["QueryBar"]

LONG_S: Final = 1.0
"""A query that is answered sooner needs no bar."""


class QueryBar:
    """A bar on stderr for a query that takes long; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._began_s = time.monotonic()
        self._task: TaskID | None = None
        self._is_over = not sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, done_frac: float) -> None:
        """Draw the part that is done, once the query has taken a second."""
        if self._is_over or time.monotonic() - self._began_s < LONG_S:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("reading the lake"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=done_frac)

    def close(self) -> None:
        """Take the bar away, for good."""
        self._is_over = True
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
