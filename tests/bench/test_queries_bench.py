"""The bench of queries runs on a small lake, and its figures are of what it ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.queries import SCAN, VIEWS, queries_table, run_queries
from tests.pipeline.lakes import analysed_lake

if TYPE_CHECKING:
    from pathlib import Path


def test_queries_are_measured_beside_a_bare_scan(tmp_path: Path) -> None:
    lake = analysed_lake(tmp_path / "lake")
    runs = list(run_queries(lake.root, ["links_by_load", "pairs_by_link"]))
    assert [run.name for run in runs] == [SCAN, *VIEWS, "links_by_load", "pairs_by_link"]
    assert all(run.exit_code == 0 for run in runs)
    assert all(run.wall_s > 0 and run.cpu_s > 0 and run.peak_bytes > 10**7 for run in runs)
    assert all(run.answer_bytes > 0 for run in runs[1:])
    assert "times the scan" in queries_table(runs)
