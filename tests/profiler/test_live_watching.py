"""Watching in a process of its own: what becomes of the watch when that process is ended from outside."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.live import profile_live
from profiler.live.history import COARSE_NS, FINE_READS, History
from profiler.live.watcher import MAX_DEATHS
from tests.profiler.streams import SERIES, T0_NS, job, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiler.live import LiveProfile

T_S = 0.25
N_CHUNK = 250


@dataclass
class Counter:
    """What a sampler reads, as far as watching asks."""

    series: object = SERIES


@dataclass
class Chunk:
    """Readings of one counter."""

    t_ns: np.ndarray
    value: np.ndarray
    flags: np.ndarray
    counters: tuple[Counter, ...] = (Counter(),)


@dataclass
class Played:
    """A sampler that plays a stream, no faster than the watch of it gets on."""

    elapsed_s: float = 0.0
    states: list[list[LiveProfile]] = field(default_factory=list)
    n_to_kill: int = 1

    def chunks(self, **_: object) -> Iterator[Chunk]:
        """Yield a second of readings at a time."""
        stream = joined(job(T_S, duration_s=20.0))
        for first in range(0, stream.t_ns.size, N_CHUNK):
            part = slice(first, first + N_CHUNK)
            self.elapsed_s = (int(stream.t_ns[part][-1]) - T0_NS) / 1e9
            t_ns, value = stream.t_ns[None, part], stream.value[None, part]
            yield Chunk(t_ns=t_ns, value=value, flags=np.zeros(t_ns.shape, dtype=np.uint16))

    def show(self, _elapsed_s: float, states: list[LiveProfile]) -> None:
        """Remember what is shown, and end the watching process each time that it has found something."""
        self.states.append(states)
        time.sleep(0.05)
        if len(self.states) > 3 and self.n_to_kill:
            for child in multiprocessing.active_children():
                child.kill()
                child.join()
                self.n_to_kill -= 1


@pytest.mark.parametrize("n_to_kill", [1, MAX_DEATHS])
def test_a_watching_process_that_is_killed_takes_nothing_with_it(n_to_kill: int) -> None:
    sampler = Played(n_to_kill=n_to_kill)
    told: list[str] = []
    (found,) = profile_live(sampler, stop=lambda: False, show=sampler.show, warn=told.append)  # type: ignore[arg-type]
    assert sampler.n_to_kill == 0
    assert len(told) == n_to_kill
    assert "the watching process died" in told[0]
    assert found.period_s == pytest.approx(T_S, rel=0.002)
    # All twenty seconds are in the answer, those before the death too.
    assert found.n_cycles == pytest.approx(80, abs=2)


def test_all_that_is_remembered_can_be_read_back_in_order() -> None:
    n_reads = 2 * FINE_READS
    t_ns = T0_NS + 1_000_000 * np.arange(n_reads, dtype=np.int64)
    history = History(SERIES)
    history.add(t_ns, np.arange(n_reads), flags=np.zeros(n_reads, dtype=np.uint16))
    back_ns, value, _ = history.readings()
    assert (np.diff(back_ns) > 0).all()
    assert (back_ns[0], value[0], back_ns[-1], value[-1]) == (t_ns[0], 0, t_ns[-1], n_reads - 1)
    assert np.diff(back_ns).max() <= COARSE_NS
