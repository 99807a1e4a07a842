"""Progress on stderr, drawn only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task

__all__ = ["port_progress"]


@contextmanager
def port_progress() -> Iterator[Callable[[int, int], None]]:
    """Yield what draws the number of series profiled, of how many, with the rate and the time that is left."""
    if not sys.stderr.isatty():
        yield lambda _n_done, _n_series: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Series a second."""

        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.0f}/s")

    columns = (
        TextColumn("profiling ports"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda n_done, n_series: bar.update(task, completed=n_done, total=n_series)
