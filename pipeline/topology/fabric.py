"""Links of an InfiniBand fabric, from the output of ``ibnetdiscover``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pipeline.topology.cluster import Knowledge, Link, Omission
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_fabric", "read_fabric"]

_NODE: Final = re.compile(r'(?P<kind>Switch|Ca|Rt)\s+\d+\s+"(?P<guid>[^"]+)"\s+#\s+"(?P<name>[^"]*)"')
_PORT: Final = re.compile(
    r'\[(?P<port>\d+)\](?:\([^)]*\))?\s+"(?P<guid>[^"]+)"\[(?P<far>\d+)\](?:\([^)]*\))?\s+#.*?(?P<width>\d+)x(?P<speed>[A-Z]+\d*)'
)
_LANE_BPS: Final = {
    "SDR": 2e9,
    "DDR": 4e9,
    "QDR": 8e9,
    "FDR10": 10e9,
    "FDR": 13.64e9,
    "EDR": 25e9,
    "HDR": 50e9,
    "NDR": 100e9,
    "XDR": 200e9,
}
"""Data rate of one lane, after line coding: InfiniBand Trade Association, "InfiniBand Roadmap"."""
_HOST: Final = re.compile(r"(?P<host>\S+) (?P<device>\w+_\d+|HCA-\d+)")
"""How an adapter on a host that runs names itself; one that names only its model says nothing of its host."""
_SWITCH: Final = re.compile(r"(?:[^;]*;)?(?P<name>[^:;]+)(?::.*)?")


@dataclass(slots=True)
class _Node:
    guid: str
    kind: str
    name: str
    ports: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    """By own port: GUID and port of the far end, and the capacity in bit/s."""


def is_fabric(text: str) -> bool:
    """Return whether a text is of ``ibnetdiscover``."""
    return any(_NODE.match(line) for line in text.splitlines()[:200])


def read_fabric(text: str, *, path: Path) -> Knowledge:
    """Return the links of a fabric.

    Parameters
    ----------
    text
        Output of ``ibnetdiscover``.
    path
        Where it was read.

    Returns
    -------
    Knowledge
        Links named by their ends. A switch is named by its description where that is its alone, else by its GUID; an
        adapter by the host and device that its description names, else by its GUID, with an omission.

    Raises
    ------
    BadInput
        If no link is there, or a speed is not known.
    """
    nodes = _nodes(text, path)
    names = _names(nodes)
    has_hosts = {
        guid
        for guid, node in nodes.items()
        if node.kind == "Switch" and any(far in nodes and nodes[far].kind == "Ca" for far, _, _ in node.ports.values())
    }
    links = []
    for node in nodes.values():
        for port, (far, far_port, capacity_bps) in node.ports.items():
            ends = (node.guid, port), (far, far_port)
            if far not in nodes or ends[0] > ends[1]:
                continue
            a, b = (_end(names[guid], nodes[guid], number) for guid, number in ends)
            tier = _tier(nodes[node.guid], nodes[far], has_hosts=has_hosts)
            links.append(Link(link_id=f"{a}--{b}", a=a, b=b, capacity_bps=capacity_bps, tier=tier))
    if not links:
        raise BadInput(f"{path}: no link; give the whole output of ibnetdiscover")
    links.sort(key=lambda link: link.link_id)
    return Knowledge(links=tuple(links), omissions=tuple(_omissions(nodes)), source=str(path))


def _nodes(text: str, path: Path) -> dict[str, _Node]:
    """Return switches and adapters by GUID."""
    nodes: dict[str, _Node] = {}
    node: _Node | None = None
    for i_line, line in enumerate(text.splitlines(), start=1):
        if begun := _NODE.match(line):
            node = nodes.setdefault(begun["guid"], _Node(begun["guid"], begun["kind"], begun["name"]))
        elif node is not None and (found := _PORT.match(line)):
            if found["speed"] not in _LANE_BPS:
                raise BadInput(
                    f"{path}: line {i_line}: speed {found['width']}x{found['speed']} is not known; "
                    f"expected one of {', '.join(_LANE_BPS)}"
                )
            capacity_bps = int(found["width"]) * _LANE_BPS[found["speed"]]
            node.ports[found["port"]] = (found["guid"], found["far"], capacity_bps)
    return nodes


def _names(nodes: dict[str, _Node]) -> dict[str, str]:
    """Return what each node is called, by GUID."""
    switches = {guid: _SWITCH.fullmatch(node.name) for guid, node in nodes.items() if node.kind != "Ca"}
    given = {guid: found["name"].strip() for guid, found in switches.items() if found}
    counts = Counter(given.values())
    names = {}
    for guid, node in nodes.items():
        host = _HOST.fullmatch(node.name) if node.kind == "Ca" else None
        if host:
            names[guid] = host["host"]
        else:
            name = given.get(guid, "")
            names[guid] = name if name and counts[name] == 1 else guid
    return names


def _end(name: str, node: _Node, port: str) -> str:
    """Return the end of a link, ``node:device/port`` of an adapter and ``node:port`` of a switch."""
    host = _HOST.fullmatch(node.name) if node.kind == "Ca" else None
    device = f"{host['device']}/{port}" if host else port
    return f"{name.replace(':', '-')}:{device}"


def _tier(a: _Node, b: _Node, *, has_hosts: set[str]) -> str:
    if "Ca" in (a.kind, b.kind):
        return "host"
    return "leaf" if a.guid in has_hosts or b.guid in has_hosts else "spine"


def _omissions(nodes: dict[str, _Node]) -> Iterator[Omission]:
    for node in nodes.values():
        if node.kind == "Ca" and not _HOST.fullmatch(node.name):
            why = f"its description, {node.name!r}, names no host; no job can be placed there"
            yield Omission(what=f"adapter {node.guid}", why=why)
