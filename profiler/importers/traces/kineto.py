"""Traces of the PyTorch profiler (Kineto): the NCCL kernels of the GPUs, not what the host says of them; and gloo.

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
from profiler.importers.traces.gloo import gloo_bytes, gloo_group, is_gloo
from profiler.importers.traces.sizes import amount, message_bytes, whole
from profiler.importers.traces.texts import text_of

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.coverage import Coverage
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["is_kineto", "read_kineto"]

_NS_PER_US: Final = 1000
_MARKS: Final = (b'"traceEvents"', b'"deviceProperties"', b'"distributedInfo"', b'"schemaVersion"')
_LIST_OF_EVENTS: Final = re.compile(rb"\s*\[\s*\{[^}]*\"ph\"\s*:")
_EARLIEST_NS: Final = 1_400_000_000_000_000_000
"""May 2014, before NCCL: earlier times are not counted from 1970."""
_LATEST_US: Final = (1 << 62) / _NS_PER_US


class _Collective(NamedTuple):
    """One NCCL kernel, or one collective of gloo (whose GPU is none); its time is after the trace's base."""

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


def read_kineto(source: Input, options: Options, *, coverage: Coverage) -> list[CollectiveEvents]:
    """Read the collectives of a trace.

    Returns
    -------
    events
        One a GPU and process group (or stream). The device is the rank, where the trace tells it, else the GPU. Where
        the trace is cut or damaged is a problem of the coverage; what stands before was read.

    Raises
    ------
    BadInput
        If it is no trace, or holds no collective.
    """
    trace = ChromeTrace(source.pieces(), name=source.name)
    gathering = Gathering()
    n_events = 0
    for event in trace.events():
        n_events += 1
        is_of_gloo = is_gloo(event)
        if event.get("ph") != "X" or not (is_of_gloo or _is_kernel(event)):
            continue
        coverage.n_read += 1
        found = _of_gloo(event, trace.header) if is_of_gloo else _of_kernel(event)
        if found is None:
            coverage.leave_out("no time", 1)
        else:
            _add(found, gathering)
    if not len(gathering):
        raise BadInput(
            "; ".join(
                [
                    f"{source.name}: {n_events} events and no NCCL kernel among them; record a rank that communicates, "
                    "with ProfilerActivity.CUDA",
                    *trace.problems,
                ]
            )
        )
    coverage.skip(f"{n_events - coverage.n_read} of {n_events} events", "not collectives")
    events = _named(gathering, trace.header, host=options.host, default_host=source.default_host)
    coverage.leave_out("written twice", gathering.n_repeated)
    if trace.problems and not _is_dated(trace.header, events):
        trace.problems.append(f"{source.name}: the zero of its clock stood where it was cut: dates are not known")
    coverage.problems += trace.problems
    return events


def _is_dated(header: Mapping[str, Any], events: list[CollectiveEvents]) -> bool:
    first_ns = min((int(found.start_ns[0]) for found in events if found.n_events), default=_EARLIEST_NS)
    return "baseTimeNanoseconds" in header or first_ns >= _EARLIEST_NS


def _add(found: _Collective, gathering: Gathering) -> None:
    gathering.add(
        Member("", found.gpu, found.port),
        start_ns=found.start_ns,
        duration_ns=found.duration_ns,
        n_bytes=found.n_bytes,
        key=found.key,
    )


def _named(
    gathering: Gathering, header: Mapping[str, Any], *, host: str | None, default_host: str
) -> list[CollectiveEvents]:
    """Return what was gathered under the names that the trace tells beside its events."""
    info = header.get("distributedInfo")
    given = info.get("rank") if isinstance(info, dict) else None
    rank = None if given is None else text_of(given)
    n_gpus = len({member.device for member in gathering.members if member.device})
    written = header.get("host_name")
    machine = host or (written if isinstance(written, str) and written else default_host)

    def called(member: Member) -> Member:
        gpu = f"gpu{member.device}" if member.device else "cpu"
        device = gpu if rank is None else f"rank{rank}-{gpu}" if member.device and n_gpus > 1 else f"rank{rank}"
        return Member(machine, device, member.port)

    return gathering.events(base_ns=whole(header.get("baseTimeNanoseconds")) or 0, called=called)


def _is_kernel(event: Mapping[str, Any]) -> bool:
    name, category = event.get("name"), event.get("cat")
    if not isinstance(name, str) or not isinstance(category, str):
        return False
    return category.lower() == "kernel" and name.lower().startswith("nccl")


def _of_kernel(event: Mapping[str, Any]) -> _Collective | None:
    """Return what an NCCL kernel says; None if it has no time."""
    start_ns, given = _start_ns(event), _args(event)
    if start_ns is None:
        return None
    return _Collective(
        gpu=text_of(given.get("device", event.get("pid", ""))),
        port=_port(given, event),
        start_ns=start_ns,
        duration_ns=amount(event.get("dur")) * _NS_PER_US,
        n_bytes=message_bytes(
            amount(given.get("In msg nelems")), amount(given.get("Out msg nelems")), dtype=given.get("dtype")
        ),
        key=_key(event["name"], given),
    )


def _of_gloo(event: Mapping[str, Any], header: Mapping[str, Any]) -> _Collective | None:
    """Return what a collective of gloo says; None if it has no time."""
    start_ns, given = _start_ns(event), _args(event)
    if start_ns is None:
        return None
    group = gloo_group(header)
    told = (given[part] for part in ("Input type", "Input Dims") if part in given)
    return _Collective(
        gpu="",
        port=group.name,
        start_ns=start_ns,
        duration_ns=amount(event.get("dur")) * _NS_PER_US,
        n_bytes=gloo_bytes(event["name"], given, group=group),
        key=" ".join(map(text_of, (event["name"], *told))),
    )


def _args(event: Mapping[str, Any]) -> Mapping[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _start_ns(event: Mapping[str, Any]) -> int | None:
    """Return when an event began, after the trace's base; None if it does not tell."""
    start_us = event.get("ts")
    if isinstance(start_us, bool) or not isinstance(start_us, int | float) or not abs(start_us) < _LATEST_US:
        return None
    whole_us = math.floor(start_us)
    return whole_us * _NS_PER_US + round((start_us - whole_us) * _NS_PER_US)


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
