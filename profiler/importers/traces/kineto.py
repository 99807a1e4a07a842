"""Traces of the PyTorch profiler (Kineto): the NCCL kernels of the GPUs, not what the host says of them.

Kernels of a process group run on a stream of their own, so where a trace does not name the group (PyTorch before 2.2)
the stream stands for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from profiler.errors import BadInput
from profiler.importers.traces.chrome import ChromeTrace
from profiler.importers.traces.gathering import Gathering, Member
from profiler.importers.traces.sizes import amount, message_bytes
from profiler.importers.traces.texts import text_of

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["is_kineto", "read_kineto"]

_NS_PER_US: Final = 1000
_MARKS: Final = (b'"traceEvents"', b'"deviceProperties"', b'"distributedInfo"', b'"schemaVersion"')
_LIST_OF_EVENTS: Final = re.compile(rb"\s*\[\s*\{[^}]*\"ph\"\s*:")
_EARLIEST_NS: Final = 1_400_000_000_000_000_000
"""May 2014, before NCCL: earlier times are not counted from 1970."""
_LATEST_US: Final = (1 << 62) / _NS_PER_US


class _Kernel(NamedTuple):
    """One NCCL kernel; its time is after the trace's base."""

    gpu: str
    port: str
    start_ns: int
    duration_ns: float
    n_bytes: float
    key: str


def is_kineto(head: bytes) -> bool:
    """Return whether a file that begins so is a trace in Chrome's format."""
    return _LIST_OF_EVENTS.match(head) is not None or (
        head.lstrip()[:1] == b"{" and any(mark in head for mark in _MARKS)
    )


def read_kineto(source: Input, options: Options) -> tuple[list[CollectiveEvents], list[str]]:
    """Read the collectives of a trace.

    Returns
    -------
    events
        One a GPU and process group (or stream). The device is the rank, where the trace tells it, else the GPU.
    problems
        Where the trace is cut or damaged; what stands before was read.

    Raises
    ------
    BadInput
        If it is no trace, or holds no NCCL kernel.
    """
    trace = ChromeTrace(source.pieces(), name=source.name)
    n_events, kernels = 0, []
    for event in trace.events():
        n_events += 1
        kernel = _kernel(event)
        if kernel is not None:
            kernels.append(kernel)
    if not kernels:
        raise BadInput(
            "; ".join(
                [
                    f"{source.name}: {n_events} events and no NCCL kernel among them; record a rank that communicates, "
                    "with ProfilerActivity.CUDA",
                    *trace.problems,
                ]
            )
        )
    if trace.problems and "baseTimeNanoseconds" not in trace.header and kernels[0].start_ns < _EARLIEST_NS:
        trace.problems.append(f"{source.name}: the zero of its clock stood where it was cut: dates are not known")
    return _gathered(kernels, trace.header, host=options.host or source.default_host), trace.problems


def _gathered(kernels: list[_Kernel], header: Mapping[str, Any], *, host: str) -> list[CollectiveEvents]:
    base_ns = _whole(header.get("baseTimeNanoseconds"))
    info = header.get("distributedInfo")
    given = info.get("rank") if isinstance(info, dict) else None
    rank = None if given is None else text_of(given)
    one_gpu = len({kernel.gpu for kernel in kernels}) == 1
    gathering = Gathering()
    for kernel in kernels:
        device = f"gpu{kernel.gpu}" if rank is None else f"rank{rank}" if one_gpu else f"rank{rank}-gpu{kernel.gpu}"
        gathering.add(
            Member(host, device, kernel.port),
            start_ns=base_ns + kernel.start_ns,
            duration_ns=kernel.duration_ns,
            n_bytes=kernel.n_bytes,
            key=kernel.key,
        )
    return gathering.events()


def _kernel(event: Mapping[str, Any]) -> _Kernel | None:
    """Return what an event says, if it is an NCCL kernel with a time."""
    name, category, start_us = event.get("name"), event.get("cat"), event.get("ts")
    if event.get("ph") != "X" or not isinstance(name, str) or not isinstance(category, str):
        return None
    if category.lower() != "kernel" or not name.lower().startswith("nccl"):
        return None
    if isinstance(start_us, bool) or not isinstance(start_us, int | float) or not abs(start_us) < _LATEST_US:
        return None
    args = event.get("args")
    given: Mapping[str, Any] = args if isinstance(args, dict) else {}
    whole_us = math.floor(start_us)
    return _Kernel(
        gpu=text_of(given.get("device", event.get("pid", ""))),
        port=_port(given, event),
        start_ns=whole_us * _NS_PER_US + round((start_us - whole_us) * _NS_PER_US),
        duration_ns=amount(event.get("dur")) * _NS_PER_US,
        n_bytes=message_bytes(
            amount(given.get("In msg nelems")), amount(given.get("Out msg nelems")), dtype=given.get("dtype")
        ),
        key=_key(name, given),
    )


def _port(given: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    group = given.get("Process Group Name")
    if not group:
        return f"stream{text_of(given.get('stream', event.get('tid', '')))}"
    about = given.get("Process Group Description")
    return f"{text_of(about)}:{text_of(group)}" if about and about != "undefined" else text_of(group)


def _key(name: str, given: Mapping[str, Any]) -> str:
    """Return what is the same of a collective in every iteration: its kernel, and its size where it is told."""
    kernel = name.partition("(")[0]
    told = [given[part] for part in ("Collective name", "dtype", "In msg nelems", "Out msg nelems") if part in given]
    return " ".join(map(text_of, [kernel, *told]))


def _whole(value: Any) -> int:  # noqa: ANN401 - whatever a file holds
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0
