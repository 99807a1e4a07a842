"""Stretches of time in which jobs meet: few where ports are read seldom, and the same as the bins they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pipeline.sql import Database, open_lake
from tests.pipeline.lakes import PERIOD_NS, add_advice, make_lake, on_off_counter, port

if TYPE_CHECKING:
    from pathlib import Path

STEP_NS = 50_000_000
BIN_NS = 5_000_000
"""A fiftieth of the period."""
N_READS = 2 * 20 * 10**9 // STEP_NS
N_BINS = 20 * 10**9 // BIN_NS


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Two jobs that send for 100 of 250 ms over a trunk, B 50 ms after A, read every 50 ms."""
    reads = {
        port("sw1", name, "receive"): on_off_counter(
            period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6, start_ns=start_ns, step_ns=STEP_NS
        )
        for name, start_ns in (("p1", 0), ("p2", 50_000_000))
    }
    root: Path = tmp_path_factory.mktemp("meetings") / "lake"
    add_advice(root, make_lake(root, reads))
    with open_lake(root) as database:
        yield database


def test_rows_are_as_many_as_reads_not_as_bins(database: Database) -> None:
    (row,) = database.sql(
        "select count(*) as n, sum(window_ns // bin_ns) as n_bins from link_meetings('trunk') "
        "where direction = 'forward'"
    ).to_pylist()
    assert row["n_bins"] == N_BINS
    assert row["n"] < 3 * N_READS < N_BINS


def test_a_stretch_is_its_bins(database: Database) -> None:
    of_bins, of_stretches = (
        database.sql(
            f"select link_id, direction, n_jobs_up, jobs_up, demand_bps, sum(window_ns) as time_ns, "  # noqa: S608
            f"sum(over_bytes) as over_bytes from {relation} group by all order by all"
        ).to_pylist()
        for relation in ("link_contention", "link_meetings(null)")
    )
    assert of_bins == of_stretches
    forward = {row["jobs_up"]: row["time_ns"] for row in of_bins if row["direction"] == "forward"}
    assert forward == {"": 8 * 10**9, "A": 4 * 10**9, "A, B": 4 * 10**9, "B": 4 * 10**9}


def test_a_link_alone_is_told_as_among_all(database: Database) -> None:
    assert database.sql("from link_meetings('nosuch')").num_rows == 0
    alone, among = (
        database.sql(f"from link_meetings({link}) order by all").to_pylist() for link in ("'trunk'", "null")
    )
    assert alone == [row for row in among if row["link_id"] == "trunk"] != []
