"""What a connection is given and what not: no memory that there is not, no place on stdout, no right to delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline.sql import Database, list_queries, open_lake
from profiler.errors import LakeError, UsageError
from tests.pipeline.fleets import fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiler.store import Lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return fleet(tmp_path_factory.mktemp("limits") / "lake", n_hosts=1)


@pytest.fixture
def database(lake: Lake) -> Iterator[Database]:
    with open_lake(lake.root) as opened:
        yield opened


def test_a_statement_that_deletes_in_a_with_clause_is_refused_and_deletes_nothing(database: Database) -> None:
    before = database.sql("from recordings").num_rows
    with pytest.raises(UsageError, match="read-only"):
        database.sql("with gone as (delete from recordings returning *) from gone")
    assert database.sql("from recordings").num_rows == before == 1


def test_no_progress_is_drawn_on_stdout_not_even_while_a_slow_lake_is_opened(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def asked(connection: duckdb.DuckDBPyConnection, *_: object, **__: object) -> dict[str, str]:
        seen.extend(connection.sql("select current_setting('enable_progress_bar_print')").fetchall())
        return {}

    monkeypatch.setattr("pipeline.sql.database.make_tables", asked)
    open_lake(lake.root).close()
    assert seen == [(False,)]


def test_memory_that_the_machine_does_not_give_is_told_from_a_limit_that_can_be_raised(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: Allocation failure")

    monkeypatch.setattr("pipeline.sql.database.make_tables", refused)
    with pytest.raises(LakeError, match="ulimit") as told:
        open_lake(lake.root)
    assert "--memory" not in str(told.value)


def test_a_query_finds_all_that_it_reads_in_a_connection_that_has_made_nothing_else() -> None:
    for query in list_queries():
        with Database({}) as fresh:
            assert fresh.run(query.name).num_rows == 0
