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
from profiler.importers.instants import Instants, host_of
from profiler.importers.lines import Lines
from profiler.importers.timestamps import TimeLines
from profiler.store.series import Series
from profiler.units import IB_WORD_BYTES

if TYPE_CHECKING:
    from profiler.importers.inputs import Input
    from profiler.importers.sink import Sink

__all__ = ["PERFQUERY"]

_BLOCK: Final = re.compile(
    rb"# Port (?P<extended>extended )?counters: (?:Lid (?P<lid>\d+).*?|DR path .*?(?P<path>[\d,]+)) port (?P<port>\d+)",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(rb"# \w.* counters: ")
"""A block of other counters, such as those of single service levels."""
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
_SELECTS: Final = (b"PortSelect", b"CounterSelect", b"CounterSelect2")
"""Fields that count nothing."""
_ALL_PORTS: Final = "255"
_EXTENDED_BITS: Final = 64
_PLAIN_BITS: Final = 32
_LARGEST: Final = 1 << 61
"""In words; bytes are stored as int64."""


@dataclass(slots=True)
class _Block:
    """Counters of one port; its time is None where none stands before it."""

    device: str
    port: str
    is_extended: bool
    t_s: float | None
    values: dict[bytes, int] = field(default_factory=dict)

    @classmethod
    def begun(cls, line: re.Match[bytes], t_s: float | None) -> _Block:
        """Return the block that a line begins."""
        device = f"lid{line['lid'].decode()}" if line["lid"] else f"path{line['path'].decode()}"
        return cls(device, line["port"].decode(), bool(line["extended"]), t_s)


def _recognises(source: Input, head: bytes, options: Options) -> bool:  # noqa: ARG001 - as every importer
    return any(_BLOCK.match(line) for line in head.splitlines())


def _read(source: Input, sink: Sink, options: Options) -> Coverage:
    coverage = Coverage()
    readings, instants = Readings(sink), Instants(source, options)
    host = host_of(source, options)
    lines = Lines(source, coverage.problems)
    kinds: dict[tuple[str, str], bool] = {}
    for block in _blocks(lines, source, coverage):
        coverage.n_rows += 1
        if kinds.setdefault((block.device, block.port), block.is_extended) != block.is_extended:
            coverage.leave_out("another kind of counters of the port", len(block.values))
            continue
        t_ns = instants.t_ns(block.t_s, of=f"port {block.port} of {block.device}")
        coverage.saw_at(t_ns)
        for name, value in block.values.items():
            series = _series(block, name, host=host, source=source.name)
            readings.add(series, t_ns=t_ns, value=value * int(series.raw_scale))
    readings.close(coverage, cut_in=source.name if lines.is_cut else "")
    instants.tell(coverage)
    _tell(coverage, kinds)
    if not coverage.n_samples:
        nothing = f"{source.name}: no data counter of a port; give the output of perfquery -x"
        raise BadInput("\n".join(coverage.problems) or nothing)
    return coverage


def _tell(coverage: Coverage, kinds: dict[tuple[str, str], bool]) -> None:
    """Say what was passed over, and which ports are sums."""
    if n_others := coverage.left_out["no traffic"]:
        coverage.skip(f"counters ({n_others})", "no traffic of a whole port, such as errors and waits")
    if n_others := coverage.left_out["another kind of counters of the port"]:
        why = "extended and plain counters of one port: the first kind that was met is taken; run perfquery -x alone"
        coverage.skip(f"counters ({n_others})", why)
    sums = sorted(device for device, port in kinds if port == _ALL_PORTS)
    if sums:
        why = "taken as a port of its own, but it is the sum of all ports of its node: never add it to them"
        coverage.skip(f"port {_ALL_PORTS} of {', '.join(sums)}", why)


def _blocks(lines: Lines, source: Input, coverage: Coverage) -> Iterator[_Block]:
    """Yield each port's counters; lines that are neither a counter nor a time are passed over."""
    times = TimeLines()
    block: _Block | None = None
    wrong: list[str] = []
    n_strange = 0
    for i_line, line in enumerate(lines, start=1):
        begun, found = _BLOCK.match(line), _FIELD.match(line)
        if begun or _OTHER.match(line):
            if block is not None:
                yield block
            block = _Block.begun(begun, times.t_s) if begun else None
        elif block is None or found is None:
            n_strange += not times.take(line.decode("ascii", errors="replace")) and bool(line.strip())
        elif found[1] not in _SELECTS:
            _take_field(found, block, coverage, wrong=wrong, place=f"line {i_line}: {line[:60]!r}")
    if block is not None:
        yield block
    times.tell(coverage)
    if n_strange:
        coverage.skip(f"lines ({n_strange})", "neither a counter of a port nor a time")
    if wrong:
        coverage.problems.append(
            f"{source.name}: {wrong[0]}: expected a whole number below 2^61; lines like it ({len(wrong)}) were left "
            "out; run perfquery again"
        )


def _take_field(found: re.Match[bytes], block: _Block, coverage: Coverage, *, wrong: list[str], place: str) -> None:
    coverage.n_read += 1
    if found[1] not in _COUNTED:
        coverage.leave_out("no traffic", 1)
        return
    value = _value(found[2])
    if value is None:
        coverage.leave_out("no number", 1)
        wrong.append(place)
    else:
        block.values[found[1]] = value


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
        device=block.device,
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
    version=3,
    reads="output of perfquery",
    recognises=_recognises,
    read=_read,
    parameters=_parameters,
    is_instant=True,
)
