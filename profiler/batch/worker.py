"""`Worker`: a process that calls functions, as the process that started it sees it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar, cast

from profiler.errors import OffbeatError
from profiler.threads import ONE_THREAD

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Worker"]

COMMAND: Final = ("-P", "-m", "profiler.batch.process")
"""With -P the folder that the caller happens to be in is not searched for modules."""
PACKAGES: Final = Path(__file__).parents[2]

_Answer = TypeVar("_Answer")


class Worker:
    """A process of its own, started afresh, that ends with this one.

    Unlike those of `multiprocessing` it copies no threads or locks of this process and does not import its main module,
    so that scripts need no guard. Ctrl-C does not reach it; its standard input ends with the caller, and it then ends
    with its call.
    """

    def __init__(self) -> None:
        path = os.pathsep.join([str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**ONE_THREAD, **os.environ, "PYTHONPATH": path},
            process_group=0,
        )
        self._calls = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def call(self, function: Callable[..., _Answer], *arguments: object) -> _Answer:
        """Return what a function of a module answers in the process.

        Raises
        ------
        OffbeatError
            If the process dies over it, as it does if the function raises.
        """
        try:
            pickle.dump((function, arguments), self._calls, protocol=pickle.HIGHEST_PROTOCOL)
            self._calls.flush()
            answer: _Answer = pickle.load(self._answers)  # noqa: S301 - from our own process
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise OffbeatError(
                f"worker process {self.pid} died (exit code {self._process.wait()}); if memory is short, use fewer "
                "workers"
            ) from error
        return answer

    def kill(self) -> None:
        """End the process, whatever it is at; who waits for its answer then learns that it died."""
        self._process.kill()

    def close(self) -> None:
        """Let go of the process once nobody waits for it."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(BrokenPipeError):
            self._calls.close()
