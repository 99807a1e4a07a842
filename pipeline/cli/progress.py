"""Progress on stderr, drawn only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Task, TaskID

__all__ = ["port_progress", "step_progress"]


@contextmanager
def port_progress() -> Iterator[Callable[[int, int], None]]:
    """Yield what draws the number of series profiled, of how many, with the rate and the time that is left."""
    with step_progress() as on_step:
        yield partial(on_step, "profiling ports")


@contextmanager
def step_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield what draws of a step, by its name, the number done, of how many, with the rate and the time left."""
    if not sys.stderr.isatty():
        yield lambda _step, _n_done, _n_all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Ports a second."""

        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.0f}/s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def _on_step(step: str, n_done: int, n_all: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=None)
            bar.update(tasks[step], completed=n_done, total=n_all)

        yield _on_step
