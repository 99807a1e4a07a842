"""`read_cluster_file`: a TOML file of links and jobs, checked; every complaint names file, table, key and value.

::

    [[link]]
    id = "trunk"
    a = "sw1:t1"            # node:device, or node:device/port
    b = "sw2:t1"
    tier = "spine"          # host, leaf or spine; may be left out
    capacity = "400Mbps"    # in each direction

    [[job]]
    id = "A"
    ranks = [{host = "a1", device = "eth0"}, {host = "a2"}]     # in ring order; device where a host has several
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline.topology.cluster import Knowledge, Link, Placement
from profiler.errors import BadInput, UsageError
from profiler.units import parse_rate_bps

__all__ = ["read_cluster_file"]

_TABLES: Final = ("link", "job")
_LINK_KEYS: Final = ("id", "a", "b", "tier", "capacity")
_JOB_KEYS: Final = ("id", "ranks")
_RANK_KEYS: Final = ("host", "device", "port")
_TIERS: Final = ("host", "leaf", "spine")


def read_cluster_file(path: str | Path) -> Knowledge:
    """Read the links and ranks of a cluster file.

    Parameters
    ----------
    path
        TOML file of ``[[link]]`` and ``[[job]]`` tables; see this module's own docstring.

    Raises
    ------
    BadInput
        If the file is missing, is not TOML, or a table, key or value is not what it should be.
    """
    path = Path(path)
    document = _load(path)
    _check_keys(document, known=_TABLES, place=str(path))
    links = [_link(entry) for entry in _entries(document, "link", path)]
    if not links and "job" not in document:
        raise BadInput(f"{path}: no [[link]] table; add one for each cable")
    _check_unique((link.link_id for link in links), what="link id", place=path)
    ends = [end for link in links for end in (link.a, link.b)]
    _check_unique(ends, what="link end", place=path)
    placements = {}
    for entry in _entries(document, "job", path):
        job_id = entry.text("id")
        if job_id in placements:
            raise BadInput(f"{entry.place}: id {job_id!r} is given twice; rename one")
        placements[job_id] = _placements(entry, job_id, ends=ends)
    every_rank = tuple(rank for ranks in placements.values() for rank in ranks)
    return Knowledge(links=tuple(links), placements=every_rank, source=str(path))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One TOML table and its place, as people find it in the file."""

    values: Mapping[str, Any]
    place: str

    def text(self, key: str, *, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if value is None:
            raise BadInput(f'{self.place}: key {key!r} is missing; add {key} = "…"')
        if not isinstance(value, str) or (not value and default is None):
            raise BadInput(f"{self.place}: {key} = {value!r}: expected a text")
        return value


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; give the path of a cluster file (TOML)") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start} is not UTF-8 text; a cluster file is TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}; a cluster file is TOML") from None


def _entries(document: Mapping[str, Any], table: str, path: Path) -> list[_Entry]:
    rows = document.get(table, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{path}: {table} = {rows!r}: expected [[{table}]] tables")
    return [_Entry(row, f"{path}: [[{table}]] {i} ({row.get('id', 'no id')})") for i, row in enumerate(rows, start=1)]


def _link(entry: _Entry) -> Link:
    _check_keys(entry.values, known=_LINK_KEYS, place=entry.place)
    tier = entry.values.get("tier")
    if tier is not None and tier not in _TIERS:
        raise BadInput(f"{entry.place}: tier = {tier!r}: expected {', '.join(_TIERS)}, or leave it out")
    a, b = _end(entry, "a"), _end(entry, "b")
    if a.partition(":")[0] == b.partition(":")[0]:
        raise BadInput(f"{entry.place}: b = {b!r}: both ends are on one node; a link joins two")
    try:
        capacity_bps = parse_rate_bps(entry.text("capacity"))
    except UsageError as error:
        raise BadInput(f"{entry.place}: capacity: {error}") from None
    return Link(link_id=entry.text("id"), a=a, b=b, tier=tier, capacity_bps=capacity_bps)


def _end(entry: _Entry, key: str) -> str:
    end = entry.text(key)
    node, _, device = end.partition(":")
    if not node or not device or ":" in device:
        raise BadInput(f"{entry.place}: {key} = {end!r}: expected node:device, such as sw1:p1")
    return end


def _placements(entry: _Entry, job_id: str, *, ends: Sequence[str]) -> list[Placement]:
    _check_keys(entry.values, known=_JOB_KEYS, place=entry.place)
    ranks = entry.values.get("ranks")
    if not isinstance(ranks, list) or not ranks or not all(isinstance(rank, dict) for rank in ranks):
        raise BadInput(f'{entry.place}: ranks = {ranks!r}: expected a list such as [{{host = "a1", device = "eth0"}}]')
    return [
        _placement(_Entry(rank, f"{entry.place}: ranks[{i}]"), job_id, rank=i, ends=ends)
        for i, rank in enumerate(ranks)
    ]


def _placement(entry: _Entry, job_id: str, *, rank: int, ends: Sequence[str]) -> Placement:
    _check_keys(entry.values, known=_RANK_KEYS, place=entry.place)
    host, device = entry.text("host"), entry.text("device", default="")
    port = entry.text("port", default="")
    of_host = [end for end in ends if end.partition(":")[0] == host]
    fitting = [end for end in of_host if _fits(end.partition(":")[2], device=device, port=port)]
    if len(fitting) != 1:
        wanted = f"{host}:{device or '*'}" + (f"/{port}" if port else "")
        found = f"the file has {', '.join(of_host)}" if of_host else f"no link ends at {host}"
        remedy = "name the device and port of one" if fitting else "correct the rank, or add its link"
        raise BadInput(f"{entry.place}: {wanted} is the end of {len(fitting)} links, not one ({found}); {remedy}")
    device, _, port = fitting[0].partition(":")[2].partition("/")
    return Placement(job_id=job_id, rank=rank, host=host, device=device, port=port)


def _fits(interface: str, *, device: str, port: str) -> bool:
    has_device, _, has_port = interface.partition("/")
    return device in ("", has_device) and port in ("", has_port)


def _check_keys(values: Mapping[str, Any], *, known: Collection[str], place: str) -> None:
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(known)}"
            raise BadInput(f"{place}: unknown key {key!r}; {hint}")


def _check_unique(names: Iterable[str], *, what: str, place: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadInput(f"{place}: {what} {name!r} is given twice; each must stand once")
        seen.add(name)
