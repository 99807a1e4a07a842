"""The lake in DuckDB: what can be read, what cannot be done, and what a rate is."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from pipeline.sql import Database, export_views, find_query, list_queries, list_views, open_lake
from profiler.errors import LakeError, UsageError
from profiler.schema import TABLES, arrow_schema
from profiler.store import Lake, Recording
from tests.pipeline.lakes import add_advice, make_lake, port, two_job_lake

SECOND_NS = 1_000_000_000
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return two_job_lake(tmp_path_factory.mktemp("lakes") / "two jobs' lake")


@pytest.fixture(scope="module")
def database(lake: Lake) -> Iterator[Database]:
    with open_lake(lake.root) as database:
        yield database


def test_a_new_lake_has_every_table_and_view_with_its_columns_and_no_rows(tmp_path: Path) -> None:
    with open_lake(Lake.open(tmp_path / "lake", create=True).root) as database:
        for name in TABLES:
            rows = database.sql(f"from {name}")
            assert (rows.num_rows, rows.schema.types) == (0, arrow_schema(name).types)
            assert rows.column_names == arrow_schema(name).names
        for query in list_views():
            rows = database.sql(f"from {query.name}")
            assert (rows.num_rows, tuple(rows.column_names)) == (0, query.returns)
        for query in list_queries():
            rows = database.run(query.name)
            assert (rows.num_rows, tuple(rows.column_names)) == (0, query.returns)


def test_a_missing_lake_is_named(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="nowhere"):
        open_lake(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("table", "query", "remedy"),
    [
        ("series", "profiles_by_series", "restore it from a copy"),
        ("compat", "compat_by_link", "offbeat analyze writes it anew"),
    ],
)
def test_a_lost_file_of_a_table_fails_what_reads_the_table_and_nothing_else(
    tmp_path: Path, table: str, query: str, remedy: str
) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=1.0)
    add_advice(lake.root, lake)
    (path,) = lake.files(table)
    path.unlink()
    with open_lake(lake.root) as database:
        assert database.sql("select count(*) as n from samples").to_pylist()[0]["n"] > 0
        with pytest.raises(LakeError, match=f"{path.name}.*{remedy}"):
            database.run(query)


@pytest.mark.parametrize("damage", ["missing", "cut short"])
def test_a_lost_file_of_samples_fails_what_reads_samples_and_nothing_else(tmp_path: Path, damage: str) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=1.0)
    add_advice(lake.root, lake)
    (samples,) = lake.files("samples")
    whole_bytes = samples.read_bytes()
    samples.unlink()
    if damage == "cut short":
        samples.write_bytes(whole_bytes[: len(whole_bytes) // 2])
    readers = [
        "samples",
        "Readings",
        "rates",
        "link_contention",
        "link_loads(null, null)",
        "series_coverage(null, null)",
    ]
    with open_lake(lake.root) as database:
        assert database.run("jobs_by_link", link_id="trunk")["job_id"].unique().to_pylist() == ["A", "B"]
        assert database.sql("select count(*) as n from jobs").to_pylist() == [{"n": 2}]
        for reader in readers:
            with pytest.raises(LakeError, match=f"{samples.name}.*restore it from a copy.*--leave-out-lost"):
                database.sql(f"from {reader}")
        with pytest.raises(LakeError, match=samples.name):
            database.run("utilisation_by_link")
        with pytest.raises(UsageError, match="nosuch"):
            database.sql("select * from nosuch")
    with pytest.raises(LakeError, match=samples.name):
        export_views(lake.root, tmp_path / "views.duckdb")


def test_the_rest_of_a_lake_can_be_read_without_a_file_that_is_missing(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake")
    (samples,) = lake.files("samples")
    samples.unlink()
    with open_lake(lake.root, without=[samples]) as database:
        assert database.run("samples_by_series").num_rows == 3
        assert database.sql("from samples").num_rows == 0


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake")
    (samples,) = lake.files("samples")
    samples.write_text("not parquet at all, whatever its name says")
    with open_lake(lake.root) as database, pytest.raises(LakeError, match=samples.name):
        database.sql("from samples")


def test_a_file_that_is_damaged_inside_is_the_lakes_fault_and_not_the_statements(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake")
    (samples,) = lake.files("samples")
    whole = samples.read_bytes()
    middle = len(whole) // 2
    samples.write_bytes(
        whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 200]) + whole[middle + 200 :]
    )
    with open_lake(lake.root) as database:
        with pytest.raises(LakeError, match=f"{samples.name}: changed since it was sealed.*restore it from a copy"):
            database.sql("select sum(value), sum(t_ns), sum(window_ns), sum(flags), sum(epoch) from samples")
        assert database.sql("select count(*) as n from series").to_pylist() == [{"n": 3}]


def test_a_lake_of_another_version_is_told_so(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake", duration_s=1.0)
    with sqlite3.connect(lake.root / "manifest.sqlite") as manifest:
        manifest.execute("pragma user_version = 99")
    manifest.close()
    with pytest.raises(LakeError, match="schema version 99"):
        open_lake(lake.root)


def test_a_lake_without_a_finished_recording_has_no_rows_and_its_schema(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    recording = Recording(recording_id="0" * 64, source="cut short", format="test")
    writer = lake.writer(recording)
    writer.write_samples(writer.add_series(port("h", "eth0", "transmit")), np.arange(3), np.arange(3))
    with open_lake(lake.root) as database:
        assert database.run("samples_by_series").num_rows == 0
        assert database.sql("select status from recordings").to_pylist() == [{"status": "partial"}]
    with writer:
        pass


def test_only_files_of_the_manifest_are_read(tmp_path: Path) -> None:
    lake = two_job_lake(tmp_path / "lake")
    (samples,) = lake.files("samples")
    samples.with_name("stray.parquet").write_bytes(samples.read_bytes())
    with open_lake(lake.root) as database:
        assert database.sql("select count(*) as n from samples").to_pylist() == [{"n": 3 * 20_001}]


def test_recordings_of_the_manifest_are_a_table_too(database: Database) -> None:
    (row,) = database.sql("select source, n_rows from recordings").to_pylist()
    assert row == {"source": "synthetic", "n_rows": 3 * 20_001}


def test_a_series_that_two_recordings_name_stands_once(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "lake", create=True)
    for i, source in enumerate(("first", "second")):
        key = hashlib.sha256(source.encode()).hexdigest()
        with lake.writer(Recording(recording_id=key, source=source, format="test")) as writer:
            series_id = writer.add_series(port("h1", "eth0", "transmit", source=source))
            writer.write_samples(series_id, np.arange(2) + 2 * i, np.arange(2))
    with open_lake(lake.root) as database:
        assert database.sql("select source from series").to_pylist() == [{"source": "second"}]
        assert database.sql("select count(*) as n from readings").to_pylist() == [{"n": 4}]


@pytest.mark.parametrize(
    "statement",
    [
        "create table x (a integer)",
        "drop view samples",
        "insert into samples values (1, 2, 3, 4, 5, 6)",
        "copy (select 1) to 'out.csv'",
        "export database 'out'",
        "attach 'other.duckdb'",
        "set threads = 1",
        "install httpfs",
        "checkpoint",
        "pragma enable_profiling",
        "call pragma_version()",
        "detach lake",
        "use memory",
        "begin",
        "prepare p as select 1",
        "update samples set value = 0",
        "pivot series on kind using count(*)",
        "explain analyze create table x (a integer)",
        "-- explain select 1\nexplain analyze create table x (a integer)",
    ],
)
def test_statements_that_do_more_than_read_are_refused(database: Database, statement: str) -> None:
    with pytest.raises(UsageError, match="read-only"):
        database.sql(statement)


def test_a_setting_names_the_option_there_is(database: Database) -> None:
    with pytest.raises(UsageError, match="--memory") as refused:
        database.sql("set threads = 2")
    assert "threads" not in str(refused.value)


def test_explaining_a_copy_does_not_overwrite_the_lake(lake: Lake, database: Database) -> None:
    (samples,) = lake.files("samples")
    before = samples.read_bytes()
    path = str(samples.resolve()).replace("'", "''")
    for explain in ("explain analyze", "explain /* */ analyze", "explain (analyze)", "EXPLAIN ANALYZE (format json)"):
        with pytest.raises(UsageError):
            database.sql(f"{explain} copy (select 1 as a) to '{path}' (use_tmp_file false)")
    assert samples.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from glob('/*')",
        "select * from read_parquet('/tmp/x.parquet')",
        "select * from sniff_csv('/etc/passwd')",
        "select * from parquet_metadata('/tmp/x.parquet')",
        "select * from read_blob('/etc/passwd')",
        "from sqlite_scan('/tmp/manifest.sqlite', 'files')",
        "select * from 'https://example.org/x.parquet'",
    ],
)
def test_nothing_outside_the_lake_can_be_read(database: Database, statement: str) -> None:
    with pytest.raises(UsageError):
        database.sql(statement)


def test_a_python_variable_is_not_a_table(database: Database) -> None:
    secret = arrow_schema("samples").empty_table()
    with pytest.raises(UsageError, match="secret"):
        database.sql("select * from secret")
    assert secret.num_rows == 0


@pytest.mark.parametrize("statement", ["", "-- nothing", "select 1; select 2"])
def test_anything_but_one_statement_is_refused(database: Database, statement: str) -> None:
    with pytest.raises(UsageError, match="one SQL statement, found"):
        database.sql(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "describe samples",
        "summarize series",
        "show tables",
        "from series",
        "values (1)",
        "explain select 1",
        "explain analyze select 1",
        "-- explain the plan\nexplain select 1",
        "/* how; */ explain -- now\n analyze select 1",
        "explain (format json) select 1",
        "explain (select 1)",
        "with x as (select 1 as a) select a from x;",
    ],
)
def test_statements_that_read_run(database: Database, statement: str) -> None:
    assert database.sql(statement).num_rows >= 1


def test_an_error_shows_the_place(database: Database) -> None:
    with pytest.raises(UsageError, match=r"LINE 2: where nosuch = 1\n\s+\^"):
        database.sql("select * from series\nwhere nosuch = 1")


def test_an_error_leaves_the_database_usable(database: Database) -> None:
    with pytest.raises(UsageError, match="nosuch"):
        database.sql("select * from nosuch")
    assert database.sql("select 1 as one").to_pylist() == [{"one": 1}]


def test_a_query_that_does_not_exist_lists_near_ones(database: Database) -> None:
    with pytest.raises(UsageError, match="jobs_by_link"):
        database.run("job_by_links")


def test_an_unknown_parameter_lists_those_there_are(database: Database) -> None:
    with pytest.raises(UsageError, match=r"no parameter 'link'; it has: link_id, min_jobs"):
        database.run("jobs_by_link", link="trunk")


def test_a_parameter_of_the_wrong_type_is_refused(database: Database) -> None:
    with pytest.raises(UsageError, match=r"min_jobs='many': expected type count, a whole"):
        database.run("jobs_by_link", min_jobs="many")


def test_a_parameter_is_a_value_whatever_it_contains(database: Database) -> None:
    assert database.run("jobs_by_link", link_id="x' or 'a' = 'a").num_rows == 0


def test_people_see_timestamps_in_utc(database: Database) -> None:
    (row,) = database.sql("select cast(min(read_at) as varchar) as first from readings").to_pylist()
    assert row == {"first": "2026-11-30 00:53:20"}


def test_one_layer_stands_for_a_port(tmp_path: Path) -> None:
    t_ns = np.arange(3) * SECOND_NS
    layers = {port("h", "eth0", "transmit", layer=layer): (t_ns, t_ns) for layer in ("socket", "netdev", "wire")}
    with open_lake(make_lake(tmp_path / "lake", layers).root) as database:
        assert [row["layer"] for row in database.run("series_by_port").to_pylist()] == ["wire"]


def test_an_exported_database_gives_other_clients_the_same_rows(lake: Lake, database: Database, tmp_path: Path) -> None:
    target = export_views(lake.root, tmp_path / "lake.duckdb")
    with duckdb.connect() as client:
        path = str(target).replace("'", "''")
        client.execute(f"attach '{path}' as lake (read_only)")
        assert client.sql("select count(*) from lake.rates where device = 'p1'").fetchall() == [(20_000,)]
        client.execute("use lake")
        assert client.sql("select period_index(5000000000, 2.0)").fetchall() == [(2,)]
        total = "select cast(sum(bytes) as bigint) as bytes, count(*) as n from rates"
        assert client.sql(total).to_arrow_table().to_pylist() == database.sql(total).to_pylist()
        assert client.sql("select source from recordings").fetchall() == [("synthetic",)]


def test_an_export_replaces_nothing_unless_told(lake: Lake, tmp_path: Path) -> None:
    target = tmp_path / "lake.duckdb"
    target.write_text("precious")
    with pytest.raises(UsageError, match="--force"):
        export_views(lake.root, target)
    assert target.read_text() == "precious"
    export_views(lake.root, target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["lake.duckdb"]


def test_an_export_into_a_missing_folder_says_so(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        export_views(lake.root, tmp_path / "nowhere" / "lake.duckdb")


def test_little_memory_is_enough(lake: Lake) -> None:
    with open_lake(lake.root, memory_limit="60MB", threads=1) as database:
        assert database.sql("select count(*) as n from rates").to_pylist() == [{"n": 3 * 20_000}]


def test_the_wheel_holds_the_queries_and_finds_them(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; pip install hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import pipeline.sql as s; print(s.__file__); print(*[q.name for q in s.list_queries() + s.list_views()])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site")},
        check=True,
        capture_output=True,
        text=True,
    )
    home, names = done.stdout.splitlines()
    assert home.startswith(str(tmp_path / "site"))
    assert names.split() == [query.name for query in list_queries() + list_views()]


def test_every_query_has_a_purpose_and_a_place_in_the_list() -> None:
    queries = list_queries()
    assert [query.name for query in queries] == sorted(query.name for query in queries)
    assert all(query.purpose and find_query(query.name) == query for query in queries)
