"""`Worker`: DuckDB in a thread of its own, since it is deaf to signals, but can be told to stop."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

__all__ = ["Worker"]

_POLL_S: Final = 0.1
"""How often progress is told."""

_Result = TypeVar("_Result")


class Worker:
    """Runs calls on a connection one after the other; Ctrl-C while one runs ends it, and the connection lives on."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="offbeat-sql")

    def call(self, function: Callable[[], _Result], *, on_progress: Callable[[float], None] | None = None) -> _Result:
        """Return what a function returns, and raise what it raises.

        Parameters
        ----------
        function
            Uses the connection.
        on_progress
            Called now and then with the part of the query that is done, 0 to 1, where DuckDB can tell.

        Raises
        ------
        KeyboardInterrupt
            When the query has been stopped after Ctrl-C.
        """
        running = self._pool.submit(function)
        try:
            return self._await(running, on_progress=on_progress)
        except KeyboardInterrupt:
            self._end(running)
            raise

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()

    def _await(self, running: Future[_Result], *, on_progress: Callable[[float], None] | None) -> _Result:
        while True:
            try:
                return running.result(_POLL_S if on_progress is not None else None)
            except NotYet:
                if running.done():
                    raise
                self._tell(on_progress)

    def _end(self, running: Future[_Result]) -> None:
        """Stop a call, and wait until it is: a query that has not begun yet takes no notice the first time."""
        while not running.done():
            self._connection.interrupt()
            wait([running], _POLL_S)

    def _tell(self, on_progress: Callable[[float], None] | None) -> None:
        percent = self._connection.query_progress()
        if on_progress is not None and percent >= 0:
            on_progress(min(percent, 100.0) / 100)
