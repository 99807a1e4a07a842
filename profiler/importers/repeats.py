"""Captures whose packets a lake has already: no packet may count twice, however often it is ingested.

The same packets come again in a file that was packed, converted or has grown, with bins of another width, or after
they were followed. So captures are told apart by what they hold: a flow that two of them saw at one place and time is
of the same packets.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from profiler.errors import LakeError
from profiler.importers.report import InputReport
from profiler.schema import arrow_schema
from profiler.store.locks import LakeLock
from profiler.store.manifest import Manifest
from profiler.store.reading import read_segments
from profiler.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from profiler.importers.coverage import Coverage
    from profiler.store import Lake, LakeWriter, Recording

__all__ = ["CAPTURES", "Repeat", "find_repeat", "report_repeat", "settle"]

Kind: TypeAlias = Literal["there", "older", "clash"]

CAPTURES: Final = "capture"
"""Format of the recordings that hold packets."""

_SETTINGS: Final = ("version", "bin_s", "series_by")
"""Parameters of a recording by which the same packets become other rows."""
_KEY: Final = ("src", "dst", "sport", "dport", "proto", "qp")
_COUNTS: Final = ("first_ns", "last_ns", "packets", "bytes")
_REORDERED_NS: Final = 10_000_000
"""How long the packets of two files may be mixed that are one capture, cut as they came: queues of a card race."""
_ROUNDED_NS: Final = 1_000
"""By how much times differ once a capture of nanoseconds is written in microseconds."""
_TURN: Final = hashlib.sha256(b"captures").hexdigest()
_TURN_S: Final = 60.0
"""How long to wait while others end a capture: each writes what is left in its buffer, a few seconds of work."""
_RETRY_S: Final = 0.05
_NOTHING: Final = {pa.string(): "", pa.int16(): -1, pa.int32(): -1, pa.int64(): 0}


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
    """

    kind: Kind
    recording_ids: tuple[str, ...]
    sources: tuple[str, ...]
    n_flows: int

    def __str__(self) -> str:
        """Return it in words, with what to do."""
        sources = ", ".join(self.sources)
        if self.kind == "there":
            return f"nothing to do: its packets are those of {sources}"
        if self.kind == "older":
            return "its packets are all in this capture, which takes its place"
        return (
            f"the lake has {format_count(self.n_flows, 'flow')} of it already, of {sources}, at the same times: they "
            "would count twice, so nothing of it was taken; if it was captured elsewhere, say where by --host, else "
            "take another --lake"
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
    others = _others(lake, writer.recording, coverage)
    if not others:
        return None
    flows = read_segments(writer.sealed("flows"), arrow_schema("flows"))
    repeat = _judged(lake, flows, recording=writer.recording, others=others)
    if repeat is None or repeat.kind != "older":
        if repeat is not None:
            writer.discard()
        return repeat
    writer.replace(repeat.recording_ids)
    for source in repeat.sources:
        coverage.skip(source, str(repeat))
    return None


def find_repeat(lake: Lake, recording: Recording, *, flows: pa.Table, coverage: Coverage) -> Repeat | None:
    """Return what a lake has of the packets of a capture, given rows of table ``flows`` of some of them."""
    others = _others(lake, recording, coverage)
    return _judged(lake, flows, recording=recording, others=others) if others else None


def report_repeat(name: str, repeat: Repeat) -> InputReport:
    """Say of a capture why it was not taken: its packets are there, as they are or in part."""
    if repeat.kind == "there":
        return InputReport(source=name, status="already there", format=CAPTURES, message=str(repeat))
    return InputReport(source=name, status="failed", format=CAPTURES, message=f"{name}: {repeat}")


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


def _others(lake: Lake, recording: Recording, coverage: Coverage) -> list[dict[str, Any]]:
    """Return the other captures of a lake that may have packets of the same time."""
    with Manifest(lake.root, mode="ro") as manifest:
        rows = manifest.recordings()
    found = [row for row in rows if row["format"] == CAPTURES and row["recording_id"] != recording.recording_id]
    first_ns, last_ns = coverage.t_first_ns, coverage.t_last_ns
    if first_ns is None or last_ns is None:
        return [row for row in found if row["t_first_ns"] is None]
    timed = [row for row in found if row["t_first_ns"] is not None]
    return [row for row in timed if row["t_first_ns"] <= last_ns and row["t_last_ns"] >= first_ns]


class _Common(NamedTuple):
    """How many flows two captures have in common, and whether all of one are among those of the other."""

    n_flows: int
    is_there: bool
    is_older: bool


def _judged(lake: Lake, flows: pa.Table, *, recording: Recording, others: Sequence[Mapping[str, Any]]) -> Repeat | None:
    host = recording.parameters.get("host")
    own = _filled(flows, host=host)
    found: list[tuple[Mapping[str, Any], _Common]] = []
    for row in others:
        if _parameters(row).get("host") != host:
            continue
        files = lake.files("flows", recording_id=row["recording_id"])
        common = _compared(own, _filled(read_segments(files, arrow_schema("flows")), host=host))
        if common.n_flows:
            found.append((row, common))
    if not found:
        return None
    settings = _settings(recording.to_row())
    for row, common in found:
        if common.is_there and _settings(row) == settings and lake.holds(row["recording_id"]):
            return _repeat("there", [(row, common)])
    is_older = all(common.is_older and _can_go(lake, row) for row, common in found)
    return _repeat("older" if is_older else "clash", found)


def _repeat(kind: Kind, found: Sequence[tuple[Mapping[str, Any], _Common]]) -> Repeat:
    return Repeat(
        kind=kind,
        recording_ids=tuple(row["recording_id"] for row, _ in found),
        sources=tuple(row["source"] for row, _ in found),
        n_flows=sum(common.n_flows for _, common in found),
    )


def _settings(row: Mapping[str, Any]) -> list[Any]:
    return [_parameters(row).get(name) for name in _SETTINGS]


def _parameters(row: Mapping[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = json.loads(row["parameters"] or "{}")
    return parameters


def _can_go(lake: Lake, row: Mapping[str, Any]) -> bool:
    """Return whether nobody writes a recording, and its samples are not merged with others by compaction."""
    try:
        LakeLock(lake.root, row["recording_id"], work="replacing it").release()
    except LakeError:
        return False
    files = lake.files("samples", recording_id=row["recording_id"])
    n_rows: int = sum(pq.read_metadata(path).num_rows for path in files)
    return n_rows == (row["n_rows"] or 0)


def _filled(flows: pa.Table, *, host: str | None) -> pa.Table:
    """Return what tells flows of a host apart, and what they moved; a join finds no null: these are empty or zero."""
    columns = {name: flows[name] for name in (*_KEY, *_COUNTS, "point")}
    filled = {name: pc.fill_null(column, _NOTHING[column.type]) for name, column in columns.items()}
    interface = pc.utf8_ltrim(pc.utf8_slice_codeunits(filled.pop("point"), len(host or "")), characters=":")
    return pa.table({"row": pa.array(range(flows.num_rows), pa.int64()), "interface": interface, **filled})


def _compared(own: pa.Table, there: pa.Table) -> _Common:
    """Compare the flows of a capture with those of one that the lake has."""
    if not own.num_rows or not there.num_rows or _only_touch(own, there):
        return _Common(0, is_there=False, is_older=False)
    joined = own.join(there, keys=list(_KEY), right_suffix="_there", join_type="inner")
    interface, interface_there = joined["interface"], joined["interface_there"]
    # What pcapng tells of interfaces is lost when it is converted to pcap.
    is_unknown = pc.or_(pc.equal(interface, ""), pc.equal(interface_there, ""))
    joined = joined.filter(pc.or_(is_unknown, pc.equal(interface, interface_there)))
    one, other = (
        {name: joined[f"{name}{suffix}"].to_numpy() for name in ("row", *_COUNTS)} for suffix in ("", "_there")
    )
    is_there, is_older = _holds(other, one), _holds(one, other)
    meets = (one["first_ns"] <= other["last_ns"]) & (other["first_ns"] <= one["last_ns"])
    # Of packets without addresses or times only as many, at the same times, are taken for the same.
    is_told = pc.not_equal(joined["src"], "").to_numpy() & (one["last_ns"] != 0)
    is_common = meets & (is_told | (is_there & is_older))
    return _Common(
        np.unique(one["row"][is_common]).size,
        is_there=np.unique(one["row"][is_there]).size == own.num_rows,
        is_older=np.unique(other["row"][is_older]).size == there.num_rows,
    )


def _holds(flows: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which flows can have all packets of the others beside them."""
    held: NDArray[np.bool_] = (flows["first_ns"] <= others["first_ns"] + _ROUNDED_NS) & (
        flows["last_ns"] >= others["last_ns"] - _ROUNDED_NS
    )
    return held & (flows["packets"] >= others["packets"]) & (flows["bytes"] >= others["bytes"])


def _only_touch(own: pa.Table, there: pa.Table) -> bool:
    """Return whether two captures have little time in common, for the end of one of them and the start of the other."""
    (own_first, own_last), (first, last) = (
        (pc.min(rows["first_ns"]).as_py(), pc.max(rows["last_ns"]).as_py()) for rows in (own, there)
    )
    common_ns: int = min(own_last, last) - max(own_first, first)
    shorter_ns: int = min(own_last - own_first, last - first)
    return common_ns < 0 or (common_ns <= _REORDERED_NS and 2 * common_ns < shorter_ns)
