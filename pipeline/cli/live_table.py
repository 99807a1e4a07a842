"""How counters look in a terminal while they are watched: one row a counter, and what happened last."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from profiler.units import NS_PER_S, format_duration

if TYPE_CHECKING:
    from rich.console import RenderableType

    from profiler.live import LiveEvent, LiveProfile

__all__ = ["live_screen", "live_table"]

REDRAW_S: Final = 0.5
"""Drawing takes milliseconds, in which the sampler misses ticks."""
N_EVENTS: Final = 6


@contextmanager
def live_screen(duration_s: float | None) -> Iterator[Callable[[float, list[LiveProfile]], None] | None]:
    """Yield what draws the newest states on stderr, or None if that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    # Drawn only when told: a drawing thread of its own would make the sampler miss ticks.
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as screen:
        due_s = 0.0

        def show(elapsed_s: float, states: list[LiveProfile]) -> None:
            nonlocal due_s
            if elapsed_s >= due_s:
                due_s = elapsed_s + REDRAW_S
                screen.update(live_table(elapsed_s, states, duration_s=duration_s), refresh=True)

        yield show


def live_table(elapsed_s: float, states: list[LiveProfile], *, duration_s: float | None = None) -> RenderableType:
    """Return the states as a table, with the newest events below it."""
    from rich import box
    from rich.console import Group
    from rich.table import Table

    whole = "" if duration_s is None else f" of {format_duration(duration_s)}"
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"watching for {elapsed_s:.0f} s{whole}; Ctrl-C ends",
        title_justify="left",
    )
    for heading in ("port", "period", "beat", "next burst", "moved", "note"):
        table.add_column(heading)
    for state in states:
        table.add_row(*_row(state))
    return Group(table, *_newest_events(states))


def _row(state: LiveProfile) -> tuple[str, ...]:
    ahead_s = None if state.next_burst_ns is None else (state.next_burst_ns - state.t_ns) / NS_PER_S
    return (
        state.label,
        format_duration(state.period_s),
        state.lock,
        "-" if ahead_s is None else f"in {format_duration(max(0.0, ahead_s))}",
        _moved(state),
        _note(state),
    )


def _moved(state: LiveProfile) -> str:
    if state.moved_s is None or state.period_s is None:
        return "-"
    return f"{'-' if state.moved_s < 0 else '+'}{format_duration(abs(state.moved_s))}"


def _note(state: LiveProfile) -> str:
    if state.traffic is None or state.lock == "held":
        return ""
    period_s = state.traffic.period_s
    return state.traffic.status if period_s is None else f"perhaps {format_duration(period_s)}"


def _newest_events(states: list[LiveProfile]) -> list[str]:
    """Return the newest events of all counters, oldest first, one a line."""
    told = [(event, state.label) for state in states for event in state.events]
    told.sort(key=lambda row: row[0].noticed_ns)
    return [f"{_clock(event)}  {label}: {event}" for event, label in told[-N_EVENTS:]]


def _clock(event: LiveEvent) -> str:
    return datetime.fromtimestamp(event.t_ns / NS_PER_S, tz=UTC).strftime("%H:%M:%S UTC")
