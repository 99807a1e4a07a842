"""`rails_of`: the adapters that hosts have in common, each a rail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["natural", "rails_of"]

MAX_SHOWN: Final = 4
"""A message lists so many adapters of a host."""


def rails_of(usable: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return each rail: an interface of each host, of one name; where each host has but one, whatever its name.

    Parameters
    ----------
    usable
        Interfaces by host.

    Raises
    ------
    LookupError
        If hosts have several interfaces, and none of a name that all have.
    """
    common = set.intersection(*(set(interfaces) for interfaces in usable.values()))
    if common:
        return [dict.fromkeys(usable, interface) for interface in sorted(common, key=natural)]
    if all(len(interfaces) == 1 for interfaces in usable.values()):
        return [{host: interfaces[0] for host, interfaces in usable.items()}]
    first = next(iter(usable))
    other = min(usable, key=lambda host: len(set(usable[host]) & set(usable[first])))
    shown = "; ".join(f"{host} has {', '.join(usable[host][:MAX_SHOWN])}" for host in (first, other))
    raise LookupError(
        f"its hosts have several adapters each, and none of a name that all have ({shown}); say which in a table of "
        "placements"
    )


def natural(text: str) -> list[tuple[int, str]]:
    """Return what sorts ``mlx5_10`` after ``mlx5_9``: a number by how many digits it has, then by them."""
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split(r"([0-9]+)", text))]
    return [(len(part) if i % 2 else -1, part) for i, part in enumerate(parts)]
