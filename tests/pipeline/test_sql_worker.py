"""Calls on a connection of DuckDB that Ctrl-C ends, whenever it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from pipeline.sql.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = "select count(*) from range(10000000) a, range(10000000) b where a.range * b.range % 7 = 3"
"""Days of work."""


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def test_ctrl_c_while_progress_is_told_ends_the_query_and_leaves_the_connection(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_on_progress: object) -> None:
        raise KeyboardInterrupt

    worker = Worker(connection)
    monkeypatch.setattr(worker, "_tell", stop)
    with pytest.raises(KeyboardInterrupt):
        worker.call(lambda: connection.execute(LONG).fetchall(), on_progress=lambda _done_frac: None)

    assert connection.execute("select 42").fetchall() == [(42,)]
    worker.close()
