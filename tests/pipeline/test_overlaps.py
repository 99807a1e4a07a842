"""How long jobs share links: told in parts, the same as the query tells of the whole lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline import overlaps
from pipeline.derived import open_derived
from pipeline.flow import analyze
from pipeline.overlaps import find_overlaps
from pipeline.sql import open_lake
from tests.pipeline.fleets import profiles
from tests.pipeline.lakes import make_lake, on_off_counter, port

if TYPE_CHECKING:
    from profiler.store import Lake

PAIR = """
[[link]]
id = "trunk{i}"
a = "sw{i}:up"
b = "top{i}:up"
capacity = "400Mbps"
[[link]]
id = "a{i}"
a = "a{i}:eth0"
b = "sw{i}:p1"
capacity = "800Mbps"
[[link]]
id = "b{i}"
a = "b{i}:eth0"
b = "sw{i}:p2"
capacity = "800Mbps"
[[link]]
id = "c{i}"
a = "c{i}:eth0"
b = "top{i}:p1"
capacity = "800Mbps"
[[link]]
id = "d{i}"
a = "d{i}:eth0"
b = "top{i}:p2"
capacity = "800Mbps"
[[job]]
id = "A{i}"
ranks = [{{host = "a{i}", device = "eth0"}}, {{host = "c{i}", device = "eth0"}}]
[[job]]
id = "B{i}"
ranks = [{{host = "b{i}", device = "eth0"}}, {{host = "d{i}", device = "eth0"}}]
"""
SHARED_MS = (80, 30)
"""Of the 100 ms that each job sends in 250 ms, how many the other one sends too, by trunk."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two trunks with two jobs each."""
    folder = tmp_path_factory.mktemp("overlaps")
    reads = {}
    for i, shared_ms in enumerate(SHARED_MS):
        for name, start_ms in (("p1", 0), ("p2", 100 - shared_ms)):
            reads[port(f"sw{i}", name, "receive")] = on_off_counter(
                period_ns=250_000_000,
                up_ns=100_000_000,
                rate_bps=300e6,
                start_ns=start_ms * 1_000_000,
                duration_s=6.0,
            )
    lake = make_lake(folder / "lake", reads)
    cluster = folder / "cluster.toml"
    cluster.write_text("".join(PAIR.format(i=i) for i in range(len(SHARED_MS))))
    analyze(lake.root, cluster=cluster)
    return lake


@pytest.mark.parametrize("n_samples", [1, overlaps.GROUP_SAMPLES])
def test_parts_tell_what_the_query_tells_of_the_whole(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, n_samples: int
) -> None:
    monkeypatch.setattr(overlaps, "GROUP_SAMPLES", n_samples)
    found = profiles(lake)
    with open_derived(lake) as database:
        crossings = database.run("jobs_by_link", min_jobs=2).to_pylist()
    rows, faults = find_overlaps(lake, crossings, series=found.series, files=found.files)
    with open_lake(lake.root) as database:
        whole = database.run("contention_by_link").to_pylist()
    assert faults == ()
    assert len(rows) == 4
    assert sorted(rows, key=repr) == sorted(whole, key=repr)
    for row in rows:
        shared_ms = SHARED_MS[int(row["link_id"].removeprefix("trunk"))]
        assert row["shared_frac"] == pytest.approx(shared_ms / 250, abs=0.01)


def test_a_file_that_is_damaged_leaves_open_what_needs_it(lake: Lake) -> None:
    found = profiles(lake)
    with open_derived(lake) as database:
        crossings = database.run("jobs_by_link", min_jobs=2).to_pylist()
    path = found.files[0].path
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[: len(whole) // 2])
        rows, (fault,) = find_overlaps(lake, crossings, series=found.series, files=found.files)
    finally:
        path.write_bytes(whole)
    assert rows == []
    assert fault.what == "the time that jobs share on trunk0, trunk1"
    assert path.name in fault.why
