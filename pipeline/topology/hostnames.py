"""`HostNames`: the node of the links that a name of another file means: short or with its domain, or an alias."""

from __future__ import annotations

import difflib
import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping

__all__ = ["HostNames"]


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
        self._aliases = aliases
        self._by_short: defaultdict[str, list[str]] = defaultdict(list)
        for node in self._nodes:
            self._by_short[_short(node)].append(node)

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
        if self._aliases.get(name, name) != name:
            return self._found(self._aliases[name], called=f"{name}, which is called {self._aliases[name]},")
        return self._found(name, called=name)

    def _found(self, name: str, *, called: str) -> str:
        if name in self._nodes:
            return name
        alike = [node for node in self._by_short.get(_short(name), ()) if _is_alike(node, name)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise LookupError(f"its host {called} may be each of {', '.join(alike)}; give the whole name")
        near = difflib.get_close_matches(name, self._nodes, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise LookupError(f"no link ends at its host {called.rstrip(',')}{hint}")


def _is_alike(node: str, name: str) -> bool:
    """Return whether two names with one short form may be of one host: two domains that differ tell of two."""
    domains = {domain for _, _, domain in (node.lower().partition("."), name.lower().partition(".")) if domain}
    return len(domains) < 2


def _short(name: str) -> str:
    """Return a name in lower case and without its domain; an address has none."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.lower().partition(".")[0]
