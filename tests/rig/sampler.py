"""Reads the byte counters of a switch's ports every millisecond, into the delimited table of DESIGN section 6.

Runs inside the switch's namespace, where ``ip netns exec`` mounts that namespace's ``/sys``:
``ip netns exec NS python -m tests.rig.sampler PARENT_PID OUT.csv.gz SECONDS INTERVAL_NS PORT …``.
"""

from __future__ import annotations

import gc
import gzip
import os
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.rig.kernel import die_with_parent, run_first

__all__ = ["main", "read_counters", "write_table"]

_COUNTERS: Final = ("rx_bytes", "tx_bytes")
_WIDEST: Final = 24
"""Bytes that hold any 64-bit counter's text."""


def main(arguments: Sequence[str]) -> None:
    """Sample for a time, write the table, and print the times of its first and last row."""
    parent_pid, out, seconds, interval_ns, *ports = arguments
    die_with_parent(int(parent_pid))
    run_first()
    columns = [f"{port}.{counter}" for port in ports for counter in _COUNTERS]
    paths = [Path("/sys/class/net", port, "statistics", counter) for port in ports for counter in _COUNTERS]
    rows = read_counters(paths, n_rows=round(float(seconds) * 1e9) // int(interval_ns), interval_ns=int(interval_ns))
    write_table(Path(out), columns=columns, rows=rows)
    sys.stdout.write(f"{rows[0]} {rows[-len(columns) - 1]}\n")


def read_counters(paths: Sequence[Path], *, n_rows: int, interval_ns: int) -> array[int]:
    """Read counter files on a fixed grid of the wall clock; a late wake-up skips the ticks it missed.

    Returns
    -------
    array of int
        Row after row: the time in ns, then a value for each path. Fewer than ``n_rows`` rows if ticks were missed.
    """
    descriptors = [os.open(path, os.O_RDONLY) for path in paths]
    rows: array[int] = array("q")
    gc.disable()
    start_ns = time.time_ns() // interval_ns * interval_ns
    end_ns = start_ns + n_rows * interval_ns
    now_ns = start_ns
    while (tick_ns := (now_ns // interval_ns + 1) * interval_ns) <= end_ns:
        time.sleep(max(0, tick_ns - time.time_ns()) / 1e9)
        now_ns = time.time_ns()
        rows.append(now_ns)
        rows.extend([int(os.pread(descriptor, _WIDEST, 0)) for descriptor in descriptors])
    gc.enable()
    for descriptor in descriptors:
        os.close(descriptor)
    return rows


def write_table(path: Path, *, columns: Sequence[str], rows: array[int]) -> None:
    """Write rows as a gzipped table; the name appears only once the file is whole."""
    width = len(columns) + 1
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as raw, gzip.GzipFile(fileobj=raw, filename="", mode="wb", mtime=0) as table:
        table.write(f"t_ns,{','.join(columns)}\n".encode())
        for i in range(0, len(rows), width):
            table.write((",".join(map(str, rows[i : i + width])) + "\n").encode())
    partial.replace(path)


if __name__ == "__main__":
    main(sys.argv[1:])
