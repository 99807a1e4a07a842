"""What a collector is: a table of counters, a way to find devices, and files kept open.

A collector reads the kernel and nothing else: it has no clock, and the root of ``/sys`` is an argument, so that a fake
tree serves as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from profiler.errors import NotHere, SourceBroken
from profiler.store.series import Series

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "AnyCounter",
    "Collector",
    "CounterSpec",
    "OpenCounter",
    "Probe",
    "ProbedCounter",
    "Source",
    "list_folders",
    "open_counters",
    "read_text",
]

_TEXT_BYTES: Final = 64
"""More than any counter's text has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSpec:
    """One counter of a collector.

    Parameters
    ----------
    file
        Kernel file, below the source's folder.
    metric, direction
        What it counts, seen from the device; the unit of a metric is its name.
    scale
        Canonical units in one raw unit.
    width_bits
        Width of the raw counter; None where the kernel's file has one or the other.
    help
        What the kernel's documentation says of it.
    """

    file: str
    metric: Literal["bytes", "packets"]
    direction: Literal["transmit", "receive"]
    scale: int = 1
    width_bits: int | None = 64
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One port of one device whose counters can be read.

    Parameters
    ----------
    folder
        Folder of the port; files of `CounterSpec` are below it.
    is_up
        Whether the kernel says that it can carry traffic.
    speed_bps
        Speed of the link, in bits/s; None where the kernel does not know.
    """

    collector: str
    device: str
    port: str = ""
    folder: Path
    is_up: bool
    speed_bps: float | None = None

    @property
    def name(self) -> str:
        """The name that people give it, such as ``mlx5_0:1``."""
        return f"{self.device}:{self.port}" if self.port else self.device


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """A kind of source: its counters, and how to find its devices below a root of ``/sys``.

    Of the counters with the same metric and direction, the first that can be read is used.
    """

    name: str
    layer: str
    counters: tuple[CounterSpec, ...]
    find: Callable[[Path], list[Source]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCounter:
    """A counter whose file is kept open: a read costs a third of opening, reading and closing."""

    source: Source
    spec: CounterSpec
    series: Series
    path: Path
    handle: int

    def read(self) -> int:
        """Return the raw value.

        Raises
        ------
        NotHere
            If the device does not count this ("N/A (no PMA)").
        SourceBroken
            If the kernel refuses, as it does once the device is gone, or gives no number.
        """
        try:
            text = os.pread(self.handle, _TEXT_BYTES, 0)
        except OSError as error:
            raise SourceBroken(f"{self.path}: {error.strerror}; is {self.source.name} still there?") from error
        try:
            return int(text)
        except ValueError:
            if text.startswith(b"N/A"):
                raise NotHere(f"{self.path}: {self.source.name} does not count this") from None
            raise SourceBroken(f"{self.path}: expected a whole number, found {text[:20]!r}") from None

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)


class Probe(Protocol):
    """Reads several counters by one question to the kernel."""

    def read(self) -> Sequence[int]:
        """Return the raw values, in the order of `counters`.

        Raises
        ------
        OSError, ValueError
            If the kernel does not answer, or not with numbers.
        """

    def counters(self) -> tuple[ProbedCounter, ...]:
        """Return what `read` returns the values of."""

    def close(self) -> None:
        """Let go of what is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedCounter:
    """One of the counters that a probe reads."""

    source: Source
    spec: CounterSpec
    series: Series
    probe: Probe
    i_value: int

    def read(self) -> int:
        """Return the raw value.

        Raises
        ------
        SourceBroken
            If the kernel does not tell it.
        """
        try:
            return self.probe.read()[self.i_value]
        except (OSError, ValueError) as error:
            raise SourceBroken(f"{self.source.name}: {error}; is it still there?") from error


AnyCounter = OpenCounter | ProbedCounter


def open_counters(source: Source, collector: Collector, *, host: str) -> tuple[list[OpenCounter], list[SourceBroken]]:
    """Open each counter of a source that can be read; return them and what is wrong with the others.

    Raises
    ------
    NotHere
        If the source has none of the collector's counters.
    """
    counters: dict[tuple[str, str], OpenCounter] = {}
    broken: dict[tuple[str, str], SourceBroken] = {}
    for spec in collector.counters:
        key = (spec.metric, spec.direction)
        if key in counters:
            continue
        try:
            counters[key] = _open(source, spec, layer=collector.layer, host=host)
            broken.pop(key, None)
        except NotHere:
            continue
        except SourceBroken as error:
            broken[key] = error
    if not counters and not broken:
        raise NotHere(f"{source.folder}: {source.name} has no {collector.name} counters; record another device")
    return list(counters.values()), list(broken.values())


def list_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, by name; none if it does not exist.

    Raises
    ------
    SourceBroken
        If it may not be read.
    """
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SourceBroken(f"{folder}: {error.strerror}; run as a user who may read it") from error


def read_text(path: Path) -> str:
    """Return a small kernel file's text; empty if it is absent, or has no value now (a link that is down).

    Raises
    ------
    SourceBroken
        If it is no text.
    """
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    except UnicodeDecodeError as error:
        raise SourceBroken(f"{path}: expected text, found {error.object[:20]!r}; is this the kernel's tree?") from None


def _open(source: Source, spec: CounterSpec, *, layer: str, host: str) -> OpenCounter:
    path = source.folder / spec.file
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotHere(f"{path}: {source.name} does not count this") from error
    except OSError as error:
        raise SourceBroken(f"{path}: {error.strerror}; run as a user who may read it") from error
    series = Series(
        host=host,
        device=source.device,
        port=source.port,
        direction=spec.direction,
        metric=spec.metric,
        unit=spec.metric,
        layer=layer,
        raw_name=path.name,
        raw_scale=float(spec.scale),
        width_bits=spec.width_bits,
        source=source.collector,
    )
    counter = OpenCounter(source=source, spec=spec, series=series, path=path, handle=handle)
    try:
        counter.read()
    except BaseException:
        counter.close()
        raise
    return counter
