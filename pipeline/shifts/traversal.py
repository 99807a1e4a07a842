"""Traversal: carry relative shifts from link to link, so that on a tree every link has its best shifts at once.

CASSINI's algorithm 1: a link's best shifts stay the best when all its jobs move by the same time. So give the first
job any shift, move each link that it crosses to suit, which fixes the link's other jobs, and go on from them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.shifts.network import LinkNetwork

__all__ = ["traverse"]


def traverse(network: LinkNetwork) -> dict[str, int]:
    """Return a shift for every job, in ns; the first job's, by name, is 0.

    In a loop the job that was reached first keeps its shift, and the link that closes the loop has to take what it
    gets.
    """
    shifts_ns: dict[str, int] = {}
    for first in network.jobs:
        if first in shifts_ns:
            continue
        shifts_ns[first] = 0
        reached = deque([first])
        while reached:
            job = reached.popleft()
            for binding in (binding for binding in network.bindings if job in binding.jobs):
                move_ns = shifts_ns[job] - binding.best_ns[job]
                for other in binding.jobs:
                    if other not in shifts_ns:
                        shifts_ns[other] = (binding.best_ns[other] + move_ns) % network.period_ns[other]
                        reached.append(other)
    return shifts_ns
