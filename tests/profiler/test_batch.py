"""Many series at once: the same answers in the same order, in bounded memory, and nothing left running."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from profiler import profile
from profiler.batch import many, outcome, profile_many, workers
from profiler.batch.many import CHUNK_SERIES, CHUNK_WINDOWS, CHUNKS_HERE, CHUNKS_PER_WORKER
from profiler.batch.outcome import profiles_or_reasons
from profiler.batch.worker import Worker
from profiler.errors import OffbeatError, UsageError
from profiler.signals import RateSeries
from tests.data import ROOT

if TYPE_CHECKING:
    from profiler.phases import TrafficProfile

FIRST = CHUNKS_HERE * CHUNK_SERIES
"""So many series are done before the first worker is started."""
FOREVER = """
import itertools, signal, sys
import numpy as np
from profiler.batch import profile_many
from profiler.signals import RateSeries
signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell ignores it in what it runs in the background.
idle = RateSeries.from_deltas([0, 10**9], [0])
busy = RateSeries.from_deltas(np.arange(1025) * 1_000_000, np.tile(np.repeat([0.0, 1e6], 32), 16))
series = itertools.chain(itertools.repeat(idle, int(sys.argv[1])), itertools.repeat(busy))
for i, _ in enumerate(profile_many(series, n_workers=2)):
    if i == int(sys.argv[1]):
        print("workers", flush=True)
"""


def _square(period_windows: int, *, n_windows: int = 512) -> RateSeries:
    """Return a square wave of 1 ms windows, half of each period Up."""
    up = np.arange(n_windows) % period_windows < period_windows // 2
    return RateSeries.from_deltas(np.arange(n_windows + 1) * 1_000_000, np.where(up, 50e3, 0.0))


def _many(n_series: int) -> Iterator[RateSeries]:
    for i in range(n_series):
        yield _square(24 + 8 * (i % 4)).named(host=f"h{i}")


def _periods_s(n_series: int) -> list[float]:
    return [(24 + 8 * (i % 4)) / 1e3 for i in range(n_series)]


def _idle(n_series: int) -> Iterator[RateSeries]:
    for i in range(n_series):
        yield RateSeries.from_deltas([0, 10**9, 2 * 10**9], [0, 0]).named(host=f"h{i}")


def test_workers_give_profiles_in_order_and_draw_series_no_faster_than_they_are_profiled() -> None:
    drawn = []

    def counted() -> Iterator[RateSeries]:
        for one in itertools.chain(_idle(FIRST), _many(CHUNK_SERIES + 7), _idle(9 * CHUNK_SERIES)):
            drawn.append(one.host)
            yield one

    most_ahead = (2 * CHUNKS_PER_WORKER + 1) * CHUNK_SERIES
    found: list[TrafficProfile] = []
    for one in profile_many(counted(), n_workers=2):
        found.append(one)
        assert len(drawn) - len(found) <= most_ahead
    assert [one.host for one in found] == drawn
    jobs = found[FIRST : FIRST + CHUNK_SERIES + 7]
    assert [one.to_dict() for one in jobs[:3]] == [profile(one).to_dict() for one in _many(3)]
    assert [one.period_s for one in jobs] == pytest.approx(_periods_s(CHUNK_SERIES + 7), rel=0.02)


def test_one_worker_is_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "Worker", None)
    found = list(profile_many(_many(CHUNK_SERIES + 1), n_workers=1))
    assert [one.period_s for one in found] == pytest.approx(_periods_s(CHUNK_SERIES + 1), rel=0.02)


def test_few_series_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "Worker", None)
    assert len(list(profile_many(_idle(FIRST), n_workers=2))) == FIRST
    assert list(profile_many([], n_workers=2)) == []


def test_long_series_are_handed_over_by_themselves() -> None:
    long = _square(32, n_windows=CHUNK_WINDOWS)
    assert [len(chunk) for chunk in many._chunks(iter([long, long, _square(24), _square(24)]))] == [1, 1, 2]


def test_a_series_that_fails_is_told_and_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_on_h1(series: RateSeries) -> Any:
        if series.host == "h1":
            raise ZeroDivisionError("period 0")
        return profile(series)

    monkeypatch.setattr(outcome, "profile", fails_on_h1)
    found = list(profile_many(_many(3), n_workers=1))
    assert [one.status for one in found] == ["periodic", "no_data", "periodic"]
    assert "ZeroDivisionError: period 0" in found[1].reason
    assert found[1].host == "h1"


def test_workers_end_when_the_source_of_series_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[RateSeries]:
        yield from _idle(FIRST + 2 * CHUNK_SERIES)
        raise OffbeatError("the disk is gone")

    watched = _watched(monkeypatch)
    with pytest.raises(OffbeatError, match="the disk is gone"):
        list(profile_many(broken(), n_workers=2))
    assert not any(Path(f"/proc/{worker.pid}").exists() for worker in watched)


def test_one_chunk_more_starts_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = _watched(monkeypatch)
    assert len(list(profile_many(_idle(FIRST + 1), n_workers=12))) == FIRST + 1
    assert len(watched) == 1


def test_a_worker_that_is_idle_is_given_the_next_chunk_before_another_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = _watched(monkeypatch)
    with workers.Workers(12) as pool:
        for _ in range(3):
            assert [one.status for one in pool.submit(profiles_or_reasons, [*_idle(2)]).result()] == ["idle", "idle"]
    assert len(watched) == 1
    assert not Path(f"/proc/{watched[0].pid}").exists()


@pytest.mark.parametrize("n_workers", [1, 2])
def test_what_is_no_series_is_told_in_its_place_and_costs_no_other(n_workers: int) -> None:
    given: list[Any] = [*_idle(FIRST), None, lambda: 0, *_idle(1)]
    found = list(profile_many(given, n_workers=n_workers))
    assert [one.status for one in found] == ["idle"] * FIRST + ["no_data", "no_data", "idle"]
    assert found[FIRST].reason.startswith("given a NoneType in place of a RateSeries")
    assert found[FIRST + 1].reason.startswith("given a function in place")


def test_no_workers_is_refused_before_anything_is_drawn() -> None:
    with pytest.raises(UsageError, match="n_workers 0"):
        profile_many(_many(3), n_workers=0)


def test_a_worker_that_dies_is_told_and_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = _watched(monkeypatch)
    found = profile_many(_idle(400 * CHUNK_SERIES), n_workers=2)
    assert [next(found).status for _ in range(FIRST + 1)] == ["idle"] * (FIRST + 1)
    os.kill(watched[0].pid, signal.SIGKILL)
    with pytest.raises(OffbeatError, match=rf"worker process {watched[0].pid} died \(exit code -9\)"):
        list(found)
    assert not any(Path(f"/proc/{worker.pid}").exists() for worker in watched)


def test_a_worker_has_one_thread_of_linear_algebra_unless_the_caller_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    worker = Worker()
    try:
        found = [worker.call(os.getenv, name) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")]
    finally:
        worker.close()
    assert found == ["1", "3"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_when_the_caller_is_stopped_or_killed(tmp_path: Path, ending: signal.Signals) -> None:
    script = tmp_path / "forever.py"
    script.write_text(FOREVER, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), str(FIRST)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as caller:
        assert caller.stdout is not None
        try:
            assert caller.stdout.readline() == b"workers\n"
            assert _session_becomes(3, caller.pid)
            (os.killpg if ending == signal.SIGINT else os.kill)(caller.pid, ending)
            caller.stdout.close()
            assert caller.wait(timeout=20) != 0
        finally:
            caller.kill()
    assert _session_becomes(0, caller.pid)


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """Return a list to which each worker is added when it is started."""
    seen: list[Worker] = []

    def started() -> Worker:
        seen.append(Worker())
        return seen[-1]

    monkeypatch.setattr(workers, "Worker", started)
    return seen


def _session_becomes(n_processes: int, leader: int) -> bool:
    deadline_s = time.monotonic() + 20
    while len(_session(leader)) != n_processes and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return len(_session(leader)) == n_processes


def _session(leader: int) -> list[int]:
    """Return the processes of a session that still run: the caller and its workers."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
