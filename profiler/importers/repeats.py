"""Captures whose packets a lake has already: no packet may count twice, however often it is ingested.

The same packets come again in a file that was packed, converted or has grown, with bins of another width, or after
they were followed. So captures are told apart by what they hold: a flow that two of them saw at one place and time is
of the same packets, and one holds all of another if no bin of that has more (`shared_flows`, `shared_bins`).
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from profiler.errors import LakeError
from profiler.importers.lake_captures import (
    CAPTURES,
    captured,
    captured_by,
    captured_in_memory,
    captures_near,
    captures_of,
    flows_of,
    has_own_bins,
    is_written,
    parameters_of,
)
from profiler.importers.report import InputReport
from profiler.importers.shared_flows import Captured, compare_captures
from profiler.store import Recording
from profiler.store.locks import LakeLock
from profiler.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiler.importers.coverage import Coverage
    from profiler.importers.shared_flows import Shared
    from profiler.importers.sink import MemorySink
    from profiler.store import Lake, LakeWriter

__all__ = ["CAPTURES", "Repeat", "find_compacted", "find_repeat", "report_compacted", "report_repeat", "settle"]

Kind: TypeAlias = Literal["there", "older", "clash"]

_SETTINGS: Final = ("version", "bin_s", "series_by")
"""Parameters of a recording by which the same packets become other rows."""
_TURN: Final = hashlib.sha256(b"captures").hexdigest()
_TURN_S: Final = 60.0
"""How long to wait while others end a capture: each writes what is left in its buffer, a few seconds of work."""
_RETRY_S: Final = 0.05
_ELSEWHERE: Final = "if it was captured elsewhere, say where by --host, else take another --lake"
_NOBODY_TOLD: Final = (
    "take another --lake; if these were captured at two places, ingest both there, each with the --host that it was at"
)
_BUSY: Final = "what the lake has is still being written: ingest this again once that has ended, or take another --lake"
_COMPACTED: Final = (
    "this has all of them, but the lake was compacted since, and what was merged cannot be replaced: ingest only the "
    "files that are new, or all of them into another --lake"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What a lake has of the packets of a capture.

    Parameters
    ----------
    kind
        ``there``: all of them, in the same rows; ``older``: some or all, in rows that can be replaced, and nothing
        else; ``clash``: anything between.
    recording_ids, sources
        Recordings that have them, and what these were read from.
    n_flows
        Flows that stand in both.
    advice
        What to do about a clash.
    """

    kind: Kind
    recording_ids: tuple[str, ...]
    sources: tuple[str, ...]
    n_flows: int
    advice: str = ""

    def __str__(self) -> str:
        """Return it in words, with what to do."""
        sources = ", ".join(self.sources)
        if self.kind == "there":
            return f"nothing to do: its packets are those of {sources}"
        if self.kind == "older":
            return "its packets are all in this capture, which takes its place"
        return (
            f"the lake has {format_count(self.n_flows, 'flow')} of it already, of {sources}, at the same times: they "
            f"could count twice, so nothing of it was taken; {self.advice}"
        )


def settle(lake: Lake, writer: LakeWriter, *, coverage: Coverage) -> Repeat | None:
    """Keep a capture that was written, in place of what the lake has of its packets, or have it forgotten.

    Parameters
    ----------
    lake
        Where it is written to.
    writer
        Has all of it.
    coverage
        What was read of it; told what is replaced.

    Returns
    -------
    repeat
        Why it is forgotten; None if it is not.
    """
    if writer.recording.format != CAPTURES:
        return None
    writer.at_end(_turn(lake).release)
    own, span_ns = None, _span_of(coverage)
    if span_ns is None:  # no times, or no samples: of a lake that was compacted
        own = captured_by(lake, writer)
        span_ns = own.span_ns
    others = captures_near(lake, writer.recording, span_ns=span_ns)
    if not others:
        return None
    repeat = _judged(lake, own or captured_by(lake, writer), recording=writer.recording, others=others)
    if repeat is None or repeat.kind != "older":
        if repeat is not None:
            writer.discard()
        return repeat
    writer.replace(repeat.recording_ids)
    for source in repeat.sources:
        coverage.skip(source, str(repeat))
    return None


def find_repeat(lake: Lake, recording: Recording, *, read: MemorySink, coverage: Coverage) -> Repeat | None:
    """Return what a lake has of the packets of a capture, given what was read of its start."""
    own = captured_in_memory(read, recording)
    others = captures_near(lake, recording, span_ns=_span_of(coverage) or own.span_ns)
    return _judged(lake, own, recording=recording, others=others) if others else None


def find_compacted(lake: Lake, source: Lake) -> tuple[frozenset[str], Repeat | None]:
    """Return the captures of another lake whose samples compaction merged, and what a lake has of their packets.

    Such samples cannot be told apart, so that all of them are taken or none.
    """
    merged = [row for row in captures_of(source) if not has_own_bins(source, row)]
    keys = frozenset(row["recording_id"] for row in merged)
    for row in merged:
        key, parameters = row["recording_id"], parameters_of(row)
        if not lake.holds(key):
            recording = Recording(recording_id=key, source=row["source"], format=CAPTURES, parameters=parameters)
            own = Captured(flows_of(source, key), host=parameters.get("host"))
            repeat = _judged(lake, own, recording=recording, others=captures_near(lake, recording, span_ns=own.span_ns))
            if repeat is not None:
                return keys, repeat
    return keys, None


def report_repeat(name: str, repeat: Repeat) -> InputReport:
    """Say of a capture why it was not taken: its packets are there, as they are or in part."""
    if repeat.kind == "there":
        return InputReport(source=name, status="already there", format=CAPTURES, message=str(repeat))
    return InputReport(source=name, status="failed", format=CAPTURES, message=f"{name}: {repeat}")


def report_compacted(name: str, repeat: Repeat, *, format: str) -> InputReport:
    """Say of what compaction merged in another lake why it was not taken: packets of it are there."""
    message = (
        f"{name}: samples of captures were merged there by compaction, and this lake has packets of them, of "
        f"{', '.join(repeat.sources)}: they would count twice, so nothing of it was taken; ingest the inputs of that "
        "lake, or merge it into another"
    )
    return InputReport(source=name, status="failed", format=format, message=message)


def _turn(lake: Lake) -> LakeLock:
    """Wait until nobody else is between looking for the packets of a capture and having it count.

    Raises
    ------
    LakeError
        If that takes too long.
    """
    until_s = time.monotonic() + _TURN_S
    while True:
        try:
            return LakeLock(lake.root, _TURN, work="ending a capture")
        except LakeError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(_RETRY_S)


def _span_of(coverage: Coverage) -> tuple[int, int] | None:
    first_ns, last_ns = coverage.t_first_ns, coverage.t_last_ns
    return None if first_ns is None or last_ns is None else (first_ns, last_ns)


def _judged(lake: Lake, own: Captured, *, recording: Recording, others: Sequence[Mapping[str, Any]]) -> Repeat | None:
    found: list[tuple[Mapping[str, Any], Shared]] = []
    for row in others:
        if None not in (own.host, host := parameters_of(row).get("host")) and own.host != host:
            continue
        shared = compare_captures(own, captured(lake, row, beside=own))
        if shared.n_flows:
            found.append((row, shared))
    if not found:
        return None
    settings = _settings(recording.to_row())
    for row, shared in found:
        if shared.is_there and _settings(row) == settings and lake.holds(row["recording_id"]):
            return _repeat("there", [(row, shared)])
    if any(is_written(lake, row) for row, _ in found):
        return _repeat("clash", found, advice=_BUSY)
    if not all(shared.is_older for _, shared in found):
        # Where all of it was captured at one host, or nobody told where, only the other can be named anew.
        is_told = all(parameters_of(row).get("host") for row, _ in found)
        return _repeat("clash", found, advice=_ELSEWHERE if is_told else _NOBODY_TOLD)
    if not all(has_own_bins(lake, row) for row, _ in found):
        return _repeat("clash", found, advice=_COMPACTED)
    return _repeat("older", found)


def _repeat(kind: Kind, found: Sequence[tuple[Mapping[str, Any], Shared]], *, advice: str = "") -> Repeat:
    return Repeat(
        kind=kind,
        recording_ids=tuple(row["recording_id"] for row, _ in found),
        sources=tuple(row["source"] for row, _ in found),
        n_flows=sum(shared.n_flows for _, shared in found),
        advice=advice,
    )


def _settings(row: Mapping[str, Any]) -> list[Any]:
    return [parameters_of(row).get(name) for name in _SETTINGS]
