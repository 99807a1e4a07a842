"""Jobs found by their beat in a capture, of which nothing else is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.discover import Discovery, discover_lake
from pipeline.discover.keeping import keep_found
from pipeline.sql import open_lake
from profiler.importers import Options, ingest
from profiler.store import Lake
from tests.pipeline.roce_captures import RoceJob, capture_of

if TYPE_CHECKING:
    from pathlib import Path

    from profiler.importers.captures.series import SeriesBy

SLOW = RoceJob(addresses=("10.0.1.1", "10.0.1.2"), period_s=0.255, up_s=0.1, n_qps=3)
FAST = RoceJob(addresses=("10.0.2.1", "10.0.2.2"), period_s=0.19, up_s=0.06, first_qp=300, n_qps=3)


def _discovered(folder: Path, *, by: SeriesBy) -> Discovery:
    (folder / "both.pcap").write_bytes(capture_of(SLOW, FAST, duration_s=8.0, rng=np.random.default_rng(7)))
    lake = Lake.open(folder / "lake", create=True)
    ingest(folder / "both.pcap", lake=lake, options=Options(series_by=by))
    return discover_lake(lake.root)


@pytest.mark.parametrize(("by", "n_series"), [("flow", 6), ("pair", 2)])
def test_flows_that_beat_together_are_one_job(tmp_path: Path, by: SeriesBy, n_series: int) -> None:
    found = _discovered(tmp_path, by=by)
    assert [(len(job.own), {member.host for member in job.own}) for job in found.jobs] == [
        (n_series, set(SLOW.addresses)),
        (n_series, set(FAST.addresses)),
    ]
    assert [job.period_s for job in found.jobs] == pytest.approx([SLOW.period_s, FAST.period_s], rel=0.01)
    assert not found.skipped
    _keep(tmp_path, found)


def _keep(folder: Path, found: Discovery) -> None:
    """Keep the jobs found, and hold the flows that are theirs to the capture."""
    lake = Lake.open(folder / "lake")
    flows = lake.read("flows").to_pylist()
    with open_lake(lake.root) as database:
        (before,) = database.run("flows_by_job").to_pylist()
    assert (before["job_id"], before["n_flows"]) == (None, len(flows))
    assert "no address is known" in before["reason"]

    keep_found(lake, found, capacity_bps=1e11)
    with open_lake(lake.root) as database:
        told = {row["job_id"]: (row["n_flows"], row["packets"]) for row in database.run("flows_by_job").to_pylist()}
    true = [[flow["packets"] for flow in flows if flow["src"] in job.addresses] for job in (SLOW, FAST)]
    assert told == {job.job: (len(of), sum(of)) for job, of in zip(found.jobs, true, strict=True)}
