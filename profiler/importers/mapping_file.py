"""Column mappings in TOML: read, and every key checked.

::

    host = "leaf-5"                        # or { column = "DeviceName" }
    device = { column = "PortName" }       # may be left out where a counter's column has {device}
    delimiter = ";"                        # may be left out: found in the header

    [time]
    column = "SaveTimeUTC"
    unit = "ms"                            # ns, us, ms, s; or, for text:
    # format = "iso"                       # or as for strptime: "%Y/%m/%d %H:%M:%S.%f"
    # timezone = "Asia/Shanghai"           # of times that name none; else UTC

    [[counter]]
    column = "InOctets"                    # or a pattern, such as "{device}.rx_bytes", for many columns
    direction = "in"                       # in, rx, receive; out, tx, transmit: seen from the device
    kind = "delta"                         # counter: cumulative; delta: since the row before; gauge: a rate per second
    unit = "bytes"                         # bytes, kB, MB, KiB, MiB, words4 (InfiniBand), bits, kbit, Mbit, Gbit
    width_bits = 64                        # width at which a raw counter wraps
    layer = "wire"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from profiler.errors import BadInput, UsageError
from profiler.importers.mapping import COUNTER_UNITS, TIME_UNITS, ColumnName, CounterColumn, Mapping, TimeColumn

__all__ = ["read_mapping"]

SHIPPED: Final = Path(__file__).with_name("mappings")
"""Folder of the mappings that are known by name."""

_DIRECTIONS: Final[dict[str, Literal["receive", "transmit"]]] = {
    "in": "receive",
    "rx": "receive",
    "receive": "receive",
    "out": "transmit",
    "tx": "transmit",
    "transmit": "transmit",
}
_LAYERS: Final = ("rdma_vport", "wire", "netdev", "socket", "capture", "collective")
_KINDS: Final = ("counter", "delta", "gauge")
_NAMES: Final = ("host", "device", "port")


def read_mapping(name: str | Path) -> Mapping:
    """Read a mapping from a TOML file, or one that is shipped, by its name.

    Raises
    ------
    UsageError
        If there is no such file and no shipped mapping of that name.
    BadInput
        If it is not a mapping: the key at fault, its value and what was expected.
    """
    path = Path(name)
    shipped = SHIPPED / f"{name}.toml"
    if not path.is_file() and path.name == str(name) and shipped.is_file():
        path = shipped
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.toml")))
        raise UsageError(f"mapping {str(name)!r}: no such file; give a TOML file or one of: {known}")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not TOML ({error}); see profiler/importers/mappings for an example") from error
    return _mapping(_Section(document, where=str(path)), name=path.stem)


class _Section:
    """A TOML table whose keys are taken one by one, so that what is left over is known to be a mistake."""

    def __init__(self, values: Any, *, where: str) -> None:  # noqa: ANN401 - whatever the TOML has
        if not isinstance(values, dict):
            raise BadInput(f"{where}: expected a table of keys, found {values!r}")
        self._values = dict(values)
        self._known: list[str] = []
        self.where = where

    def has(self, key: str) -> bool:
        self._known.append(key)
        return key in self._values

    def take(self, key: str, kind: type | tuple[type, ...], *, default: Any = None) -> Any:  # noqa: ANN401
        self._known.append(key)
        if key not in self._values and default is not None:
            return default
        value = self._values.pop(key, None)
        if not isinstance(value, kind) or isinstance(value, bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            expected = " or ".join(
                {"str": "text", "dict": "table", "list": "tables"}.get(k.__name__, k.__name__) for k in kinds
            )
            found = "nothing" if value is None else repr(value)
            raise BadInput(f"{self.where}: {key}: expected {expected}, found {found}")
        return value

    def choose(self, key: str, choices: Iterable[str], *, default: str | None = None) -> str:
        value: str = self.take(key, str, default=default)
        if value not in choices:
            raise BadInput(f"{self.where}: {key} = {value!r}: expected one of {', '.join(choices)}")
        return value

    def done(self) -> None:
        if self._values:
            known = ", ".join(sorted(set(self._known)))
            raise BadInput(f"{self.where}: {next(iter(self._values))}: not a key that is known here; expected {known}")


def _mapping(section: _Section, *, name: str) -> Mapping:
    time = _time_column(_Section(section.take("time", dict), where=f"{section.where}: [time]"))
    names = _names(section)
    counters = tuple(
        _counter_column(_Section(values, where=f"{section.where}: [[counter]] {i}"))
        for i, values in enumerate(section.take("counter", list), start=1)
    )
    delimiter = section.take("delimiter", str) if section.has("delimiter") else None
    if delimiter is not None and len(delimiter) != 1:
        raise BadInput(f"{section.where}: delimiter = {delimiter!r}: expected one character")
    section.done()
    for i, counter in enumerate(counters, start=1):
        if "device" not in names and "device" not in counter.names and "{device}" not in counter.column:
            raise BadInput(f"{section.where}: [[counter]] {i}: no device; give device, or a pattern with {{device}}")
    return Mapping(name=name, time=time, counters=counters, names=names, delimiter=delimiter)


def _time_column(section: _Section) -> TimeColumn:
    column = section.take("column", str)
    text = section.take("format", str) if section.has("format") else None
    if text is not None and section.has("unit"):
        raise BadInput(f"{section.where}: unit and format: give one of them")
    unit = section.choose("unit", TIME_UNITS, default="ns" if text is not None else None)
    timezone = section.take("timezone", str, default="UTC")
    section.done()
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise BadInput(f"{section.where}: timezone = {timezone!r}: not a time zone; such as Asia/Shanghai") from error
    return TimeColumn(column=column, unit=unit, format=text, timezone=timezone)


def _counter_column(section: _Section) -> CounterColumn:
    counter = CounterColumn(
        column=section.take("column", str),
        direction=_DIRECTIONS[section.choose("direction", _DIRECTIONS)],
        kind=cast("Literal['counter', 'delta', 'gauge']", section.choose("kind", _KINDS, default="counter")),
        unit=section.choose("unit", COUNTER_UNITS, default="bytes"),
        width_bits=section.take("width_bits", int, default=64),
        layer=section.choose("layer", _LAYERS, default="netdev"),
        names=_names(section),
    )
    section.done()
    if not 1 <= counter.width_bits <= 64:
        raise BadInput(f"{section.where}: width_bits = {counter.width_bits}: expected 1 to 64")
    return counter


def _names(section: _Section) -> dict[str, str | ColumnName]:
    names: dict[str, str | ColumnName] = {}
    for key in _NAMES:
        if section.has(key):
            value = section.take(key, (str, dict))
            names[key] = (
                value if isinstance(value, str) else _column_name(_Section(value, where=f"{section.where}: {key}"))
            )
    return names


def _column_name(section: _Section) -> ColumnName:
    column = section.take("column", str)
    section.done()
    return ColumnName(column)
