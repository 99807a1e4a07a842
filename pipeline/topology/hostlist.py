"""`expand_hostlist`: the nodes of Slurm's list expressions, such as ``gpu[001-004,007]``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["expand_hostlist"]

MAX_NODES: Final = 65_536
"""Nodes of one list: what Slurm itself takes (MAX_RANGE in src/common/hostlist.c)."""
MAX_DIGITS: Final = 12
"""Digits of a node's number; longer ones are no number of a node."""
_PART: Final = re.compile(r"([^,\[\]]*)(?:\[([^\]]*)\])?")


def expand_hostlist(text: str) -> Iterator[str]:
    """Yield the nodes of a list expression.

    Raises
    ------
    ValueError
        If it is none, or has more than `MAX_NODES` nodes.

    Examples
    --------
    >>> list(expand_hostlist("gpu[01-03,7],login,r[1-2]n[0-1]"))
    ['gpu01', 'gpu02', 'gpu03', 'gpu7', 'login', 'r1n0', 'r1n1', 'r2n0', 'r2n1']
    """
    n_nodes = 0
    for expression in _split(text):
        factors = []
        for prefix, ranges in _PART.findall(expression):
            factors.append([prefix])
            if ranges:
                factors.append(list(_numbers(ranges)))
        for parts in itertools.product(*factors):
            n_nodes += 1
            if n_nodes > MAX_NODES:
                raise ValueError(f"more than {MAX_NODES} nodes")
            yield "".join(parts)


def _split(text: str) -> Iterator[str]:
    """Yield what stands between commas that are not in brackets."""
    if re.sub(r"[^\[\]]", "", text) != "[]" * text.count("["):
        raise ValueError("brackets that do not match")
    for expression in re.split(r",(?![^\[]*\])", text):
        if expression.strip():
            yield expression.strip()


def _numbers(ranges: str) -> Iterator[str]:
    n_nodes = 0
    for part in ranges.split(","):
        first, last = _range(part.strip())
        n_nodes += int(last) - int(first) + 1
        if n_nodes > MAX_NODES:
            raise ValueError(f"{part!r}: more than {MAX_NODES} nodes")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))


def _range(part: str) -> tuple[str, str]:
    first, dash, last = part.partition("-")
    ends = (first, last if dash else first)
    if not all(end.isascii() and end.isdigit() and len(end) <= MAX_DIGITS for end in ends):
        raise ValueError(f"{part[:40]!r} is no number and no range")
    if int(ends[0]) > int(ends[1]):
        raise ValueError(f"{part!r} runs backwards")
    return ends
