"""`read_cluster_file`: a TOML file of links and jobs, checked; every complaint names file, table, key and value.

::

    [[link]]
    id = "trunk"
    a = "sw1:t1"            # node:device, or node:device/port
    b = "sw2:t1"
    tier = "spine"          # host, leaf or spine; may be left out
    capacity = "400Mbps"    # in each direction
    state = "up"            # up or down; may be left out, as may valid_from and valid_to (dates and times)

    [[job]]
    id = "A"
    ranks = [{host = "a1", device = "eth0"}, {host = "a2"}]     # in ring order; device where a host has several
    pattern = "ring"        # ring or all_to_all; may be left out, as may start and end (dates and times)

    [[job]]
    id = "B"
    hosts = "gpu[01-16]"    # or a list: a rank on every adapter of every host, a ring a rail

    [[host]]
    name = "gpu01"          # as in the links
    aliases = ["node-1"]    # as elsewhere, such as in a scheduler's answer
    addresses = {mlx5_0 = "10.0.1.1", "mlx5_1/1" = ["10.0.2.1", "::ffff:10.0.2.1"]}     # IPs and GIDs, in captures

A host's addresses may also be a list, ``["10.0.1.1"]``, where the port does not matter or it has but one. A host needs
aliases or addresses.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pipeline.topology.addresses import read_address
from pipeline.topology.cables import check_ends, read_cable, read_span
from pipeline.topology.facts import Facts, KnownAddress, KnownJob, Seat
from pipeline.topology.hostlist import expand_hostlist
from pipeline.topology.patterns import read_pattern
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.topology.cluster import Link

__all__ = ["read_cluster_file"]

_TABLES: Final = ("link", "job", "host")
_LINK_KEYS: Final = ("id", "a", "b", "tier", "capacity", "state", "valid_from", "valid_to")
_JOB_KEYS: Final = ("id", "ranks", "hosts", "pattern", "start", "end")
_RANK_KEYS: Final = ("host", "device", "port")
_HOST_KEYS: Final = ("name", "aliases", "addresses")


def read_cluster_file(text: str, *, path: Path) -> Facts:
    """Return the links, jobs and hosts of a cluster file.

    Parameters
    ----------
    text
        TOML of ``[[link]]``, ``[[job]]`` and ``[[host]]`` tables; see this module's own docstring.
    path
        Where it was read.

    Raises
    ------
    BadInput
        If it is not TOML, or a table, key or value is not what it should be.
    """
    document = _load(text, path)
    _check_keys(document, known=_TABLES, place=str(path))
    if not document:
        raise BadInput(f"{path}: no [[link]] table; add one for each cable")
    links = tuple(_link(entry) for entry in _entries(document, "link", path))
    check_ends(links, place=str(path))
    jobs: dict[str, KnownJob] = {}
    for entry in _entries(document, "job", path):
        job = _job(entry)
        if jobs.setdefault(job.job_id, job) is not job:
            raise BadInput(f"{entry.place}: id {job.job_id!r} is given twice; rename one")
    hosts = _entries(document, "host", path)
    aliases = {alias: name for entry in hosts for alias, name in _aliases(entry)}
    addresses = tuple(known for entry in hosts for known in _addresses(entry))
    return Facts(source=str(path), links=links, jobs=tuple(jobs.values()), aliases=aliases, addresses=addresses)


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
            raise BadInput(f"{self.place}: {key} = {_shown(value)}: expected a text")
        return value

    def moment(self, key: str) -> str:
        value = self.values.get(key)
        return value.isoformat() if isinstance(value, datetime) else self.text(key, default="")

    def texts(self, key: str) -> list[str]:
        value = self.values.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            raise BadInput(f'{self.place}: {key} = {_shown(value)}: expected a list of texts, such as ["a1", "a2"]')
        return value


def _load(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{path}: nested too deeply; a cluster file has tables of links and jobs") from None
    except ValueError as error:  # a TOMLDecodeError is one, and so is a number of thousands of digits
        raise BadInput(f"{path}: {error}; a cluster file is TOML") from None


def _entries(document: Mapping[str, Any], table: str, path: Path) -> list[_Entry]:
    rows = document.get(table, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{path}: {table} = {str(rows)[:60]}: expected [[{table}]] tables")
    names = (str(row.get("id", row.get("name", "no id"))) for row in rows)
    return [
        _Entry(row, f"{path}: [[{table}]] {i} ({name})")
        for i, (row, name) in enumerate(zip(rows, names, strict=True), 1)
    ]


def _link(entry: _Entry) -> Link:
    _check_keys(entry.values, known=_LINK_KEYS, place=entry.place)
    cells = {key: entry.text(key) for key in ("a", "b", "capacity", "id")}
    cells |= {key: entry.text(key, default="") for key in ("tier", "state")}
    cells |= {key: entry.moment(key) for key in ("valid_from", "valid_to")}
    return read_cable(cells, place=entry.place)


def _job(entry: _Entry) -> KnownJob:
    _check_keys(entry.values, known=_JOB_KEYS, place=entry.place)
    if ("ranks" in entry.values) and ("hosts" in entry.values):
        raise BadInput(f"{entry.place}: has ranks and hosts; give one of them")
    start_ns, end_ns = read_span(
        {key: entry.moment(key) for key in ("start", "end")}, ("start", "end"), place=entry.place
    )
    return KnownJob(
        job_id=entry.text("id"),
        seats=_hosts(entry) if "hosts" in entry.values else _ranks(entry),
        known="hosts" if "hosts" in entry.values else "ranks",
        place=entry.place,
        pattern=read_pattern(entry.text("pattern", default=""), place=entry.place),
        start_ns=start_ns,
        end_ns=end_ns,
    )


def _hosts(entry: _Entry) -> tuple[Seat, ...]:
    listed = entry.values["hosts"]
    texts = [listed] if isinstance(listed, str) and listed else entry.texts("hosts")
    try:
        return tuple(Seat(host=host) for text in texts for host in expand_hostlist(text))
    except ValueError as error:
        raise BadInput(f"{entry.place}: hosts = {_shown(listed)}: {error}") from None


def _ranks(entry: _Entry) -> tuple[Seat, ...]:
    ranks = entry.values.get("ranks")
    if not isinstance(ranks, list) or not ranks or not all(isinstance(rank, dict) for rank in ranks):
        raise BadInput(
            f'{entry.place}: ranks = {_shown(ranks)}: expected a list such as [{{host = "a1", device = "eth0"}}]'
        )
    return tuple(_seat(_Entry(rank, f"{entry.place}: ranks[{i}]")) for i, rank in enumerate(ranks))


def _seat(entry: _Entry) -> Seat:
    _check_keys(entry.values, known=_RANK_KEYS, place=entry.place)
    return Seat(host=entry.text("host"), device=entry.text("device", default=""), port=entry.text("port", default=""))


def _aliases(entry: _Entry) -> list[tuple[str, str]]:
    _check_keys(entry.values, known=_HOST_KEYS, place=entry.place)
    if "addresses" in entry.values and "aliases" not in entry.values:
        return []
    return [(alias, entry.text("name")) for alias in entry.texts("aliases")]


def _addresses(entry: _Entry) -> Iterator[KnownAddress]:
    """Yield the addresses of a host: of each of its ports, or of the host alone."""
    listed = entry.values.get("addresses", [])
    by_port = listed if isinstance(listed, dict) else {"": listed}
    for interface, value in by_port.items():
        device, _, port = interface.partition("/")
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list):
            raise BadInput(f'{entry.place}: addresses = {_shown(listed)}: expected a list such as ["10.0.1.1"]')
        for text in texts:
            address = read_address(text) if isinstance(text, str) else None
            if address is None:
                raise BadInput(f"{entry.place}: addresses: {_shown(text)}: expected an IP address, a GID, or 'lid 12'")
            yield KnownAddress(
                address=address, seat=Seat(host=entry.text("name"), device=device, port=port), place=entry.place
            )


def _shown(value: object) -> str:
    """Return the start of a value, as it stands in a message."""
    return repr(value)[:60]


def _check_keys(values: Mapping[str, Any], *, known: Collection[str], place: str) -> None:
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(known)}"
            raise BadInput(f"{place}: unknown key {key[:60]!r}; {hint}")
