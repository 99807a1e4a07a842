"""How the columns of a table are to be understood: which is time, which names what is counted, which are counters."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dict
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from profiler.units import BITS_PER_BYTE, IB_WORD_BYTES

__all__ = [
    "COUNTER_UNITS",
    "TIME_UNITS",
    "ColumnName",
    "CounterColumn",
    "Mapping",
    "TimeColumn",
    "plain_mapping",
]

TIME_UNITS: Final[dict[str, int]] = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
COUNTER_UNITS: Final[dict[str, Fraction]] = {
    "bytes": Fraction(1),
    "kB": Fraction(1_000),
    "MB": Fraction(1_000_000),
    "KiB": Fraction(1 << 10),
    "MiB": Fraction(1 << 20),
    "words4": Fraction(IB_WORD_BYTES),
    "bits": Fraction(1, BITS_PER_BYTE),
    "kbit": Fraction(1_000, BITS_PER_BYTE),
    "Mbit": Fraction(1_000_000, BITS_PER_BYTE),
    "Gbit": Fraction(1_000_000_000, BITS_PER_BYTE),
}
"""Bytes in one unit of a counter's column; of a gauge's, both are per second."""


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column whose cells hold a name."""

    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumn:
    """Where the time of a row stands: a number of ``unit``, or text in ``format`` (``iso``, or as for strptime)."""

    column: str
    unit: str = "ns"
    format: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterColumn:
    """A column of bytes, or a pattern of columns; names override those of the mapping."""

    column: str
    direction: Literal["receive", "transmit"]
    kind: Literal["counter", "delta", "gauge"] = "counter"
    unit: str = "bytes"
    width_bits: int = 64
    layer: str = "netdev"
    names: Dict[str, str | ColumnName]

    @property
    def scale(self) -> Fraction:
        """Bytes in one unit of the column."""
        return COUNTER_UNITS[self.unit]

    def match(self, column: str) -> dict[str, str] | None:
        """Return the names that a column's own name gives, None where it is another column."""
        parts = re.split(r"\{(host|device|port)\}", self.column)
        pattern = "".join(f"(?P<{part}>.+)" if i % 2 else re.escape(part) for i, part in enumerate(parts))
        found = re.fullmatch(pattern, column)
        return None if found is None else found.groupdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """How the columns of a table are to be understood."""

    name: str
    time: TimeColumn
    counters: tuple[CounterColumn, ...]
    names: Dict[str, str | ColumnName]
    delimiter: str | None = None

    @property
    def names_host(self) -> bool:
        """Whether it tells the host of every counter."""
        return "host" in self.names or all("host" in c.names or "{host}" in c.column for c in self.counters)

    def to_dict(self) -> dict[str, Any]:
        """Return all that changes what is read, for the key of a recording."""
        return asdict(self)


def plain_mapping(time_column: str) -> Mapping:
    """Return the mapping of a table whose first column is ``t_ns`` or ``t_s``, the others ``<device>.rx_bytes``."""
    return Mapping(
        name="plain",
        time=TimeColumn(column=time_column, unit=time_column.removeprefix("t_")),
        counters=(
            CounterColumn(column="{device}.rx_bytes", direction="receive", names={}),
            CounterColumn(column="{device}.tx_bytes", direction="transmit", names={}),
        ),
        names={},
    )
