"""Records of NCCL Inspector (``ncclInspector``): one JSON object a line, one line a collective."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from profiler.errors import BadInput
from profiler.importers.lines import lines_of
from profiler.importers.traces.gathering import Gathering, Member
from profiler.importers.traces.numbering import Numbering
from profiler.importers.traces.sizes import amount, possible_bytes, whole
from profiler.importers.traces.texts import text_of

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.coverage import Coverage
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["is_inspector", "read_inspector"]

_NS_PER_US: Final = 1000
_PARTS: Final = (("coll_perf", "coll"), ("p2p_perf", "p2p"))
_MARKS: Final = (b'"coll_perf"', b'"p2p_perf"')
_DUMPED: Final = (
    "starts are the time of the dump less that of the collective, so they are late by as much as the dump was: "
    "set NCCL_INSPECTOR_DUMP_VERBOSE=1 for exact ones"
)


_NEWEST: Final = "the inspector keeps the newest only"
_WRONG: Final = "no record of a collective"


class _Record(NamedTuple):
    member: Member
    start_ns: int
    duration_ns: float
    n_bytes: float
    operation: str
    size: str
    process: str
    number: int | None
    is_dumped: bool


def is_inspector(head: bytes) -> bool:
    """Return whether a file that begins so holds records."""
    return head.lstrip()[:1] == b"{" and any(mark in head for mark in _MARKS)


def read_inspector(source: Input, options: Options, *, coverage: Coverage) -> list[CollectiveEvents]:
    """Read the collectives of a file of records.

    Returns
    -------
    events
        One a rank and communicator. The inspector writes the newest collective at each look, so that some may be
        missing: how many is told by the coverage, and a note of the events. Lines that cannot be read are a problem.

    Raises
    ------
    BadInput
        If no line is a record.
    """
    gathering, numbering = Gathering(), Numbering()
    n_dumped = first_wrong = 0
    for i_line, line in enumerate(lines_of(source, coverage.problems), start=1):
        if not line.strip():
            continue
        coverage.n_read += 1
        record = _record(line, host=options.host or source.default_host)
        if record is None:
            first_wrong = first_wrong or i_line
            coverage.leave_out(_WRONG, 1)
            continue
        n_dumped += record.is_dumped
        _take(record, gathering, numbering)
    if first_wrong:
        n_wrong = coverage.left_out[_WRONG]
        coverage.problems.append(f"{source.name}: line {first_wrong}: {_WRONG}; lines like it ({n_wrong}) left out")
    if not len(gathering):
        raise BadInput("; ".join([f"{source.name}: holds no record of NCCL Inspector", *coverage.problems]))
    notes = [*([_DUMPED] if n_dumped else []), *_missing(numbering, coverage)]
    if n_dumped:
        coverage.skip(f"exact starts of some collectives ({n_dumped})", _DUMPED)
    events = gathering.events(*notes)
    coverage.leave_out("written twice", gathering.n_repeated)
    return events


def _take(record: _Record, gathering: Gathering, numbering: Numbering) -> None:
    gathering.add(
        record.member,
        start_ns=record.start_ns,
        duration_ns=record.duration_ns,
        n_bytes=record.n_bytes,
        key=f"{record.operation} {record.size}",
        number=record.number,
    )
    if record.number is not None:
        numbering.note(
            record.member,
            process=record.process,
            operation=record.operation,
            start_ns=record.start_ns,
            number=record.number,
        )


def _missing(numbering: Numbering, coverage: Coverage) -> list[str]:
    """Tell the coverage what each rank lost in each communicator; return the sum as a note, if there is any."""
    n_lost = 0
    for lost in numbering.lost():
        n_lost += lost.n
        member = "/".join(lost.member)
        coverage.skip(f"{member}: {lost.n} {lost.operation} between those of the file", _NEWEST)
    coverage.totals["n_lost"] = n_lost
    return [f"{n_lost} collectives between those of the file are missing: {_NEWEST}"] if n_lost else []


def _record(line: bytes, *, host: str) -> _Record | None:
    """Return what a line says; None if it is no record."""
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict):
        return None
    for part, prefix in _PARTS:
        given = document.get(part)
        if isinstance(given, dict):
            return _collective(document, given, prefix=prefix, host=host)
    return None


def _collective(document: Mapping[str, Any], given: Mapping[str, Any], *, prefix: str, host: str) -> _Record | None:
    header, metadata = (_object(document, name) or document for name in ("header", "metadata"))
    run_us = amount(given.get(f"{prefix}_exec_time_us"))
    start_us = _traced_start_us(given)
    dumped_us = amount(metadata.get("dump_timestamp_us")) - run_us
    begin_us = dumped_us if math.isnan(start_us) else start_us
    if not 0 < begin_us < (1 << 62) / _NS_PER_US:
        return None
    size = given.get(f"{prefix}_msg_size_bytes")
    return _Record(
        member=Member(
            text_of(metadata.get("hostname", host)),
            f"rank{text_of(header.get('rank', ''))}",
            text_of(header.get("id", "")),
        ),
        start_ns=round(begin_us) * _NS_PER_US,
        duration_ns=run_us * _NS_PER_US,
        n_bytes=possible_bytes(amount(size)),
        operation=text_of(given.get(prefix, "")),
        size=text_of(size),
        process=text_of(metadata.get("pid", "")),
        number=whole(given.get(f"{prefix}_sn")),
        is_dumped=math.isnan(start_us),
    )


def _traced_start_us(given: Mapping[str, Any]) -> float:
    """Return when the first kernel of a collective began; NaN if its events were not traced."""
    kernels = (_object(given, "event_trace_ts") or {}).get("kernel_events")
    if not isinstance(kernels, list):
        return math.nan
    starts_us = [amount(kernel.get("kernel_start_ts")) for kernel in kernels if isinstance(kernel, dict)]
    return min((start_us for start_us in starts_us if start_us > 0), default=math.nan)


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    found = document.get(name)
    return found if isinstance(found, dict) else None
