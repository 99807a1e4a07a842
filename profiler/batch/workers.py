"""`Workers`: processes that call functions, no more of them than there is work for."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeVar

from profiler.batch.worker import Worker
from profiler.errors import OffbeatError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Workers"]

_Answer = TypeVar("_Answer")


class Workers:
    """Up to ``n_most`` workers, each started when a call waits and none is idle; a thread each listens to it.

    As a context manager it leaves no process behind.
    """

    def __init__(self, n_most: int) -> None:
        self._threads = ThreadPoolExecutor(n_most)
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self._started: list[Worker] = []
        self._starting = Lock()
        self._has_ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._starting:
            self._has_ended = True
        for worker in self._started:
            worker.kill()
        self._threads.shutdown(wait=True)
        for worker in self._started:
            worker.close()

    def submit(self, function: Callable[..., _Answer], *arguments: object) -> Future[_Answer]:
        """Have a worker call a function of a module; return what its answer, or that the worker died, will be in."""
        return self._threads.submit(self._call, function, *arguments)

    def _call(self, function: Callable[..., _Answer], *arguments: object) -> _Answer:
        try:
            worker = self._idle.get_nowait()
        except Empty:
            worker = self._start()
        answer = worker.call(function, *arguments)
        self._idle.put(worker)  # One that died is not given another call.
        return answer

    def _start(self) -> Worker:
        with self._starting:
            if self._has_ended:
                raise OffbeatError("ended before a worker had started")
            worker = Worker()
            self._started.append(worker)
        return worker
