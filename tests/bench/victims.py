"""Commands to be killed while they write a lake, and what is true of their readings whenever that happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from profiler.store import Lake, Recording, Series, recording_id
from profiler.units import NS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["VICTIMS", "Readings", "Victim"]

Readings = Mapping[int, "tuple[NDArray[np.int64], NDArray[np.int64]]"]
"""Times in ns and values of each series, by time."""

T0_NS: Final = 1_700_000_000 * NS_PER_S
MS: Final = 1_000_000
N_INPUTS: Final = 4
N_ROWS: Final = 3_000
N_DAYS: Final = 5
N_FILES: Final = 6
N_FILE_ROWS: Final = 400
N_SERIES: Final = 3
N_COUNTERS: Final = 8
"""Of the two ports that are recorded."""
TICK_S: Final = 0.0005
"""How often the counters that are recorded move on."""
SLACK_NS: Final = 1 * MS
"""The recorder tells wall time by one anchor; the clocks are slewed alike, so they differ by little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """A command that writes a lake.

    Parameters
    ----------
    arguments
        Of ``offbeat``, for a folder of inputs and a lake.
    prepare
        Makes the inputs, and the lake if there has to be one.
    faults
        What is wrong with readings of a lake that the command may still be writing.
    is_done
        Whether they are all that it was to write.
    world
        What goes on around the command.
    """

    arguments: Callable[[Path, Path], list[str]]
    prepare: Callable[[Path, Path], None]
    faults: Callable[[Readings], list[str]]
    is_done: Callable[[Readings], bool]
    world: Callable[[Path], AbstractContextManager[None]] = lambda _folder: nullcontext()


# Ingest: tables, each with series of its own.


@cache
def _table_values(i_input: int) -> NDArray[np.int64]:
    """Return the readings of an input's two counters, shape (2, n_rows)."""
    steps = np.random.default_rng(i_input).integers(0, 10**6, (2, N_ROWS))
    return np.cumsum(steps, axis=1)


def _table_series(i_input: int) -> list[int]:
    directions = ("receive", "transmit")
    return [
        Series(host=f"h{i_input}", device="eth0", direction=direction, layer="netdev").series_id  # type: ignore[arg-type]
        for direction in directions
    ]


def _write_tables(folder: Path, lake: Path) -> None:  # noqa: ARG001 - the command makes the lake
    for i_input in range(N_INPUTS):
        values = _table_values(i_input)
        rows = [f"{T0_NS + i * MS},{values[0, i]},{values[1, i]}\n" for i in range(N_ROWS)]
        (folder / f"h{i_input}.csv").write_text("t_ns,eth0.rx_bytes,eth0.tx_bytes\n" + "".join(rows), encoding="ascii")


def _tables_faults(readings: Readings) -> list[str]:
    truth = _tables_truth()
    faults = [f"series {key}: not of these inputs" for key in readings if key not in truth]
    for key, (t_ns, value) in readings.items():
        if key in truth:
            expected = truth[key][: len(t_ns)]
            if not (
                np.array_equal(t_ns, T0_NS + np.arange(len(t_ns)) * MS)
                and np.array_equal(value[: len(expected)], expected)
            ):
                faults.append(f"series {key}: {len(t_ns)} readings are not the first ones of the input")
    return faults


@cache
def _tables_truth() -> dict[int, NDArray[np.int64]]:
    return {
        key: values
        for i_input in range(N_INPUTS)
        for key, values in zip(_table_series(i_input), _table_values(i_input), strict=True)
    }


def _tables_done(readings: Readings) -> bool:
    return not _tables_faults(readings) and [len(t_ns) for t_ns, _ in readings.values()] == [N_ROWS] * 2 * N_INPUTS


# Record: counters that hold the time at which they were written.


def _write_tree(folder: Path, lake: Path) -> None:  # noqa: ARG001 - the command makes the lake
    for device in ("eth0", "eth1"):
        port = folder / "sys" / "class" / "net" / device
        (port / "statistics").mkdir(parents=True)
        for name, text in (("operstate", "up"), ("flags", "0x1003"), ("speed", "25000")):
            (port / name).write_text(f"{text}\n", encoding="ascii")
        for name in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
            (port / "statistics" / name).write_text(f"{time.time_ns():020d}\n", encoding="ascii")


@contextmanager
def _ticking(folder: Path) -> Iterator[None]:
    handles = [os.open(path, os.O_WRONLY) for path in sorted((folder / "sys").rglob("statistics/*"))]
    done = threading.Event()

    def tick() -> None:
        while not done.wait(TICK_S):
            for handle in handles:
                os.pwrite(handle, b"%020d\n" % time.time_ns(), 0)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        for handle in handles:
            os.close(handle)


def _clock_faults(readings: Readings) -> list[str]:
    faults = []
    for key, (t_ns, value) in readings.items():
        if np.any(np.diff(value) < 0) or np.any(value > t_ns + SLACK_NS) or np.any(value < t_ns - NS_PER_S):
            faults.append(f"series {key}: values that its counter did not have at the time")
    return faults


# Compaction: a lake of many small files, which holds the same before, meanwhile and after.


def _small_series() -> list[Series]:
    return [Series(host="h1", device=f"eth{i}", direction="transmit", layer="netdev") for i in range(N_SERIES)]


@cache
def _small_truth() -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    n_rows = N_FILES * N_FILE_ROWS
    t_ns = np.concatenate([T0_NS + i_day * 86_400 * NS_PER_S + np.arange(n_rows) * MS for i_day in range(N_DAYS)])
    return {series.series_id: (t_ns, t_ns // (i + 1)) for i, series in enumerate(_small_series())}


def _write_small_files(folder: Path, lake: Path) -> None:  # noqa: ARG001 - no input but the lake
    target = Lake.open(lake, create=True)
    truth = _small_truth()
    for start in range(0, N_DAYS * N_FILES * N_FILE_ROWS, N_FILE_ROWS):
        key = recording_id(str(start), parser="bench", parser_version=1)
        with target.writer(Recording(recording_id=key, source=str(start), format="bench")) as writer:
            for series in _small_series():
                t_ns, value = truth[writer.add_series(series)]
                part = slice(start, start + N_FILE_ROWS)
                writer.write_samples(series.series_id, t_ns[part], value[part])


def _small_faults(readings: Readings) -> list[str]:
    return [
        f"series {key}: not the readings that it had"
        for key, (t_ns, value) in _small_truth().items()
        if key not in readings
        or not (np.array_equal(readings[key][0], t_ns) and np.array_equal(readings[key][1], value))
    ]


VICTIMS: Final[dict[str, Victim]] = {
    "record": Victim(
        arguments=lambda folder, lake: [
            *("record", "--lake", str(lake), "--sys-root", str(folder / "sys"), "--interval", "1ms", "--for", "600ms"),
        ],
        prepare=_write_tree,
        faults=_clock_faults,
        is_done=lambda readings: len(readings) == N_COUNTERS,
        world=_ticking,
    ),
    "ingest": Victim(
        arguments=lambda folder, lake: [
            "ingest", *(str(folder / f"h{i}.csv") for i in range(N_INPUTS)), "--lake", str(lake),
        ],
        prepare=_write_tables,
        faults=_tables_faults,
        is_done=_tables_done,
    ),
    "compact": Victim(
        arguments=lambda _folder, lake: ["lake", str(lake), "--compact"],
        prepare=_write_small_files,
        faults=_small_faults,
        is_done=lambda readings: not _small_faults(readings),
    ),
}  # fmt: skip
"""What is killed."""
