"""Runs of the analysis: one that is noted in the lake (`run_once`), and one every so often (`repeat`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.batch import BatchOptions, OnPort, tool_version
from pipeline.flow import Analysis, analyze
from pipeline.state import Change, NetworkState, find_changes, read_state
from profiler.errors import LakeError, OffbeatError, UsageError
from profiler.results import json_ready
from profiler.schema import arrow_schema
from profiler.store import Lake
from profiler.store.reading import read_sound

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.shifts import PlanOptions

__all__ = ["Clock", "Request", "Run", "repeat", "run_once"]

_COUNTS: Final = ("n_series", "n_profiled", "n_periodic", "n_jobs", "n_links", "n_skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is analysed, and how; as for `pipeline.flow.analyze`."""

    lake: str | Path
    cluster: Sequence[str | Path] | None = None
    options: PlanOptions | None = None
    batch: BatchOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What tells the time: wall clock, a clock that never steps, and what waits on it."""

    now_ns: Callable[[], int] = time.time_ns
    monotonic_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One analysis: when it began (UTC epoch ns), how long it took, what was found and what had changed.

    ``figures`` are the counts of table ``runs`` by column; None, and ``error`` tells why, if the run failed.
    ``warnings`` tell what could not be read or computed. ``n_late`` runs before it were left out since one took longer
    than the time between them. ``window_before_s`` is the window of the run before, None if that was the same.
    ``n_otherwise`` shards had been finished, but for other capacities of their ports.
    """

    run_ns: int
    duration_s: float
    figures: Mapping[str, int] | None = None
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str | None = None
    n_late: int = 0
    window_before_s: float | None = None
    n_otherwise: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing failed."""
        return self.error is None and not self.warnings

    def to_dict(self) -> dict[str, Any]:
        """Return the ``analysis_run`` document."""
        counts = {name: None if self.figures is None else self.figures[name] for name in _COUNTS}
        document: dict[str, Any] = json_ready(
            {
                "kind": "analysis_run",
                "version": 1,
                "run_ns": self.run_ns,
                "duration_s": self.duration_s,
                **{name.removeprefix("n_"): count for name, count in counts.items()},
                "changes": [change.to_dict() for change in self.changes],
                "late": self.n_late,
                "warnings": list(self.warnings),
                "error": self.error,
            }
        )
        return document

    def to_table(self, *, window_s: float) -> pa.Table:
        """Return the row of table ``runs``."""
        row = {
            "run_ns": self.run_ns,
            "duration_s": self.duration_s,
            "window_s": window_s,
            **(self.figures or {}),
            "n_changes": len(self.changes),
            "changes": "\n".join(map(str, self.changes)),
            "tool_version": tool_version(),
        }
        return pa.Table.from_pylist([row], schema=arrow_schema("runs"))


def run_once(
    request: Request, *, on_port: OnPort = lambda _n_done, _n_series: None, now_ns: Callable[[], int] = time.time_ns
) -> tuple[Analysis, Run]:
    """Analyse a lake, compare with what the analysis before found, and note the run in table ``runs``.

    Raises
    ------
    OffbeatError
        As `analyze` does.
    """
    store, batch = Lake.open(request.lake), request.batch or BatchOptions()
    run_ns, start_s = now_ns(), time.monotonic()
    before = _state_before(store)
    window_before_s, lost = _window_before_s(store, batch.window_s)
    analysis = analyze(store.root, cluster=request.cluster, options=request.options, batch=batch, on_port=on_port)
    run = Run(
        run_ns=run_ns,
        duration_s=time.monotonic() - start_s,
        figures=_figures(analysis),
        changes=find_changes(before, read_state(store)),
        warnings=(*lost, *(f"{one.what}: {one.why}" for one in analysis.faults)),
        window_before_s=window_before_s,
        n_otherwise=analysis.n_otherwise,
    )
    store.append("runs", run.to_table(window_s=batch.window_s))
    return analysis, run


def _state_before(store: Lake) -> NetworkState:
    """Return what was known; nothing if a file of that is lost, which this run writes anew."""
    try:
        return read_state(store)
    except LakeError:
        return NetworkState()


def _window_before_s(store: Lake, window_s: float) -> tuple[float | None, list[str]]:
    """Return the window of the newest run that the lake knows, None if it is the same, and what is lost of the runs."""
    rows, lost = read_sound(store.files("runs"), arrow_schema("runs"), columns=["run_ns", "window_s"])
    newest = max(rows.to_pylist(), key=itemgetter("run_ns"), default={"window_s": None})
    warnings = [f"{path}: {why}" for path, why in lost.items()]
    return None if newest["window_s"] == window_s else newest["window_s"], warnings


def _figures(analysis: Analysis) -> dict[str, int]:
    return {
        "n_series": len(analysis.profiles),
        "n_profiled": analysis.n_profiled,
        "n_periodic": analysis.n_periodic,
        "n_jobs": len(analysis.jobs),
        "n_links": len(analysis.links),
        "n_skipped": len(analysis.faults) + len(analysis.kept) + len(analysis.skipped),
    }


def repeat(
    request: Request,
    *,
    every_s: float,
    n_runs: int | None = None,
    on_port: OnPort = lambda _n_done, _n_series: None,
    clock: Clock | None = None,
) -> Iterator[Run]:
    """Analyse a lake that grows again and again, and yield each run.

    Run k begins ``k * every_s`` after the first, however long the ones before took; those that would have begun while
    one was busy are left out, and counted. A run that fails is told, and the next one tries again; the first one's
    error is raised.

    Parameters
    ----------
    request
        What to analyse.
    every_s
        Time from the beginning of one run to that of the next, in seconds.
    n_runs
        End after so many; None goes on.
    on_port
        As for `analyze`.
    clock
        What tells the time; by default this machine's.

    Raises
    ------
    UsageError
        If ``every_s`` or ``n_runs`` is not positive.
    OffbeatError
        If the first run fails.
    """
    if every_s <= 0 or (n_runs is not None and n_runs < 1):
        raise UsageError(f"every {every_s:g} s, {n_runs} runs: both must be positive")
    return islice(_runs(request, every_s=every_s, on_port=on_port, clock=clock or Clock()), n_runs)


def _runs(request: Request, *, every_s: float, on_port: OnPort, clock: Clock) -> Iterator[Run]:
    start_s = clock.monotonic_s()
    yield run_once(request, on_port=on_port, now_ns=clock.now_ns)[1]
    i_run = 0
    while True:
        i_next = int((clock.monotonic_s() - start_s) // every_s) + 1
        n_late, i_run = i_next - i_run - 1, i_next
        clock.sleep(max(0.0, start_s + i_run * every_s - clock.monotonic_s()))
        yield replace(_told(request, on_port=on_port, clock=clock), n_late=n_late)


def _told(request: Request, *, on_port: OnPort, clock: Clock) -> Run:
    """Return a run, or why it failed."""
    run_ns, begin_s = clock.now_ns(), clock.monotonic_s()
    try:
        return run_once(request, on_port=on_port, now_ns=lambda: run_ns)[1]
    except OffbeatError as error:
        return Run(run_ns=run_ns, duration_s=clock.monotonic_s() - begin_s, error=str(error))
