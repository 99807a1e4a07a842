"""Dumps of any size for benchmarks, streamed to a file: tables of counters, and a trace of PyTorch's profiler."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

from tests.data import shared

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["DUMPS", "write_dump"]

SEED: Final = 5
BLOCK_ROWS: Final = 20_000
T0_NS: Final = 1_700_000_000 * 10**9
MS: Final = 10**6
N_COUNTERS: Final = 8
"""Of four devices, both directions."""
COUNT_DIGITS: Final = 15
N_PORTS: Final = 64
"""Of the switch whose ports the dump lists in turn."""
PORT_EVERY_MS: Final = 1_000
TRACE: Final = "kineto/hta_nccl_data.json.gz"
US: Final = 1e-6


def write_dump(name: str, path: Path, *, n_bytes: int) -> int:
    """Write a dump of at least a size, and return how many readings or collectives stand in it."""
    n_written = n_found = 0
    with path.open("wb") as file:
        for block, n_in_block in DUMPS[name](np.random.default_rng(SEED)):
            if n_found and n_written >= n_bytes:
                break
            n_written += file.write(block)
            n_found += n_in_block
        file.write(ENDS.get(name, b""))
    return n_found


def _counter_table(rng: np.random.Generator) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of a table as every command takes it: a reading of each counter a millisecond."""
    names = (f"mlx5_{i // 2}.{('rx', 'tx')[i % 2]}_bytes" for i in range(N_COUNTERS))
    yield f"t_ns,{','.join(names)}\n".encode(), 0
    count = np.full(N_COUNTERS, 10 ** (COUNT_DIGITS - 1))
    t_ns = T0_NS
    while True:
        counts = count + np.cumsum(rng.integers(0, 6_250_000, (BLOCK_ROWS, N_COUNTERS)), axis=0)
        times = t_ns + np.arange(BLOCK_ROWS, dtype=np.int64) * MS
        yield _lines(_digits(times, 19), *(_digits(counts[:, i], COUNT_DIGITS) for i in range(N_COUNTERS))), counts.size
        count, t_ns = counts[-1], t_ns + BLOCK_ROWS * MS


def _switch_table(rng: np.random.Generator) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of a dump of switch ports with the columns of Zhejiang Lab's: a row a port and second."""
    yield b"SaveTime,SaveTimeUTC,DeviceName,PortName,InPkts,InOctets,OutPkts,OutOctets,InRatio,OutRatio\n", 0
    i_row = np.arange(BLOCK_ROWS - BLOCK_ROWS % N_PORTS)
    time_ms = T0_NS // MS
    while True:
        times_ms = time_ms + i_row // N_PORTS * PORT_EVERY_MS
        amounts = rng.integers(10**8, 10**9, (4, i_row.size))
        yield (
            _lines(
                _constant("2024/05/24 星期五 00:00:00.939", i_row.size),
                _digits(times_ms, 13),
                _constant("NH-DC-NM129-D03-ROCE-Leaf-5.GPU.S9825", i_row.size),
                np.hstack(
                    [
                        _constant("TwoHundredGigE1/0/", i_row.size),
                        _digits(i_row % N_PORTS + 10, 2),
                        _constant(":1", i_row.size),
                    ]
                ),
                *(_digits(amount, 9) for amount in amounts),
                _constant("0,0", i_row.size),
            ),
            2 * i_row.size,
        )
        time_ms = int(times_ms[-1]) + PORT_EVERY_MS


def _trace(_rng: np.random.Generator) -> Iterator[tuple[bytes, int]]:
    """Yield the events of a real trace over and over, each time later; the file's end is `ENDS`."""
    with gzip.open(shared(TRACE)) as file:
        document: dict[str, Any] = orjson.loads(file.read())
    events = document.pop("traceEvents")
    yield orjson.dumps(document)[:-1] + b',"traceEvents":[{"ph":"M","name":"first"}', 0
    starts_us = [event["ts"] for event in events if event.get("ph") == "X"]
    span_us = max(starts_us) - min(starts_us) + 1 / US
    n_collectives = sum(
        event.get("cat", "").lower() == "kernel" and event["name"].startswith("nccl") for event in events
    )
    shift_us = 0.0
    while True:
        later = ({**event, "ts": event["ts"] + shift_us} if "ts" in event else event for event in events)
        yield b",\n" + b",\n".join(map(orjson.dumps, later)), n_collectives
        shift_us += span_us


DUMPS: Final[dict[str, Callable[[np.random.Generator], Iterator[tuple[bytes, int]]]]] = {
    "counter table": _counter_table,
    "switch table": _switch_table,
    "profiler trace": _trace,
}
"""Each yields pieces of a file for ever, and how many readings or collectives stand in each."""
ENDS: Final = {"profiler trace": b"]}\n"}


def _digits(values: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Return whole numbers of a width as text, shape (n_rows, width)."""
    text = np.empty((values.size, width), np.uint8)
    left = values.astype(np.int64)
    for place in reversed(range(width)):
        left, digit = np.divmod(left, 10)
        text[:, place] = digit + ord("0")
    return text


def _constant(text: str, n_rows: int) -> NDArray[np.uint8]:
    return np.tile(np.frombuffer(text.encode(), np.uint8), (n_rows, 1))


def _lines(*columns: NDArray[np.uint8]) -> bytes:
    """Return columns of text as lines of a table."""
    comma = np.full((len(columns[0]), 1), ord(","), np.uint8)
    parts = [part for column in columns for part in (column, comma)]
    return np.hstack([*parts[:-1], np.full_like(comma, ord("\n"))]).tobytes()
