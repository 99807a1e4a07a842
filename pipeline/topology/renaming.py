"""`rename_nodes`: nodes called as counters are, so that links find what was counted at their ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.topology.hostnames import HostNames

if TYPE_CHECKING:
    from pipeline.topology.cluster import Link

__all__ = ["rename_nodes"]


def rename_nodes(
    links: Sequence[Link], counted: Collection[str], *, aliases: Mapping[str, str]
) -> tuple[list[Link], dict[str, str]]:
    """Return links whose nodes have the names under which their counters are known, and all aliases.

    A node is renamed if exactly one host with counters may be it (see `HostNames`), and it is the only one that may be
    that host. Its old name becomes an alias. Links keep their own names.

    Parameters
    ----------
    links
        All cables.
    counted
        Names of hosts and switches that have counters.
    aliases
        A node's name by each other name.
    """
    nodes = dict.fromkeys(_node(end) for link in links for end in (link.a, link.b))
    known = HostNames(counted, aliases={node: alias for alias, node in aliases.items() if alias in counted})
    found = {node: name for node in nodes if node not in counted and (name := _found(known, node))}
    claims = Counter(found.values())
    renamed = {node: name for node, name in found.items() if claims[name] == 1 and name not in nodes}
    moved = [replace(link, a=_moved(link.a, renamed), b=_moved(link.b, renamed)) for link in links]
    return moved, {**{alias: renamed.get(node, node) for alias, node in aliases.items()}, **renamed}


def _found(known: HostNames, node: str) -> str | None:
    try:
        return known.find(node)
    except LookupError:
        return None


def _moved(end: str, renamed: Mapping[str, str]) -> str:
    node, colon, interface = end.partition(":")
    return f"{renamed.get(node, node)}{colon}{interface}"


def _node(end: str) -> str:
    return end.partition(":")[0]
