"""Every named query: its header is true, its order is total, and its figures are those of arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from pipeline.compat import score_pairs
from pipeline.sql import Database, Query, list_queries, list_views, open_lake
from profiler.phases import TrafficProfile
from tests.pipeline.lakes import (
    GAPPY,
    PERIOD_NS,
    T0_NS,
    add_advice,
    add_reads,
    analysed_lake,
    date_profiles,
    make_lake,
    on_off_counter,
    only,
    port,
)

if TYPE_CHECKING:
    from pathlib import Path


OF_CAPTURES = {
    "flows_by_job",
    "address_jobs",
    "pair_jobs",
    "flow_points",
    "flow_parts",
    "unported_flows",
    "found_flows",
    "spare_points",
}
"""Without rows here, and not without in ``test_flows_to_jobs.py``."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Two jobs at 300 Mbit/s for 100 of 250 ms over a 400 Mbit/s trunk for 20 s, B 50 ms after A."""
    lake = analysed_lake(tmp_path_factory.mktemp("lakes") / "lake")
    with open_lake(lake.root) as database:
        yield database


def ordering(query: Query) -> list[str]:
    return [re.sub(r" (asc|desc|nulls last)", "", term) for term in query.order]


@pytest.mark.parametrize("query", list_queries(), ids=lambda query: query.name)
def test_columns_and_order_are_those_of_the_header(query: Query, database: Database) -> None:
    rows = database.run(query.name)
    assert tuple(rows.column_names) == query.returns
    clause = query.text.rpartition("order by")[2].partition("limit")[0]
    terms = [re.sub(r"\w+\.| asc$", "", term.strip()) for term in clause.split(",")]
    assert tuple(terms) == query.order


@pytest.mark.parametrize("query", list_queries(), ids=lambda query: query.name)
def test_the_order_is_total(query: Query, database: Database) -> None:
    rows = database.run(query.name).select(ordering(query)).to_pylist()
    assert rows or query.name in OF_CAPTURES, "a query without rows proves nothing"
    assert len({tuple(row.values()) for row in rows}) == len(rows)


@pytest.mark.parametrize("query", list_queries(), ids=lambda query: query.name)
def test_no_column_is_of_a_type_that_json_lacks(query: Query, database: Database) -> None:
    types = {str(field.type) for field in database.run(query.name).schema}
    scalars = {"bool", "string", "double", "int16", "int32", "int64", "uint64", "timestamp[ns]"}
    assert types <= {*scalars, "list<l: double>"}


@pytest.mark.parametrize("query", list_views(), ids=lambda query: query.name)
def test_columns_of_a_view_are_those_of_its_header(query: Query, database: Database) -> None:
    rows = database.sql(f"from {query.name}")
    assert tuple(rows.column_names) == query.returns
    assert rows.num_rows > 0 or query.name in OF_CAPTURES


def test_queries_do_not_depend_on_the_order_of_rows(database: Database, tmp_path: Path) -> None:
    a, b = (
        on_off_counter(period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6, start_ns=start_ns)
        for start_ns in (0, 50_000_000)
    )
    trunk = (a[0], a[1] + b[1])
    shuffle = np.random.default_rng(7).permutation(len(a[0]))
    devices = {("t1", "transmit"): trunk, ("p2", "receive"): b, ("p1", "receive"): a}
    shuffled = {
        port("sw1", device, direction): (t_ns[shuffle], value[shuffle])
        for (device, direction), (t_ns, value) in devices.items()
    }
    root = tmp_path / "lake"
    lake = make_lake(root, shuffled)
    add_advice(root, lake)
    date_profiles(lake)
    add_reads(lake, {port("h1", "eth0", "transmit"): GAPPY})
    with open_lake(root) as other:
        for query in list_queries():
            assert other.run(query.name).to_pylist() == database.run(query.name).to_pylist(), query.name


def test_both_jobs_meet_on_the_trunk_in_both_directions(database: Database) -> None:
    rows = database.run("jobs_by_link", min_jobs=2).to_pylist()
    assert [(row["link_id"], row["direction"], row["job_id"]) for row in rows] == [
        ("trunk", "backward", "A"),
        ("trunk", "backward", "B"),
        ("trunk", "forward", "A"),
        ("trunk", "forward", "B"),
    ]
    assert {(row["n_jobs"], row["peak_bps"], row["capacity_bps"], row["load_frac"]) for row in rows} == {
        (2, 300e6, 400e6, 1.0)
    }


def test_a_job_crosses_its_hosts_links_and_the_trunk(database: Database) -> None:
    rows = database.run("links_by_job", job_id="B").to_pylist()
    assert sorted({(row["link_id"], row["n_jobs"]) for row in rows}) == [("b1", 1), ("b2", 1), ("trunk", 2)]


def test_a_jobs_profile_comes_from_the_switch_port_that_faces_its_host(database: Database) -> None:
    ports = {row["series_id"]: row["device"] for row in database.run("series_by_port").to_pylist()}
    rows = database.run("profiles_by_job").to_pylist()
    assert {row["job_id"]: ports[row["series_id"]] for row in rows} == {"A": "p1", "B": "p2"}


def test_contention_is_the_overlap_and_the_excess(database: Database) -> None:
    row = only(database.run("contention_by_link", link_id="trunk").to_pylist(), direction="forward")
    n_periods, overlap_s, excess_bps = 80, 0.050, 2 * 300e6 - 400e6
    assert (row["jobs"], row["periods_s"]) == ("A, B", [0.25, 0.25])
    assert row["observed_s"] == pytest.approx(20.0)
    assert row["shared_s"] == row["over_s"] == pytest.approx(n_periods * overlap_s)
    assert row["shared_frac"] == row["over_frac"] == pytest.approx(0.2)
    assert row["n_windows"] == n_periods
    assert row["over_bytes"] == pytest.approx(n_periods * overlap_s * excess_bps / 8, rel=1e-6)


def test_each_window_of_contention_has_its_time_and_its_bytes(database: Database) -> None:
    rows = database.run("windows_by_link", link_id="trunk").to_pylist()
    first = rows[0]
    assert len(rows) == 2 * 80
    assert first["start_ns"] == T0_NS + 50_000_000
    assert first["duration_s"] == pytest.approx(0.05)
    assert (first["n_jobs_up"], first["over_bytes"], first["peak_demand_bps"]) == (2, 1_250_000, 600e6)
    assert first["jobs_up"] == "A, B"


def test_jobs_that_take_turns_share_nothing(tmp_path: Path) -> None:
    lake = analysed_lake(tmp_path / "lake", b_start_ns=125_000_000)
    with open_lake(lake.root) as database:
        for row in database.run("contention_by_link").to_pylist():
            assert (row["shared_s"], row["over_bytes"], row["n_windows"]) == (0, 0, 0)
            assert row["observed_s"] == pytest.approx(20.0)
        assert database.run("windows_by_link").num_rows == 0


def test_each_direction_is_measured_where_both_are_counted(tmp_path: Path) -> None:
    starts_ns = {"p1": 0, "p2": 50_000_000}
    rates_bps = {"receive": 300e6, "transmit": 150e6}
    reads = {
        port("sw1", device, direction): on_off_counter(
            period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=rate_bps, start_ns=start_ns
        )
        for device, start_ns in starts_ns.items()
        for direction, rate_bps in rates_bps.items()
    }
    root = tmp_path / "lake"
    lake = make_lake(root, reads)
    add_advice(root, lake)
    halved_ids = {row["series_id"] for row in lake.read("series").to_pylist() if row["direction"] == "transmit"}
    for name, columns in {"profiles": ("mean_bps", "peak_bps"), "phases": ("rate_bps",)}.items():
        table = lake.read(name)
        rows = table.to_pylist()
        for row in rows:
            row.update({column: row[column] / 2 for column in columns if row["series_id"] in halved_ids})
        lake.replace(name, type(table).from_pylist(rows, schema=table.schema))
    with open_lake(root) as database:
        jobs = database.run("jobs_by_link").to_pylist()
        contention = database.run("contention_by_link").to_pylist()
        loads = database.run("links_by_load").to_pylist()
    means_bps = {(row["link_id"], row["direction"], row["is_measured"]): row["mean_bps"] for row in jobs}
    assert means_bps["trunk", "forward", True] == pytest.approx(120e6)
    assert means_bps["trunk", "backward", True] == pytest.approx(60e6)
    assert means_bps["a1", "backward", True] == pytest.approx(60e6)
    assert only(loads, link_id="a1", direction="backward")["mean_bps"] == pytest.approx(60e6)
    assert means_bps["a2", "forward", False] == pytest.approx(120e6)
    assert {row["load_frac"] for row in jobs} == {1.0}
    forward, backward = (only(contention, direction=direction) for direction in ("forward", "backward"))
    assert forward["over_bytes"] == pytest.approx(100_000_000, rel=1e-6)
    assert backward["over_bytes"] == 0
    assert backward["shared_s"] == pytest.approx(80 * 0.05)


def test_a_direction_that_is_not_counted_is_assumed_alike_and_says_so(database: Database) -> None:
    rows = database.run("jobs_by_link", link_id="trunk").to_pylist()
    assert {(row["direction"], row["is_measured"]) for row in rows} == {("forward", True), ("backward", False)}


def test_contention_needs_both_jobs_observed_at_one_time(tmp_path: Path) -> None:
    a = on_off_counter(period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6, duration_s=5.0)
    later = a[0] + 10_000_000_000
    root = tmp_path / "lake"
    add_advice(root, make_lake(root, {port("sw1", "p1", "receive"): a, port("sw1", "p2", "receive"): (later, a[1])}))
    with open_lake(root) as database:
        rows = database.run("contention_by_link").to_pylist()
    assert [(row["observed_s"], row["shared_s"], row["over_bytes"]) for row in rows] == [(None, None, None)] * 2


def test_contention_holds_when_ports_are_read_at_different_times(tmp_path: Path) -> None:
    job = {"period_ns": PERIOD_NS, "up_ns": 100_000_000, "rate_bps": 300e6}
    a = on_off_counter(**job, step_ns=1_000_000)  # type: ignore[arg-type]
    b = on_off_counter(**job, start_ns=50_000_000, step_ns=1_700_000)  # type: ignore[arg-type]
    root = tmp_path / "lake"
    add_advice(root, make_lake(root, {port("sw1", "p1", "receive"): a, port("sw1", "p2", "receive"): b}))
    with open_lake(root) as database:
        row = only(database.run("contention_by_link").to_pylist(), direction="forward")
    assert row["shared_frac"] == pytest.approx(0.2, rel=0.03)
    assert row["over_bytes"] == pytest.approx(100_000_000, rel=0.03)


def test_the_busiest_link_comes_first(database: Database) -> None:
    rows = database.run("links_by_load", bin_s=0.05).to_pylist()
    assert [(row["link_id"], row["direction"]) for row in rows[:1]] == [("trunk", "forward")]
    assert rows[0]["mean_bps"] == pytest.approx(2 * 300e6 * 0.4)
    assert rows[0]["utilisation_frac"] == pytest.approx(0.6)
    assert rows[0]["p99_bps"] == pytest.approx(600e6)
    assert database.run("links_by_load", n_links=2).num_rows == 2


def test_a_link_counted_at_both_ends_is_counted_once(tmp_path: Path) -> None:
    a = on_off_counter(period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6)
    root = tmp_path / "lake"
    both_ends = {port("a1", "eth0", "transmit"): a, port("sw1", "p1", "receive"): a}
    add_advice(root, make_lake(root, both_ends))
    with open_lake(root) as database:
        (row,) = database.run("links_by_load").to_pylist()
        assert (row["link_id"], row["mean_bps"]) == ("a1", pytest.approx(120e6))
        assert only(database.run("profiles_by_job").to_pylist(), job_id="A")["n_series"] == 2


def test_a_port_that_two_jobs_share_belongs_to_neither(tmp_path: Path) -> None:
    a = on_off_counter(period_ns=PERIOD_NS, up_ns=100_000_000, rate_bps=300e6, duration_s=1.0)
    root = tmp_path / "lake"
    lake = make_lake(root, {port("sw1", "p1", "receive"): a})
    add_advice(root, lake)
    placements = lake.read("placements").to_pylist()
    for row in placements:
        row["host"] = row["host"].replace("b", "a")
    lake.replace("placements", type(lake.read("placements")).from_pylist(placements))
    with open_lake(root) as database:
        rows = database.run("profiles_by_job").to_pylist()
    assert {row["reason"] for row in rows} == {"no counter of a port that carries this job alone"}


def test_each_two_jobs_of_a_link_have_the_scores_of_the_kernel(database: Database) -> None:
    row = only(database.run("pairs_by_link", job_id="B").to_pylist(), direction="forward")
    profile = TrafficProfile.from_phases(period_s=0.25, phases=[(0.0, 0.1, 300e6)])
    pair = score_pairs({"A": profile, "B": profile}, capacity_bps=400e6).between("A", "B")
    assert (row["link_id"], row["job_id"], row["other_id"]) == ("trunk", "A", "B")
    assert (row["score_best"], row["score_random"], row["shift_s"]) == (1.0, pair.score_random, pair.shift_s)
    assert row["score_random"] == pytest.approx(1 - 0.4**2 * 200 / 400)
    assert row["gain"] == row["score_best"] - row["score_random"]


def test_a_job_without_a_period_has_pairs_without_a_score(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    lake = analysed_lake(root)
    profiles = lake.read("profiles").to_pylist()
    ids = {row["device"]: row["series_id"] for row in lake.read("series").to_pylist()}
    for row in profiles:
        if row["series_id"] == ids["p2"]:
            row.update(status="aperiodic", period_s=None)
    lake.replace("profiles", pa.Table.from_pylist(profiles, schema=lake.read("profiles").schema))
    with open_lake(root) as opened:
        rows = opened.run("pairs_by_link").to_pylist()
    assert [(row["score_best"], row["score_random"], row["other_period_s"]) for row in rows] == [(None,) * 3] * 2


def test_profiles_are_chosen_by_status(database: Database) -> None:
    assert database.run("profiles_by_series", status="periodic").num_rows == 3
    assert database.run("profiles_by_series", status="idle").num_rows == 0


def test_the_advice_names_each_job_and_its_period(database: Database) -> None:
    rows = database.run("shifts_by_job").to_pylist()
    assert [(row["job_id"], row["shift_s"], row["period_s"]) for row in rows] == [("A", 0.0, 0.25), ("B", 0.125, 0.25)]


def test_compatibility_names_the_jobs_of_the_link(database: Database) -> None:
    rows = database.run("compat_by_link", verdict="paced").to_pylist()
    assert {(row["link_id"], row["jobs"]) for row in rows} == {("trunk", "A, B")}
