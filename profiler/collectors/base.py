"""What a collector is: a table of counters, a way to find devices, and files kept open.

A collector reads the kernel and nothing else: it has no clock, and the root of ``/sys`` is an argument, so that a fake
tree serves as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from profiler.errors import NotHere, OffbeatError, SourceBroken
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
_PADDING: Final = b"\0"
"""Files of ``/sys`` say that they have a page, and GNU tar saves them with as much."""
_PAST: Final = {"transmit": "transmitted", "receive": "received"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterSpec:
    """One counter of a collector.

    Parameters
    ----------
    file
        Kernel file, below the source's folder.
    metric, direction
        What it counts, seen from the device: bytes, packets, or an event's name.
    scale
        Canonical units in one raw unit.
    width_bits
        Width of the raw counter; None where the kernel's file has one or the other.
    help
        What the kernel's documentation says of it.
    """

    file: str
    metric: str
    direction: Literal["transmit", "receive"]
    scale: int = 1
    width_bits: int | None = 64
    help: str

    @property
    def unit(self) -> str:
        """Canonical unit: bytes and packets are their own, all else are events."""
        return self.metric if self.metric in ("bytes", "packets") else "events"


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
            text = os.pread(self.handle, _TEXT_BYTES, 0).rstrip(_PADDING)
        except OSError as error:
            raise SourceBroken(f"{self.path}: {error.strerror}; is {self.source.name} still there?") from error
        try:
            return int(text)
        except ValueError:
            if text.startswith(b"N/A"):
                words = text.decode("ascii", errors="replace").strip()
                raise NotHere(f"{self.path}: {self.source.name} does not count this: {words}") from None
            raise SourceBroken(f"{self.path}: expected a whole number, found {text[:20]!r}") from None

    def reopen(self) -> None:
        """Open the file anew, of a device that went and came back; `handle` stays the same.

        Raises
        ------
        NotHere, SourceBroken
            If it is not there, or not to be read.
        """
        fresh = _opened_file(self.path, self.source)
        try:
            os.dup2(fresh, self.handle, inheritable=False)
        finally:
            os.close(fresh)
        self.read()

    def close(self) -> None:
        """Close the file."""
        os.close(self.handle)


class Probe(Protocol):
    """Reads several counters by one question to the kernel.

    Attributes
    ----------
    remarks : sequence of str
        What its user must know: what a read costs, what is not seen.
    counts : frozenset of str
        Whose bytes it counts: two probes that share one count the same bytes.
    """

    remarks: Sequence[str]
    counts: frozenset[str]

    @property
    def lost(self) -> Sequence[str]:
        """What it could not count so far."""

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

    def reopen(self) -> None:
        """Ask once more; raises `SourceBroken` if the kernel still does not tell."""
        self.read()


AnyCounter = OpenCounter | ProbedCounter


def open_counters(source: Source, collector: Collector, *, host: str) -> tuple[list[OpenCounter], list[OffbeatError]]:
    """Open each counter of a source that can be read; return them, and why others cannot, which are worth a word.

    A file that is absent is worth none, unless nothing else counts the same bytes: adapters differ in what they count.

    Raises
    ------
    NotHere
        If the source has none of the collector's counters.
    """
    counters: dict[tuple[str, str], OpenCounter] = {}
    faults: dict[tuple[str, str], OffbeatError] = {}
    for spec in collector.counters:
        key = (spec.metric, spec.direction)
        if key in counters or _is_absent(source.folder / spec.file):
            continue
        try:
            counters[key] = _open(source, spec, layer=collector.layer, host=host)
            faults.pop(key, None)
        except (NotHere, SourceBroken) as error:
            faults[key] = error
    if not counters and not any(isinstance(fault, SourceBroken) for fault in faults.values()):
        why = "; ".join(map(str, faults.values())) or "record another device"
        raise NotHere(f"{source.folder}: {source.name} has no {collector.name} counters; {why}")
    return list(counters.values()), [*faults.values(), *_uncounted(source, collector, counted={*counters, *faults})]


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
        remedy = "run as a user who may read it" if isinstance(error, PermissionError) else "is this the kernel's tree?"
        raise SourceBroken(f"{folder}: {error.strerror}; {remedy}") from error


def read_text(path: Path) -> str:
    """Return a small kernel file's text; empty if it is absent, or has no value now (a link that is down).

    Raises
    ------
    SourceBroken
        If it is no text.
    """
    try:
        return path.read_bytes().rstrip(_PADDING).decode("ascii").strip()
    except OSError:
        return ""
    except UnicodeDecodeError as error:
        raise SourceBroken(f"{path}: expected text, found {error.object[:20]!r}; is this the kernel's tree?") from None


def _is_absent(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:  # it is there, but not for us: to be said when it is opened
        return False
    return False


def _opened_file(path: Path, source: Source) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise NotHere(f"{path}: no such file; is {source.name} still there?") from error
    except OSError as error:
        raise SourceBroken(f"{path}: {error.strerror}; run as a user who may read it") from error


def _open(source: Source, spec: CounterSpec, *, layer: str, host: str) -> OpenCounter:
    path = source.folder / spec.file
    handle = _opened_file(path, source)
    series = Series(
        host=host,
        device=source.device,
        port=source.port,
        direction=spec.direction,
        metric=spec.metric,
        unit=spec.unit,
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


def _uncounted(source: Source, collector: Collector, *, counted: set[tuple[str, str]]) -> Iterator[NotHere]:
    """Yield which bytes a source does not count at all, as many virtual functions do not."""
    for direction, word in _PAST.items():
        files = [spec.file for spec in collector.counters if (spec.metric, spec.direction) == ("bytes", direction)]
        if ("bytes", direction) not in counted:
            looked = ", ".join(files)
            yield NotHere(f"{source.folder}: {source.name} does not count bytes {word}; looked for {looked}")
