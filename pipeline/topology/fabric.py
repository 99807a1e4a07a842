"""Links of an InfiniBand fabric, from the output of ``ibnetdiscover``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pipeline.topology.cluster import Link, Omission
from pipeline.topology.fabricnames import FabricNames
from pipeline.topology.facts import Facts
from profiler.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["is_fabric", "read_fabric"]

_NODE: Final = re.compile(r'(?P<kind>Switch|Ca|Rt)\s+\d+\s+"(?P<guid>[^"]+)"\s+#\s+"(?P<name>[^"]*)"')
_PORT: Final = re.compile(
    r'\[(?P<port>\d+)\](?:\([^)]*\))?\s+"(?P<guid>[^"]+)"\[(?P<far>\d+)\](?:\([^)]*\))?\s+'
    r"#.*\s(?P<width>\d{1,2})x(?P<speed>[A-Z]+\d*)(?:\s+\w=.*)?\s*"
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

_Plug = tuple[str, str]
"""GUID of a node, and a port of it."""


@dataclass(frozen=True, slots=True)
class _Cable:
    """What one end says of the other; ``capacity_bps`` is None where the speed is of no known name."""

    far: _Plug
    capacity_bps: float | None
    told: str


@dataclass(slots=True)
class _Fabric:
    """The lines of a file: nodes as (kind, description) by GUID, cables by each end that tells of them."""

    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    cables: dict[_Plug, _Cable] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)


def is_fabric(text: str) -> bool:
    """Return whether a text is of ``ibnetdiscover``."""
    return any(_NODE.match(line) for line in text[:50_000].splitlines()[:200])


def read_fabric(text: str, *, path: Path) -> Facts:
    """Return the links of a fabric.

    Parameters
    ----------
    text
        Output of ``ibnetdiscover``.
    path
        Where it was read.

    Returns
    -------
    Facts
        Links named by their ends. A switch is named by its description where that is its alone, else by its GUID; an
        adapter by the host and device that its description names, else by its GUID, with an omission. Cables of which
        too little is told are omissions too.

    Raises
    ------
    BadInput
        If no link is there.
    """
    fabric = _read(text)
    names = FabricNames(fabric.nodes)
    tiers = _Tiers(fabric, names)
    links = []
    for near, cable in sorted(fabric.cables.items()):
        is_told_twice = fabric.cables.get(cable.far, cable).far == near
        if is_told_twice and near > cable.far:
            continue
        why = _flaw(fabric, near, cable)
        if why:
            what = f"link {names.end(*near)}--{names.end(*cable.far)}"
            fabric.omissions.append(Omission(what=what, why=why))
        elif cable.capacity_bps is not None:
            a, b = names.end(*near), names.end(*cable.far)
            tier = tiers.of(near[0], cable.far[0])
            links.append(Link(link_id=f"{a}--{b}", a=a, b=b, capacity_bps=cable.capacity_bps, tier=tier))
    if not links:
        raise BadInput(f"{path}: no link; give the whole output of ibnetdiscover")
    links.sort(key=lambda link: link.link_id)
    return Facts(source=str(path), links=tuple(links), omissions=(*fabric.omissions, *names.omissions()))


def _read(text: str) -> _Fabric:
    fabric = _Fabric()
    guid: str | None = None
    for i_line, line in enumerate(text.splitlines(), start=1):
        if begun := _NODE.match(line):
            guid = begun["guid"]
            fabric.nodes.setdefault(guid, (begun["kind"], begun["name"]))
        elif line.startswith("["):
            found = _PORT.fullmatch(line)
            if found is None or guid is None:
                why = f"{line[:60]!r} tells no whole cable; run ibnetdiscover again"
                fabric.omissions.append(Omission(what=f"line {i_line}", why=why))
                continue
            lane_bps = _LANE_BPS.get(found["speed"])
            told = f"line {i_line}: speed {found['width']}x{found['speed']}"
            capacity_bps = None if lane_bps is None else int(found["width"]) * lane_bps
            fabric.cables[guid, found["port"]] = _Cable((found["guid"], found["far"]), capacity_bps, told)
    return fabric


def _flaw(fabric: _Fabric, near: _Plug, cable: _Cable) -> str:
    """Return why a cable cannot be a link; empty if it can."""
    if cable.far[0] == near[0]:
        return "both ends are on one node; a link joins two"
    if cable.far[0] not in fabric.nodes:
        return f"the file has no node {cable.far[0]}, where it leads; it is cut: run ibnetdiscover again"
    back = fabric.cables.get(cable.far, cable)
    if back is not cable and back.far != near:
        return f"its far end is told to be cabled to {back.far[0]} port {back.far[1]}; run ibnetdiscover again"
    if cable.capacity_bps is None:
        return f"{cable.told} is not known; expected one of {', '.join(_LANE_BPS)}"
    return ""


class _Tiers:
    """Whether a link is of a host, of a leaf switch, or between spines."""

    def __init__(self, fabric: _Fabric, names: FabricNames) -> None:
        self._kinds = {guid: kind for guid, (kind, _) in fabric.nodes.items()}
        self._leaves = set(self._with_hosts(fabric, names))

    def of(self, a: str, b: str) -> str:
        if "Ca" in (self._kinds[a], self._kinds[b]):
            return "host"
        return "leaf" if self._leaves & {a, b} else "spine"

    def _with_hosts(self, fabric: _Fabric, names: FabricNames) -> Iterator[str]:
        """Yield the switches that face hosts; every switch faces its own aggregation unit, which is none."""
        for (guid, _), cable in fabric.cables.items():
            if self._kinds.get(cable.far[0]) == "Ca" and not names.is_aggregator(cable.far[0]):
                yield guid
