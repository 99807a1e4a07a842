"""Dumps of PyTorch's NCCL flight recorder, as pickles or JSON.

An entry says when the host put a collective into its queue, and, where ``TORCH_NCCL_ENABLE_TIMING`` was set, how long
it ran. When it began on the GPU is not recorded; ``time_discovered_*`` are those at which a watchdog looked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from profiler.errors import BadInput
from profiler.importers.contents import kind_of
from profiler.importers.traces.gathering import Gathering, Member
from profiler.importers.traces.plain_pickle import is_pickle, load_plain
from profiler.importers.traces.sizes import amount, message_bytes, tensor_elements
from profiler.importers.traces.texts import text_of

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["is_flight_recorder", "read_flight_recorder"]

MAX_BYTES: Final = 1 << 30
"""A ring of 10^5 entries with their stacks has a quarter of it."""
_MARKS: Final = (b'"pg_config"', b'"nccl_version"', b'"record_id"')
_NS_PER_MS: Final = 1_000_000
_RANK: Final = re.compile(r"(\d+)\D*$")
_QUEUED: Final = (
    "starts are when the host queued the collective, which may be earlier than when it ran: the period is right, "
    "where in the iteration a burst stands is not"
)


def is_flight_recorder(head: bytes) -> bool:
    """Return whether a file that begins so is a dump: any pickle, or JSON with its keys."""
    if is_pickle(head):
        return True
    return kind_of(head) == "JSON" and b'"entries"' in head and any(mark in head for mark in _MARKS)


def read_flight_recorder(source: Input, options: Options) -> tuple[list[CollectiveEvents], list[str]]:
    """Read the collectives of a dump that were completed.

    Returns
    -------
    events
        One a process group; of one that completed nothing, as in a dump of a hang, none. The device is the rank, the
        last number in the file's name, since dumps do not tell it.
    problems
        Entries that cannot be read.

    Raises
    ------
    BadInput
        If it is no dump, or a pickle that would run code.
    """
    entries = _document(source).get("entries")
    if not isinstance(entries, list):
        raise BadInput(f"{source.name}: has no list of entries; give a dump of the flight recorder that includes them")
    gathering = Gathering()
    n_damaged = n_unfinished = 0
    for entry in entries:
        member = _member(entry, source, host=options.host)
        if member is None:
            n_damaged += 1
            continue
        gathering.announce(member)
        if not _is_completed(entry):
            n_unfinished += 1
            continue
        gathering.add(
            member,
            start_ns=entry["time_created_ns"],
            duration_ns=amount(entry.get("duration_ms")) * _NS_PER_MS,
            n_bytes=_n_bytes(entry),
            key=_key(entry),
        )
    unfinished = f"{n_unfinished} collectives of the dump that were not completed are left out"
    problems = [f"{source.name}: {n_damaged} of {len(entries)} entries have no time or group"] if n_damaged else []
    return gathering.events(*([_QUEUED] if len(gathering) else []), *([unfinished] if n_unfinished else [])), problems


def _document(source: Input) -> Mapping[str, Any]:
    parts: list[bytes] = []
    n_bytes = 0
    for piece in source.pieces():
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise BadInput(f"{source.name}: more than {MAX_BYTES} bytes; no flight recorder's dump is as large")
        parts.append(piece)
    data = b"".join(parts)
    try:
        found = load_plain(data, name=source.name) if is_pickle(data) else orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{source.name}: damaged JSON ({error}); copy the dump again") from None
    if not isinstance(found, dict):
        raise BadInput(f"{source.name}: holds a {type(found).__name__}; a flight recorder's dump is a dict of entries")
    return found


def _member(entry: Any, source: Input, *, host: str | None) -> Member | None:  # noqa: ANN401 - whatever a file holds
    """Return the group of an entry; None if it is no entry with a time and a group."""
    if not isinstance(entry, dict):
        return None
    created_ns, group = entry.get("time_created_ns"), entry.get("process_group", entry.get("pg_name"))
    if isinstance(created_ns, bool) or not isinstance(created_ns, int) or not 0 < created_ns < 1 << 62:
        return None
    rank = _RANK.search(source.stem)
    device = f"rank{int(rank[1])}" if rank else ""
    return None if group is None else Member(host or source.default_host, device, _port(group))


def _port(group: Any) -> str:  # noqa: ANN401 - whatever a file holds
    """Return what names a group, which is given by its name, or by name and description."""
    if not isinstance(group, list | tuple):
        return text_of(group)
    name, about = [*(text_of(part) for part in group[:2]), "", ""][:2]
    return f"{about}:{name}" if about not in ("", "undefined") else name


def _is_completed(entry: Mapping[str, Any]) -> bool:
    return entry.get("state") == "completed" or bool(entry.get("time_discovered_completed_ns"))


def _n_bytes(entry: Mapping[str, Any]) -> float:
    dtypes = entry.get("input_dtypes") or entry.get("output_dtypes")
    if not isinstance(dtypes, list | tuple) or len(set(map(text_of, dtypes))) != 1:
        return message_bytes(dtype=None)
    sizes = (tensor_elements(entry.get(name)) for name in ("input_sizes", "output_sizes"))
    return message_bytes(*sizes, dtype=dtypes[0])


def _key(entry: Mapping[str, Any]) -> str:
    told = (entry.get(name) for name in ("profiling_name", "input_dtypes", "input_sizes", "output_sizes"))
    return " ".join(map(text_of, told))
