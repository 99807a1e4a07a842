"""How counters look while they are watched."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from pipeline.cli.live_table import live_table
from profiler.live import LiveEvent, LiveProfile


def drawn(*states: LiveProfile) -> str:
    console = Console(file=StringIO(), width=140)
    console.print(live_table(12.0, list(states), duration_s=60.0))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_held_beat_shows_its_period_the_next_burst_and_how_far_it_moved() -> None:
    shown = drawn(
        LiveProfile(
            label="h1/eth0/transmit",
            t_ns=10**18,
            lock="held",
            period_s=0.25,
            next_burst_ns=10**18 + 120_000_000,
            moved_s=-0.01,
        )
    )
    for part in ("watching for 12 s of 60 s", "h1/eth0/transmit", "250 ms", "held", "in 120 ms", "-10 ms"):
        assert part in shown


def test_events_of_all_ports_are_told_in_the_order_in_which_they_were_noticed() -> None:
    first = LiveEvent(kind="found", t_ns=5 * 10**9, noticed_ns=5 * 10**9, new_period_s=0.25)
    second = LiveEvent(kind="changed", t_ns=8 * 10**9, noticed_ns=9 * 10**9, old_period_s=0.25, new_period_s=0.5)
    shown = drawn(
        LiveProfile(label="p2", t_ns=10**10, lock="held", period_s=0.5, events=(second,)),
        LiveProfile(label="p1", t_ns=10**10, lock="held", period_s=0.25, events=(first,)),
    )
    assert "00:00:05 UTC  p1: period 250 ms found" in shown
    assert "00:00:08 UTC  p2: period changed from 250 ms to 500 ms" in shown
    assert shown.index("p1: period") < shown.index("p2: period")


def test_a_search_says_nothing_that_is_not_known() -> None:
    shown = drawn(LiveProfile(label="p1", t_ns=1, lock="searching"))
    assert "searching" in shown
    assert "next burst" in shown
    assert "in " not in shown.splitlines()[-1]
