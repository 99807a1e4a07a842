"""Engines: the same results to the last bit, whoever computes them, and a process that dies costs its own shard."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from pipeline.batch import BatchOptions, Work, local, on_ray
from profiler.errors import UsageError
from tests.pipeline.fleets import DEADLY, fleet, profiles, rows, run_deadly_shard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from profiler.store import Lake

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'offbeat[ray]'"
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return fleet(tmp_path_factory.mktemp("fleet") / "lake")


@pytest.fixture(scope="module")
def here(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What this process finds."""
    return rows(profiles(lake, BatchOptions(work=tmp_path_factory.mktemp("here"))).series.values())


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even the smallest lake be worth a process."""
    monkeypatch.setattr(local, "HERE_SAMPLES", 0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray cluster on this machine, shared by the tests: it takes seconds to start."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'offbeat[ray]'")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.mark.usefixtures("processes")
def test_processes_find_what_this_one_does(lake: Lake, here: str, tmp_path: Path) -> None:
    found = profiles(lake, BatchOptions(n_workers=2, work=tmp_path))
    assert (found.n_profiled, found.faults) == (8, ())
    assert rows(found.series.values()) == here


@pytest.mark.usefixtures("processes")
def test_a_process_that_dies_costs_its_shard_and_no_other(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_shard", run_deadly_shard)
    found = profiles(lake, BatchOptions(n_workers=2, work=tmp_path))
    (fault,) = found.faults
    assert fault.what.endswith(f"series of {DEADLY}")
    assert "died (exit code -9); if memory is short, use fewer workers" in fault.why
    assert {one.profile.host for one in found.series.values() if one.profile.status == "no_data"} == {DEADLY}
    monkeypatch.undo()
    assert profiles(lake, BatchOptions(work=tmp_path)).n_profiled == 2


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_a_ray_cluster_finds_what_this_process_does(lake: Lake, here: str, tmp_path: Path) -> None:
    found = profiles(lake, BatchOptions(engine="ray", work=tmp_path))
    assert (found.n_profiled, found.faults) == (8, ())
    assert rows(found.series.values()) == here


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_a_ray_worker_that_dies_costs_its_shard_and_no_other(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_ray, "run_shard", run_deadly_shard)
    monkeypatch.setattr(on_ray, "RETRIES", 0)
    found = profiles(lake, BatchOptions(engine="ray", work=tmp_path))
    (fault,) = found.faults
    assert fault.what.endswith(f"series of {DEADLY}")
    assert fault.why.startswith("its Ray task ended with WorkerCrashedError")
    assert found.n_profiled == 6


def test_what_ray_prints_of_dead_processes_does_not_come_amid_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def chatty(*_: object) -> Iterator[int]:
        yield 1
        print("(raylet) A worker died or was killed")  # noqa: T201

    monkeypatch.setattr(on_ray, "_import_ray", MagicMock)
    monkeypatch.setattr(on_ray, "_cluster", chatty)
    assert list(on_ray.RayEngine().run([], Work(tmp_path))) == []
    printed = capsys.readouterr()
    assert (printed.out, "A worker died" in printed.err) == ("", True)


def test_no_workers_are_refused() -> None:
    with pytest.raises(UsageError, match="workers 0: must be at least 1"):
        BatchOptions(n_workers=0)
