"""`Worker`: a process that profiles chunks of series, as the process that started it sees it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from profiler.batch.outcome import Unfit
from profiler.errors import OffbeatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiler.phases import TrafficProfile
    from profiler.signals import RateSeries

__all__ = ["Worker"]

COMMAND: Final = ("-P", "-m", "profiler.batch.process")
"""With -P the folder that the caller happens to be in is not searched for modules."""
PACKAGES: Final = Path(__file__).parents[2]


class Worker:
    """A process of its own, started afresh, that ends with this one.

    Unlike those of `multiprocessing` it copies no threads or locks of this process and does not import its main module,
    so that scripts need no guard. Ctrl-C does not reach it; its standard input ends with the caller, and it then ends
    with its chunk.
    """

    def __init__(self) -> None:
        path = os.pathsep.join([str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            process_group=0,
        )
        self._chunks = cast("IO[bytes]", self._process.stdin)
        self._profiles = cast("IO[bytes]", self._process.stdout)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def profile(self, chunk: Sequence[RateSeries | Unfit]) -> list[TrafficProfile]:
        """Return the profiles of some series, in their order.

        Raises
        ------
        OffbeatError
            If the process dies over it.
        """
        try:
            pickle.dump(chunk, self._chunks, protocol=pickle.HIGHEST_PROTOCOL)
            self._chunks.flush()
            profiles: list[TrafficProfile] = pickle.load(self._profiles)  # noqa: S301 - from our own process
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise OffbeatError(
                f"profile_many: worker process {self.pid} died (exit code {self._process.wait()}) over {len(chunk)} "
                f"series, {_named(chunk[0])} the first; if memory is short, use fewer workers"
            ) from error
        return profiles

    def kill(self) -> None:
        """End the process, whatever it is at; who waits for its profiles then learns that it died."""
        self._process.kill()

    def close(self) -> None:
        """Let go of the process once nobody waits for it."""
        self._process.kill()
        self._process.wait()
        self._profiles.close()
        with suppress(BrokenPipeError):
            self._chunks.close()


def _named(series: RateSeries | Unfit) -> str:
    return f"a {series.kind}" if isinstance(series, Unfit) else f"{series.host}/{series.device} {series.direction}"
