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
from profiler.importers.traces.sizes import amount, message_bytes, tensor_elements, whole
from profiler.importers.traces.texts import text_of

if TYPE_CHECKING:
    from profiler.collectives import CollectiveEvents
    from profiler.importers.coverage import Coverage
    from profiler.importers.importer import Options
    from profiler.importers.inputs import Input

__all__ = ["is_flight_recorder", "read_flight_recorder"]

MAX_BYTES: Final = 1 << 30
"""A ring of 10^5 entries with their stacks has a quarter of it."""
_MARKS: Final = (b'"pg_config"', b'"nccl_version"', b'"record_id"')
_DAMAGED: Final = "no time or no group"
_UNFINISHED: Final = "not completed when the dump was written"
_ABSENT: Final = "recorded, but not in the dump; a larger TORCH_FR_BUFFER_SIZE keeps more"
_LAST: Final = "last_completed_collective"
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
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


def read_flight_recorder(source: Input, options: Options, *, coverage: Coverage) -> list[CollectiveEvents]:
    """Read the collectives of a dump that were completed.

    Returns
    -------
    events
        One a process group; of one that completed nothing, as in a dump of a hang, none. The device is the rank, the
        last number in the file's name, since dumps do not tell it. Entries that cannot be read are a problem of the
        coverage.

    Raises
    ------
    BadInput
        If it is no dump, or a pickle that would run code.
    """
    document = _document(source)
    entries = document.get("entries")
    if not isinstance(entries, list):
        raise BadInput(f"{source.name}: has no list of entries; give a dump of the flight recorder that includes them")
    gathering, finished = Gathering(), _finished(document)
    for entry in entries:
        coverage.n_read += 1
        member = _member(entry, source, host=options.host)
        if member is None:
            coverage.leave_out(_DAMAGED, 1)
            continue
        gathering.announce(member)
        if not _is_completed(entry, finished):
            coverage.leave_out(_UNFINISHED, 1)
            continue
        gathering.add(
            member,
            start_ns=entry["time_created_ns"],
            duration_ns=amount(entry.get("duration_ms")) * _NS_PER_MS,
            n_bytes=_n_bytes(entry),
            key=_key(entry),
            number=whole(entry.get("record_id")),
        )
    return _events(gathering, entries, source=source, coverage=coverage)


def _events(gathering: Gathering, entries: list[Any], *, source: Input, coverage: Coverage) -> list[CollectiveEvents]:
    """Return what was gathered, and tell the coverage what the dump does not hold."""
    n_damaged, n_unfinished = coverage.left_out[_DAMAGED], coverage.left_out[_UNFINISHED]
    if n_damaged:
        coverage.problems.append(f"{source.name}: {n_damaged} of {len(entries)} entries have no time or group")
    unfinished = f"{n_unfinished} collectives of the dump that were not completed are left out"
    notes = [*([_QUEUED] if len(gathering) else []), *([unfinished] if n_unfinished else [])]
    events = gathering.events(*notes)
    coverage.leave_out("written twice", gathering.n_repeated)
    if len(gathering):
        coverage.skip("when collectives ran", _QUEUED)
    n_absent = _n_absent(entries)
    if n_absent:
        coverage.skip(f"{n_absent} other collectives", _ABSENT)
    return events


def _n_absent(entries: list[Any]) -> int:
    """Return how many collectives the recorder numbered, from 0, that are not in the dump."""
    numbers = {whole(entry.get("record_id")) for entry in entries if isinstance(entry, dict)} - {None}
    return max((number + 1 for number in numbers if number is not None), default=0) - len(numbers)


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


def _finished(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of the last collective that each group completed, by the group's id, where the dump tells it.

    JSON has them as texts.
    """
    groups = document.get("pg_status")
    found = groups.items() if isinstance(groups, dict) else ()
    last = {text_of(group): status.get(_LAST) for group, status in found if isinstance(status, dict)}
    return {group: int(n) for group, n in last.items() if isinstance(n, int | str) and _NUMBER.fullmatch(str(n))}


def _is_completed(entry: Mapping[str, Any], finished: Mapping[str, int]) -> bool:
    """Return whether a collective ended, by what was seen of it or, of gloo, which has no watchdog, by its number."""
    if entry.get("state") == "completed" or entry.get("time_discovered_completed_ns"):
        return True
    number = whole(entry.get("p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id"))
    last = finished.get(text_of(entry.get("pg_id")))
    return entry.get("retired") is True and number is not None and last is not None and number <= last


def _n_bytes(entry: Mapping[str, Any]) -> float:
    dtypes = entry.get("input_dtypes") or entry.get("output_dtypes")
    if not isinstance(dtypes, list | tuple) or len(set(map(text_of, dtypes))) != 1:
        return message_bytes(dtype=None)
    sizes = (tensor_elements(entry.get(name)) for name in ("input_sizes", "output_sizes"))
    return message_bytes(*sizes, dtype=dtypes[0])


def _key(entry: Mapping[str, Any]) -> str:
    told = (entry.get(name) for name in ("profiling_name", "input_dtypes", "input_sizes", "output_sizes"))
    return " ".join(map(text_of, told))
