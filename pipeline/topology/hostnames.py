"""`HostNames`: the node of the links that a name of another file means: short or with its domain, or an alias."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["HostNames"]

_ADDRESS: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}|[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){2,}")
MOST_NODES: Final = 100
"""Of so many nodes one is looked for that may be meant; people write no larger files, and thousands take long."""


class HostNames:
    """Finds nodes by the names that schedulers and tables have for them.

    Parameters
    ----------
    nodes
        As the links name them.
    aliases
        A host's name by each other name.
    """

    def __init__(self, nodes: Iterable[str], *, aliases: Mapping[str, str]) -> None:
        self._nodes = dict.fromkeys(nodes)
        self._by_short: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for node in self._nodes:
            self._by_short[_short(node)][node] = node
        self._aliases = aliases
        for alias, host in aliases.items():
            if len(meant := self._alike(host)) == 1:
                self._by_short[_short(alias)].setdefault(alias, meant[0])

    def knows(self, name: str) -> bool:
        """Return whether exactly one node may be meant by a name."""
        return name in self._nodes or len(self._alike(self._aliases.get(name, name))) == 1

    def find(self, name: str) -> str:
        """Return the node of a name.

        An exact name comes first, then an alias, then one that is alike but for its case or for a domain that one of
        the two leaves out.

        Raises
        ------
        LookupError
            If there is none, or more than one; with the reason.
        """
        if name in self._nodes:
            return name
        meant = self._aliases.get(name, name)
        called = name if meant == name else f"{name}, which is called {meant},"
        alike = self._alike(meant)
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise LookupError(f"its host {called} may be each of {', '.join(alike)}; give the whole name")
        near = difflib.get_close_matches(meant, self._nodes, n=1) if len(self._nodes) <= MOST_NODES else []
        hint = f"; did you mean {near[0]}?" if near else ""
        raise LookupError(f"no link ends at its host {called.rstrip(',')}{hint}")

    def _alike(self, name: str) -> list[str]:
        """Return the nodes that a name may mean: the one of that very name, else all with names alike."""
        if name in self._nodes:
            return [name]
        of_short = self._by_short.get(_short(name), {})
        return list(dict.fromkeys(node for known, node in of_short.items() if _is_alike(known, name)))


def _is_alike(known: str, name: str) -> bool:
    """Return whether two names with one short form may be of one host: two domains that differ tell of two."""
    domains = {domain for _, _, domain in (known.lower().partition("."), name.lower().partition(".")) if domain}
    return len(domains) < 2


def _short(name: str) -> str:
    """Return a name in lower case and without its domain; an address has none."""
    return name if _ADDRESS.fullmatch(name) else name.lower().partition(".")[0]
