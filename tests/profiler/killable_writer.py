"""A process to kill: for each line ``<lake> <name>`` on stdin it forks a child that writes until it dies.

The child writes ``value = 0, 1, 2, ...`` to three series, in chunks of all sizes, through a small buffer, so that small
files, merges and full buffers all come by. It says on stdout its pid, then after each seal how many values are safe.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from profiler.store import Lake, buffer
from tests.profiler.recordings import T0_NS, port, recording, write

N_SERIES = 3
"""Series that a child writes to."""


def write_until_killed(lake: Lake, name: str) -> None:
    """Write, seal, and say so, for ever."""
    pace = random.Random(name)  # noqa: S311 - no secret
    n_values = 0
    with lake.writer(recording(name), seal_every_s=0.0) as writer:
        ids = [writer.add_series(port(f"{name}-{i}")) for i in range(N_SERIES)]
        while True:
            values = np.arange(n_values, n_values + pace.randrange(1, 600))
            for series_id in ids:
                writer.write_samples(series_id, T0_NS + values, values)
            n_values += len(values)
            writer.seal()
            sys.stdout.write(f"{n_values}\n")
            sys.stdout.flush()


def main() -> None:
    """Fork a writer a line."""
    vars(buffer)["BUFFER_ROWS"] = 5_000
    with TemporaryDirectory() as folder:
        write(Lake.open(folder, create=True), "imports what children need", [1])
    for line in sys.stdin:
        path, name = line.split()
        child = os.fork()
        if child == 0:
            write_until_killed(Lake.open(Path(path)), name)
        sys.stdout.write(f"pid {child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)
        sys.stdout.write("dead\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
