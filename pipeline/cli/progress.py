"""Progress on stderr, drawn only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["port_progress"]


@contextmanager
def port_progress() -> Iterator[Callable[[int, int], None]]:
    """Yield what draws the number of ports done, of how many."""
    if not sys.stderr.isatty():
        yield lambda _n_done, _n_ports: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("profiling ports"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda n_done, n_ports: bar.update(task, completed=n_done, total=n_ports)
