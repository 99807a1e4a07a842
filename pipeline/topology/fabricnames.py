"""`FabricNames`: what the nodes of an InfiniBand fabric are called, by their descriptions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from pipeline.topology.cluster import Omission

__all__ = ["FabricNames"]

_HOST: Final = re.compile(r"(?P<host>\S+) (?P<device>[A-Za-z]\w*_\w*\d|HCA-\d+|(?:ib|roce)\w*\d\w*)")
"""How an adapter on a host that runs names itself; one that names only its model says nothing of its host."""
_SWITCH: Final = re.compile(r"(?:[^;]*;)?(?P<name>[^:;]+)(?::.*)?")
_AGGREGATOR: Final = "Aggregation Node"
"""In the description of the unit of a switch that adds up reductions (SHARP)."""
_NAMELESS: Final = frozenset({"localhost", "localhost.localdomain"})
"""What every host calls itself until it is named."""


class FabricNames:
    """Names of nodes and of their ports.

    Parameters
    ----------
    nodes
        By GUID: ``Switch``, ``Ca`` or ``Rt``, and the description.
    """

    def __init__(self, nodes: Mapping[str, tuple[str, str]]) -> None:
        self._nodes = nodes
        self._counts = Counter(description for kind, description in nodes.values() if kind == "Ca")
        self._hosts: dict[str, tuple[str, str]] = {}
        self._why: dict[str, str] = {}
        for guid, (kind, description) in nodes.items():
            if kind == "Ca":
                self._name_adapter(guid, description)
        self._switches = self._name_switches()

    def end(self, guid: str, port: str) -> str:
        """Return the end of a link: ``node:device/port`` of an adapter with a host, else ``node:port``."""
        if guid in self._hosts:
            host, device = self._hosts[guid]
            return f"{_plain(host)}:{device}/{port}"
        return f"{_plain(self._switches.get(guid, guid))}:{port}"

    def is_aggregator(self, guid: str) -> bool:
        """Return whether a node is a switch's own unit for reductions."""
        return _AGGREGATOR in self._nodes[guid][1]

    def omissions(self) -> Iterator[Omission]:
        """Yield adapters on which no job can be placed."""
        for guid, why in self._why.items():
            yield Omission(what=f"adapter {guid}", why=f"{why}; no job can be placed there")

    def _name_adapter(self, guid: str, description: str) -> None:
        found = _HOST.fullmatch(description)
        if self.is_aggregator(guid):
            self._why[guid] = f"its description, {description!r}, names no host: a switch's own unit for reductions"
        elif found is None or found["host"] in _NAMELESS:
            self._why[guid] = f"its description, {description!r}, names no host"
        elif self._counts[description] > 1:
            n_others = self._counts[description] - 1
            self._why[guid] = f"its description, {description!r}, names no host: {n_others} other has it too"
        else:
            self._hosts[guid] = found["host"], found["device"]

    def _name_switches(self) -> dict[str, str]:
        found = {
            guid: _SWITCH.fullmatch(description) for guid, (kind, description) in self._nodes.items() if kind != "Ca"
        }
        given = {guid: match["name"].strip() for guid, match in found.items() if match}
        counts = Counter(given.values())
        hosts = {host for host, _ in self._hosts.values()}
        return {guid: name for guid, name in given.items() if name and counts[name] == 1 and name not in hosts}


def _plain(name: str) -> str:
    """Return a name without the colon that parts node and device."""
    return name.replace(":", "-")
