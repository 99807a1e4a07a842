"""A lake of many small recordings, for the tests of what keeps a lake in order."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from profiler.store import Lake, Recording, Series, recording_id

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NS", "T0_NS", "filled", "lake", "open_to_all", "put", "put_one", "readings", "series"]

NS = 10**9
T0_NS = 1_700_000_000 * NS


def series(i: int) -> Series:
    return Series(host="h1", device=f"eth{i}", direction="transmit", layer="netdev")


def put(lake: Lake, name: str, *, first_s: int, n_series: int = 3, n_rows: int = 50) -> str:
    """Write one recording of some series, a reading a second."""
    key = recording_id(name, parser="test", parser_version=1)
    with lake.writer(Recording(recording_id=key, source=name, format="test")) as writer:
        for i in range(n_series):
            writer.add_series(series(i))
            t_ns = T0_NS + (first_s + np.arange(n_rows)) * NS
            writer.write_samples(series(i).series_id, t_ns, t_ns // NS * (i + 1))
    return key


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty recordings of 50 s, one after the other, on one day, and one of the next day."""
    found = Lake.open(tmp_path_factory.mktemp("filled") / "lake", create=True)
    for i in range(20):
        put(found, f"part{i}", first_s=50 * i)
    put(found, "tomorrow", first_s=86_400)
    return found.root


@pytest.fixture
def lake(filled: Path, tmp_path: Path) -> Lake:
    """Return a copy of the filled lake."""
    return Lake.open(shutil.copytree(filled, tmp_path / "lake"))


@pytest.fixture
def open_to_all(lake: Lake) -> None:
    """Let every user into the lake, as if it were not in a folder of the tests' own."""
    for folder in (*(path for path in lake.root.rglob("*") if path.is_dir()), lake.root, *lake.root.parents):
        if "pytest" in str(folder):
            folder.chmod(0o777)
    for file in lake.root.glob("*.*"):
        file.chmod(0o666)


def put_one(lake: Lake, name: str, *, value: int, chosen: Series | None = None) -> None:
    """Write one recording of two readings of the first series, or another one; the second is as in the filled lake."""
    chosen = chosen or series(0)
    key = recording_id(name, parser="test", parser_version=1)
    with lake.writer(Recording(recording_id=key, source=name, format="test")) as writer:
        writer.add_series(chosen)
        writer.write_samples(chosen.series_id, [T0_NS, T0_NS + NS], [value, (T0_NS + NS) // NS])


def readings(lake: Lake) -> dict[int, tuple[list[int], list[int]]]:
    ids = [series(i).series_id for i in range(3)]
    return {key: (counter.t_ns.tolist(), counter.value.tolist()) for key, counter in lake.counters(ids)}
