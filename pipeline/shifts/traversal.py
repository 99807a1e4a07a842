"""Traversal: carry relative shifts from link to link, so that on a tree every link has its best shifts at once.

CASSINI's algorithm 1: a link's best shifts stay the best when all its jobs move by the same time. So give the first
job any shift, move each link that it crosses to suit, which fixes the link's other jobs, and go on from them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.shifts.bound_link import BoundLink
    from pipeline.shifts.network import LinkNetwork

__all__ = ["traverse"]


def traverse(network: LinkNetwork) -> NDArray[np.int64]:
    """Return a shift for every job, in ns: pinned jobs where they are pinned, else the first by name at 0.

    In a loop, or between pinned jobs, the job that was reached first keeps its shift, and the link that closes the
    loop has to take what it gets.
    """
    crossed: dict[str, list[tuple[BoundLink, tuple[str, ...]]]] = {job: [] for job in network.jobs}
    for link in network.links:
        for tied in link.ties:
            for job in tied:
                crossed[job].append((link, tied))
    shifts_ns = dict(network.pinned_ns)
    for first in (*network.pinned_ns, *network.jobs):
        shifts_ns.setdefault(first, 0)
        reached = deque([first])
        while reached:
            job = reached.popleft()
            for link, tied in crossed.pop(job, ()):
                move_ns = shifts_ns[job] - link.best_ns[job]
                for other in tied:
                    if other not in shifts_ns:
                        shifts_ns[other] = (link.best_ns[other] + move_ns) % network.clock.period_ns[other]
                        reached.append(other)
    return np.array([shifts_ns[job] for job in network.jobs], dtype=np.int64)
