"""Importer of what ``perfquery`` prints: counters of InfiniBand ports, one instant or many.

``perfquery -x`` asks for the extended counters, 64 bits wide; without, the data counters have 32 bits and stick at
their maximum. The data counters count words of 4 bytes [1]_.

References
----------
.. [1] InfiniBand Architecture Specification, vol. 1, 16.1.3.5 (PortCounters) and 16.1.4.11 (PortCountersExtended).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from profiler.errors import BadInput
from profiler.importers.coverage import Coverage
from profiler.importers.feed import Readings
from profiler.importers.importer import Importer, Options
from profiler.importers.instants import Instants, host_of, time_in
from profiler.importers.lines import lines_of
from profiler.store.series import Series
from profiler.units import IB_WORD_BYTES

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["PERFQUERY"]

_BLOCK: Final = re.compile(rb"# Port (extended )?counters: Lid (\d+) port (\d+)", re.IGNORECASE)
_FIELD: Final = re.compile(rb"(\w+):\.*(\S*)$")
_COUNTED: Final[dict[bytes, tuple[Literal["bytes", "packets"], Literal["transmit", "receive"]]]] = {
    b"PortXmitData": ("bytes", "transmit"),
    b"PortRcvData": ("bytes", "receive"),
    b"PortXmitPkts": ("packets", "transmit"),
    b"PortRcvPkts": ("packets", "receive"),
    b"XmtData": ("bytes", "transmit"),
    b"RcvData": ("bytes", "receive"),
    b"XmtBytes": ("bytes", "transmit"),
    b"RcvBytes": ("bytes", "receive"),
    b"XmtPkts": ("packets", "transmit"),
    b"RcvPkts": ("packets", "receive"),
}
"""Names of infiniband-diags since 1.5, and those before; what older ones called bytes are words too."""
_EXTENDED_BITS: Final = 64
_PLAIN_BITS: Final = 32
_LARGEST: Final = 1 << 61
"""In words; bytes are stored as int64."""


@dataclass(slots=True)
class _Block:
    """Counters of one port; its time is None where none stands before it."""

    lid: str
    port: str
    is_extended: bool
    t_s: float | None
    values: dict[bytes, int] = field(default_factory=dict)


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return any(_BLOCK.match(line) for line in head.splitlines())


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    readings, instants = Readings(sink), Instants(source, options)
    host = host_of(source, options)
    for block in _blocks(source, coverage):
        coverage.n_rows += 1
        t_ns = instants.t_ns(block.t_s, of=f"port {block.port} of lid {block.lid}")
        coverage.saw_at(t_ns)
        for name, value in block.values.items():
            series = _series(block, name, host=host, source=source.name)
            readings.add(series, t_ns=t_ns, value=value * int(series.raw_scale))
    readings.close(coverage)
    instants.tell(coverage)
    if not coverage.n_samples:
        nothing = f"{source.name}: no data counter of a port; give the output of perfquery -x"
        raise BadInput("\n".join(coverage.problems) or nothing)
    return coverage


def _blocks(source: Input, coverage: Coverage) -> Iterator[_Block]:
    """Yield each port's counters; lines that are neither a counter nor a time are passed over."""
    t_s: float | None = None
    block: _Block | None = None
    wrong: list[str] = []
    for i_line, line in enumerate(lines_of(source, coverage.problems), start=1):
        begun, found = _BLOCK.match(line), _FIELD.match(line)
        if begun:
            if block is not None:
                yield block
            block = _Block(begun[2].decode(), begun[3].decode(), bool(begun[1]), t_s)
        elif block is None or found is None:
            t_s = _time(line) or t_s
        elif found[1] in _COUNTED:
            value = _value(found[2])
            if value is None:
                wrong.append(f"line {i_line}: {line[:60]!r}")
            else:
                block.values[found[1]] = value
    if block is not None:
        yield block
    if wrong:
        coverage.problems.append(
            f"{source.name}: {wrong[0]}: expected a whole number below 2^61; lines like it ({len(wrong)}) were left "
            "out; run perfquery again"
        )


def _time(line: bytes) -> float | None:
    """Return the time on a line that begins with one."""
    text = line.decode("ascii", errors="replace").strip()
    return time_in(text) if text[:1].isdigit() else None


def _value(text: bytes) -> int | None:
    try:
        value = int(text, 0)
    except ValueError:
        return None
    return value if 0 <= value < _LARGEST else None


def _series(block: _Block, name: bytes, *, host: str, source: str) -> Series:
    metric, direction = _COUNTED[name]
    return Series(
        host=host,
        device=f"lid{block.lid}",
        port=block.port,
        direction=direction,
        metric=metric,
        unit=metric,
        layer="wire",
        raw_name=name.decode(),
        raw_scale=float(IB_WORD_BYTES if metric == "bytes" else 1),
        width_bits=_EXTENDED_BITS if block.is_extended else _PLAIN_BITS,
        source=source,
    )


def _parameters(options: Options) -> dict[str, Any]:
    return {"host": options.host, "time_from": options.time_from}


PERFQUERY: Final = Importer(
    name="perfquery",
    version=1,
    reads="output of perfquery",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
